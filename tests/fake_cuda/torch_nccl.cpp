//===- torch_nccl.cpp - NCCL, where PyTorch has none ----------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A backend of torch.distributed that takes CUDA tensors alone. A call returns
// at once; it runs in a stream of the backend's own, behind what is in the
// current one, and to wait makes the current stream wait. What it does there is
// Gloo's, on the bytes that those GPUs' memory then has.
//
//===----------------------------------------------------------------------===//
#include "torch_device.h"

#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/library.h>

namespace fake_cuda {

namespace {

using at::Tensor;
using c10d::Work;
using WorkPtr = c10::intrusive_ptr<Work>;
using Tensors = std::vector<Tensor>;
using Lists = std::vector<Tensors>;

/// "allreduce cuda:0" of each call, for tests.
std::vector<std::string> &calls() {
  static auto *all = new std::vector<std::string>;
  return *all;
}
std::mutex callsMutex;

c10::Stream currentStream(at::Device device) {
  return c10::impl::VirtualGuardImpl(at::kCUDA).getStream(device);
}

c10::Stream newStream(at::Device device) {
  CUcontext context = nullptr, popped = nullptr;
  CUstream stream = nullptr;
  cuDevicePrimaryCtxRetain(&context, device.index());
  cuCtxPushCurrent_v2(context);
  CUresult made = cuStreamCreate(&stream, 0);
  cuCtxPopCurrent_v2(&popped);
  TORCH_CHECK(made == CUDA_SUCCESS, "no stream for collectives");
  return c10::Stream(c10::Stream::UNSAFE, device,
                     reinterpret_cast<c10::StreamId>(stream));
}

/// The same memory as Gloo sees it.
Tensor here(const Tensor &there) {
  TORCH_CHECK(there.is_cuda() && there.is_contiguous(),
              "Tensors must be CUDA and dense, not of ", there.device());
  return at::from_blob(hostAddress(there.const_data_ptr(), there.nbytes()),
                       there.sizes(),
                       at::TensorOptions(there.scalar_type()).device(at::kCPU));
}
template <typename T> std::vector<T> here(const std::vector<T> &there) {
  std::vector<T> found;
  for (const T &each : there)
    found.push_back(here(each));
  return found;
}

void flatten(Tensors &all, const Tensor &tensor) { all.push_back(tensor); }
template <typename T> void flatten(Tensors &all, const std::vector<T> &list) {
  for (const T &each : list)
    flatten(all, each);
}

/// A call in its stream.
struct Call final : Work {
  explicit Call(Tensors held) : held(std::move(held)) {}

  bool isCompleted() override { return end.query(); }
  bool isSuccess() const override { return !failure; }
  std::exception_ptr exception() const override { return failure; }
  int sourceRank() const override { return under.at(0)->sourceRank(); }
  Tensors result() override { return held; }
  void synchronize() override {
    end.block(currentStream(held[0].device()));
    if (end.query() && failure)
      std::rethrow_exception(failure);
  }
  bool wait(std::chrono::milliseconds) override {
    synchronize();
    return true;
  }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
    return future;
  }

  const Tensors held;                        ///< the first argument's first
  std::vector<std::function<WorkPtr()>> run; ///< several: as one
  std::vector<WorkPtr> under;
  std::exception_ptr failure;
  c10::Event end{at::kCUDA};
  c10::intrusive_ptr<c10::ivalue::Future> future;
};

void runCall(void *argument) {
  auto call = c10::intrusive_ptr<Call>::reclaim(static_cast<Call *>(argument));
  try {
    for (auto &run : std::exchange(call->run, {}))
      call->under.push_back(run());
    for (const WorkPtr &under : call->under)
      under->wait();
  } catch (...) {
    call->failure = std::current_exception();
  }
}

/// One rank's. Its stream lives as long as the process.
class Nccl final : public c10d::Backend {
public:
  explicit Nccl(c10::intrusive_ptr<c10d::Backend> gloo)
      : Backend(gloo->getRank(), gloo->getSize()), gloo(std::move(gloo)) {}

  const std::string getBackendName() const override { return "nccl"; }
  bool supportsCoalescing() const override { return true; }
  void startCoalescing() override { coalesced.emplace(); }
  WorkPtr endCoalescing() override {
    auto [held, run] = std::move(coalesced.value());
    coalesced.reset();
    return run.empty() ? WorkPtr() : queue(std::move(held), std::move(run));
  }
  void shutdown() override { isOver = true; }

// Names of types and methods: NOLINTBEGIN(bugprone-macro-parentheses)
#define FORWARD_1(name, A, Options)                                            \
  WorkPtr name(A &a, const c10d::Options &options) override {                  \
    return queue(#name, a, a, [gloo = gloo, a = here(a), options]() mutable {  \
      return gloo->name(a, options);                                           \
    });                                                                        \
  }
#define FORWARD_2(name, A, B, Options)                                         \
  WorkPtr name(A &a, B &b, const c10d::Options &options) override {            \
    return queue(#name, a, b,                                                  \
                 [gloo = gloo, a = here(a), b = here(b), options]() mutable {  \
                   return gloo->name(a, b, options);                           \
                 });                                                           \
  }
  // NOLINTEND(bugprone-macro-parentheses)
  FORWARD_1(allreduce, Tensors, AllreduceOptions)
  FORWARD_1(allreduce_coalesced, Tensors, AllreduceCoalescedOptions)
  FORWARD_1(broadcast, Tensors, BroadcastOptions)
  FORWARD_1(reduce, Tensors, ReduceOptions)
  FORWARD_2(allgather, Lists, Tensors, AllgatherOptions)
  FORWARD_2(allgather_coalesced, Lists, Tensors, AllgatherOptions)
  FORWARD_2(allgather_into_tensor_coalesced, Tensors, Tensors, AllgatherOptions)
  FORWARD_2(_allgather_base, Tensor, Tensor, AllgatherOptions)
  FORWARD_2(alltoall, Tensors, Tensors, AllToAllOptions)
  FORWARD_2(gather, Lists, Tensors, GatherOptions)
  FORWARD_2(scatter, Tensors, Lists, ScatterOptions)
  FORWARD_2(reduce_scatter, Tensors, Lists, ReduceScatterOptions)
  FORWARD_2(reduce_scatter_tensor_coalesced, Tensors, Tensors,
            ReduceScatterOptions)
  FORWARD_2(_reduce_scatter_base, Tensor, Tensor, ReduceScatterOptions)
#undef FORWARD_1
#undef FORWARD_2

  WorkPtr alltoall_base(Tensor &to, Tensor &from, std::vector<int64_t> &toSizes,
                        std::vector<int64_t> &fromSizes,
                        const c10d::AllToAllOptions &options) override {
    return queue("alltoall_base", to, from,
                 [gloo = gloo, to = here(to), from = here(from), toSizes,
                  fromSizes, options]() mutable {
                   return gloo->alltoall_base(to, from, toSizes, fromSizes,
                                              options);
                 });
  }
  WorkPtr send(Tensors &tensors, int to, int tag) override {
    checkRank(to);
    return queue("send", tensors, tensors,
                 [gloo = gloo, tensors = here(tensors), to, tag]() mutable {
                   return gloo->send(tensors, to, tag);
                 });
  }
  WorkPtr recv(Tensors &tensors, int from, int tag) override {
    checkRank(from);
    return queue("recv", tensors, tensors,
                 [gloo = gloo, tensors = here(tensors), from, tag]() mutable {
                   return gloo->recv(tensors, from, tag);
                 });
  }
  WorkPtr barrier(const c10d::BarrierOptions &options) override {
    Tensor one = at::zeros({1}, at::kCUDA);
    return queue("barrier", one, one,
                 [gloo = gloo, options] { return gloo->barrier(options); });
  }

private:
  void checkRank(int other) const {
    TORCH_CHECK(other >= 0 && other < getSize(), "Invalid rank ", other);
  }
  /// Of calls that are to be one, a call has no Work.
  template <typename A, typename B>
  WorkPtr queue(const char *name, const A &a, const B &b,
                std::function<WorkPtr()> run) {
    Tensors held;
    flatten(held, a);
    flatten(held, b);
    TORCH_CHECK(!isOver, "NCCL communicator was aborted");
    note(std::string(coalesced ? "coalesced " : "") + name, held);
    if (!coalesced)
      return queue(std::move(held), {std::move(run)});
    coalesced->first.insert(coalesced->first.end(), held.begin(), held.end());
    coalesced->second.push_back(std::move(run));
    return {};
  }
  WorkPtr queue(Tensors held, std::vector<std::function<WorkPtr()>> run) {
    at::Device device = held.at(0).device();
    c10::Stream &stream =
        streams.try_emplace(device, newStream(device)).first->second;
    auto call = c10::make_intrusive<Call>(held);
    call->run = std::move(run);
    c10::Event before(at::kCUDA);
    before.record(currentStream(device));
    before.block(stream);
    auto again = call;
    fakeCudaQueue(streamOf(stream), runCall, again.release());
    call->end.record(stream);
    c10::StreamGuard guard(stream);
    call->future = c10::make_intrusive<c10::ivalue::Future>(
        c10::ListType::ofTensors(), std::vector<at::Device>{device});
    call->future->markCompleted(held);
    return call;
  }
  static void note(const std::string &name, const Tensors &held) {
    std::lock_guard lock(callsMutex);
    calls().push_back(name + " " + held.at(0).device().str());
  }

  const c10::intrusive_ptr<c10d::Backend> gloo;
  std::optional<std::pair<Tensors, std::vector<std::function<WorkPtr()>>>>
      coalesced;
  bool isOver = false;
  std::map<at::Device, c10::Stream, bool (*)(at::Device, at::Device)> streams{
      [](at::Device a, at::Device b) { return a.index() < b.index(); }};
};

} // namespace

TORCH_LIBRARY_FRAGMENT(fake_cuda, library) {
  /// Gives CUDA tensors of a group a backend over that of the CPU's.
  library.def("add_nccl",
              [](const c10::intrusive_ptr<c10d::ProcessGroup> &group) {
                group->setBackend(
                    at::kCUDA, c10d::ProcessGroup::BackendType::NCCL,
                    c10::make_intrusive<Nccl>(group->getBackend(at::kCPU)));
              });
  library.def("collectives() -> str[]", [] {
    std::lock_guard lock(callsMutex);
    return calls();
  });
}

} // namespace fake_cuda
