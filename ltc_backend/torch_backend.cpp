//===- torch_backend.cpp - The backend that torch::lazy asks --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/torch_backend.h"

#include "ltc/metrics.h"
#include "ltc_backend/graph/executor.h"
#include "ltc_backend/graph/results.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/raise.h"

#include <ATen/ATen.h>
#include <torch/csrc/lazy/backend/backend_interface.h>
#include <torch/csrc/lazy/backend/lowering_context.h>
#include <torch/csrc/lazy/core/internal_ops/ltc_ops.h>
#include <torch/csrc/lazy/core/ir_builder.h>

namespace ltc::backend {
namespace lazy = torch::lazy;

namespace {
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
  void PrepareToExit() const override { ltc::shutdown(); }
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
  CreateLoweringContext(const std::string &, lazy::BackendDevice,
                        c10::ArrayRef<const lazy::Node *>,
                        lazy::Util::EmissionMap) const override {
    notOurs("a lowering");
  }
  std::unique_ptr<lazy::LoweringContext>
  CreateLoweringContext(const std::string &,
                        lazy::BackendDevice) const override {
    notOurs("a lowering");
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
  std::string CreateMetricReport() const override {
    std::string text;
    for (const auto &[name, value] : metrics())
      text += "Counter: " + name + "\n  Value: " + std::to_string(value) + "\n";
    return text;
  }
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

} // namespace ltc::backend
