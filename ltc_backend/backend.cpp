//===- backend.cpp - The torch::lazy backend --------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/backend.h"

#include "ltc/autopsy.h"
#include "ltc/engine.h"
#include "ltc/settings.h"
#include "ltc_backend/graph/collect.h"
#include "ltc_backend/graph/dry_run.h"
#include "ltc_backend/graph/executor.h"
#include "ltc_backend/graph/graph_builder.h"
#include "ltc_backend/graph/lowering_context.h"
#include "ltc_backend/graph/step_counts.h"
#include "ltc_backend/graph/sync_cause.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/recorder.h"
#include "ltc_backend/record/transfer.h"
#include "ltc_backend/register.h"

#include <ATen/ATen.h>
#include <torch/csrc/lazy/backend/backend_interface.h>
#include <torch/csrc/lazy/core/internal_ops/ltc_ops.h>
#include <torch/csrc/lazy/core/ir_builder.h>

#include <mutex>

namespace ltc::backend {
namespace lazy = torch::lazy;

namespace {
struct DeviceType final : lazy::BackendDeviceType {
  DeviceType() : BackendDeviceType(int8_t(at::kCPU)) {}
  std::string toString() const override { return "LTC"; }
};

/// Nobody's: each tensor has a copy, and none of them is to be counted.
std::shared_ptr<lazy::BackendDeviceType> deviceType() {
  static auto *type = new DeviceType;
  return {std::shared_ptr<void>(), type};
}

[[noreturn]] void notOurs(const char *what) {
  raise({ErrorCode::Internal,
         Stage::Record,
         std::string("torch::lazy asked for ") + what +
             ", which this backend records itself",
         "",
         {},
         "please report this program"});
}

/// What PyTorch's core may still build on its own.
struct Builder final : lazy::IrBuilder {
  lazy::NodePtr MakeDeviceData(
      const std::shared_ptr<lazy::BackendData> &data) const override {
    return std::make_shared<DataNode>(
        std::static_pointer_cast<DeviceData>(data));
  }
  lazy::NodePtr MakeScalar(const at::Scalar &value,
                           const at::ScalarType &type) const override {
    return std::make_shared<DataNode>(
        upload(at::scalar_tensor(value, type), currentDevice()));
  }
  lazy::NodePtr MakeExpand(const lazy::Value &, const std::vector<int64_t> &,
                           const bool &) const override {
    notOurs("an expand node");
  }
  lazy::NodePtr MakeCast(const lazy::Value &, const at::ScalarType &,
                         const std::optional<at::ScalarType> &) const override {
    notOurs("a cast node");
  }
  lazy::NodePtr MakeTensorList(const lazy::OpList &) const override {
    notOurs("a tensor list node");
  }
  lazy::NodePtr MakeGeneric(const lazy::OpKind &, const lazy::OpList &,
                            const lazy::Shape &, const size_t &,
                            const lazy::hash_t &) const override {
    notOurs("a generic node");
  }
  lazy::NodePtr MakeSizeNode(const lazy::Value &, size_t) const override {
    notOurs("a size node");
  }
  lazy::NodePtr MakeSizeAdd(const lazy::Value &,
                            const lazy::Value &) const override {
    notOurs("a size node");
  }
  lazy::NodePtr MakeSizeMul(const lazy::Value &,
                            const lazy::Value &) const override {
    notOurs("a size node");
  }
  lazy::NodePtr MakeSizeDiv(const lazy::Value &,
                            const lazy::Value &) const override {
    notOurs("a size node");
  }
};

class Backend final : public lazy::BackendImplInterface {
public:
  void PrepareToExit() const override { shutdown(); }
  void SetRngSeed(size_t) const override {}
  const lazy::IrBuilder *GetIrBuilder() const override { return &builder; }

  lazy::BackendDataPtr
  MakeComputationDataFromTensor(const at::Tensor &tensor, const lazy::Shape &,
                                const lazy::BackendDevice &d) const override {
    return upload(tensor, d.ordinal());
  }
  lazy::BackendDataPtr
  MakeComputationDataFromScalar(const at::Scalar &scalar,
                                const lazy::BackendDevice &d) const override {
    return upload(at::scalar_tensor(scalar), d.ordinal());
  }
  lazy::BackendDataPtr
  CreateDataPlaceholder(const lazy::BackendDevice &d,
                        const lazy::Shape &shape) const override {
    return std::make_shared<DeviceData>(d.ordinal(), shape, nullptr);
  }
  lazy::BackendDataPtr
  GetComputationDataFromNode(const lazy::Node *node) const override {
    auto *leaf = dynamic_cast<const DataNode *>(node);
    return leaf ? leaf->data : nullptr;
  }
  at::Tensor
  MakeTensorFromComputationData(const lazy::BackendDataPtr data,
                                std::optional<at::ScalarType>) const override {
    return download(static_cast<const DeviceData &>(*data));
  }

  std::unique_ptr<lazy::LoweringContext>
  CreateLoweringContext(const std::string &name, lazy::BackendDevice device,
                        c10::ArrayRef<const lazy::Node *> postOrder,
                        lazy::Util::EmissionMap status) const override {
    return std::make_unique<GraphText>(name, device, postOrder, status);
  }
  std::unique_ptr<lazy::LoweringContext>
  CreateLoweringContext(const std::string &name,
                        lazy::BackendDevice device) const override {
    return std::make_unique<GraphText>(name, device);
  }
  std::vector<std::string>
  GetCompilationDevices(const std::string &,
                        c10::ArrayRef<std::string> devices) const override {
    return devices.vec();
  }
  std::vector<lazy::ComputationPtr>
  Compile(std::vector<lazy::ComputationPtr>) const override {
    notOurs("a compilation");
  }
  std::vector<lazy::BackendDataPtr>
  ExecuteComputation(lazy::ComputationPtr, c10::ArrayRef<lazy::BackendDataPtr>,
                     const lazy::BackendDevice &) const override {
    notOurs("an execution");
  }

  std::shared_ptr<lazy::BackendDeviceType>
  GetDefaultDeviceType() const override {
    return deviceType();
  }
  void SetDefaultDeviceType(int8_t) override {}
  int64_t GetDefaultDeviceOrdinal() const override { return currentDevice(); }
  void SetDefaultDeviceOrdinal(int64_t ordinal) override {
    setCurrentDevice(ordinal);
  }
  at::DeviceType EagerFallbackDeviceType() const override { return at::kCPU; }
  std::vector<lazy::BackendDevice> GetBackendDevices() const override {
    std::vector<lazy::BackendDevice> devices;
    for (int64_t i = 0; i < deviceCount(); ++i)
      devices.push_back(backendDevice(i));
    return devices;
  }
  lazy::BackendDevice GetBackendDevice(c10::Device device) const override {
    return backendDevice(device.has_index() ? device.index() : currentDevice());
  }
  std::string
  GetComputationBackendText(const lazy::ComputationPtr c) const override {
    return c->to_string();
  }

private:
  Builder builder;
};
} // namespace

const lazy::BackendDevice &backendDevice(int64_t ordinal) {
  static auto *first = new lazy::BackendDevice(deviceType(), 0);
  if (ordinal == 0)
    return *first;
  static auto *mutex = new std::mutex;
  static auto *devices = new std::vector<std::unique_ptr<lazy::BackendDevice>>;
  std::lock_guard lock(*mutex);
  while (devices->size() <= size_t(ordinal))
    devices->push_back(std::make_unique<lazy::BackendDevice>(
        deviceType(), int64_t(devices->size())));
  return *(*devices)[ordinal];
}

Status registerBackend() {
  if (lazy::hasBackend())
    return Error{ErrorCode::InvalidArgument,
                 Stage::Record,
                 "another torch::lazy backend is registered in this process",
                 "",
                 {},
                 "start torch_ltc before anything that starts one, such as "
                 "torch._lazy.ts_backend.init()"};
  static lazy::BackendRegistrar registrar(new Backend);
  lazy::LazyGraphExecutor::Register(new Executor);
  return {};
}

int64_t deviceCount() { return valueOrRaise(ltc::deviceCount()); }

void checkOrdinal(int64_t ordinal) {
  int64_t count = deviceCount();
  if (ordinal >= 0 && homeOf(ordinal) < count)
    return;
  raise({ErrorCode::InvalidArgument, Stage::Record,
         "there is no device lazy:" + std::to_string(ordinal) +
             "; this machine has " + std::to_string(count) +
             (count == 1 ? " lazy device" : " lazy devices"),
         "", sourceOf(currentSource()),
         "use an index from 0 to " + std::to_string(count - 1)});
}

static thread_local int64_t current = 0;
int64_t currentDevice() { return current; }
void setCurrentDevice(int64_t ordinal) {
  checkOrdinal(ordinal);
  current = ordinal;
}

void finishDryRun() {
  raiseIfFailed(finishCompiling());
  raiseIfFailed(CompileGuard::check());
}

void markStep(int64_t device, bool wait) {
  SyncCause cause(profile::Cause::MarkStep);
  sync(device, wait);
  if (wait)
    finishDryRun();
}

void autoStep(int64_t device, bool hasStepped) {
  if (!settings().auto_step)
    return;
  SyncCause cause(hasStepped ? profile::Cause::OptimizerStep
                             : profile::Cause::Parameters);
  markStep(device, /*wait=*/false);
}

void synchronize(int64_t device) {
  SyncCause cause(profile::Cause::Synchronize);
  syncAll(device, /*wait=*/false);
  finishDryRun();
  profile::Timed timed(profile::Part::Wait);
  if (Status status = engine(device).synchronize(); !status)
    raiseUndone(device, status.error());
}

MarkerPtr recordEvent(int64_t device) {
  SyncCause cause(profile::Cause::Event);
  sync(device, /*wait=*/false);
  return valueOrRaise(engine(device).mark());
}

bool isIdle(int64_t device) { return engine(device).inFlight() == 0; }

void waitForEvent(Marker &marker) {
  SyncCause cause(profile::Cause::Event);
  waitFor(marker);
}

std::string pendingGraphText(int64_t device) {
  PendingList &list = pendingList(device);
  Collection collection;
  std::lock_guard lock(list.mutex);
  collection = collect(device, list);
  return collection.build().str();
}

MemoryInfo memory(int64_t device) {
  MemoryStats stats = engine(device).memory();
  return {stats.allocated, stats.maxAllocated, stats.reserved};
}

void resetPeakMemory(int64_t device) { engine(device).resetPeakMemory(); }

} // namespace ltc::backend
