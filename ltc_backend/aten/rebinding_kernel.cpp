//===- rebinding_kernel.cpp - A kernel of an op that may end ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "rebinding_kernel.h"

#include "../raise.h"
#include "aten_kernel.h"
#include "clean_thread_state.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <atomic>

namespace ltc::backend {

namespace {
std::atomic<uint64_t> ended{0};

class Listener final : public c10::OpRegistrationListener {
  void onOperatorRegistered(const c10::OperatorHandle &) override {}
  void onOperatorDeregistered(const c10::OperatorHandle &) override {
    ended.fetch_add(1, std::memory_order_acq_rel);
  }
};
} // namespace

static void listen() {
  static auto *registration = new c10::RegistrationHandleRAII(
      c10::Dispatcher::singleton().addRegistrationListener(
          std::make_unique<Listener>()));
  (void)registration;
}

Status RebindingKernel::bind() {
  bound.reset();
  opsEnded = ended.load(std::memory_order_acquire);
  try {
    CleanThreadState clean;
    Result<CallPlan> plan = planCall(call, device);
    if (!plan)
      return plan.takeError();
    bound = std::make_unique<AtenKernel>(std::move(*plan));
    return {};
  } catch (...) {
    return currentError(Stage::Execute, call.nodes[0].op);
  }
}

Result<std::unique_ptr<Kernel>> RebindingKernel::make(const Graph &call,
                                                      c10::Device device) {
  listen();
  std::unique_ptr<RebindingKernel> made(new RebindingKernel(call, device));
  if (Status status = made->bind(); !status)
    return status.takeError();
  return std::unique_ptr<Kernel>(std::move(made));
}

Status RebindingKernel::renew() {
  bool isNew = bound && opsEnded == ended.load(std::memory_order_acquire);
  return isNew ? Status() : bind();
}

Status RebindingKernel::run(std::span<const KernelView> operands,
                            std::span<const KernelView> results) {
  Status status = renew();
  return status ? bound->run(operands, results) : status;
}

Status RebindingKernel::runOn(void *stream,
                              std::span<const KernelView> operands,
                              std::span<const KernelView> results) {
  Status status = renew();
  return status ? bound->runOn(stream, operands, results) : status;
}

} // namespace ltc::backend
