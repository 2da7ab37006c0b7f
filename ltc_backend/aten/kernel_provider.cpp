//===- kernel_provider.cpp - ATen's kernels in the table --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kernel_provider.h"

#include "ltc_backend/aten/aten_kernel.h"
#include "ltc_backend/aten/clean_thread_state.h"
#include "ltc_backend/aten/placement.h"
#include "ltc_backend/aten/rebinding_kernel.h"
#include "ltc_backend/aten/stream_capture.h"
#include "ltc_backend/raise.h"

#include "ltc/cpu_kernels.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/native/CPUBlas.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <mutex>

namespace ltc::backend {

Result<std::unique_ptr<Kernel>> resolveKernel(const Graph &call,
                                              c10::Device device) {
  try {
    CleanThreadState clean;
    if (!call.nodes.empty() && !call.nodes[0].op.starts_with("aten::"))
      return RebindingKernel::make(call, device);
    Result<CallPlan> plan = planCall(call, device);
    if (!plan)
      return plan.takeError();
    return std::unique_ptr<Kernel>(new AtenKernel(std::move(*plan)));
  } catch (...) {
    return currentError(Stage::Execute,
                        call.nodes.empty() ? "" : call.nodes[0].op);
  }
}

/// For a driver of the same chip as PyTorch's devices of `type`.
static Result<std::unique_ptr<Kernel>>
resolveOnDevice(const Graph &call, const std::string &type, uint32_t number) {
  try {
    c10::Device device(type + ":" + std::to_string(number));
    if (!c10::impl::hasDeviceGuardImpl(device.type()))
      return Error{ErrorCode::Unsupported,
                   Stage::Execute,
                   "this PyTorch has no kernels for " + type,
                   "",
                   {},
                   ""};
    at::globalContext().lazyInitDevice(device.type());
    return resolveKernel(call, device);
  } catch (...) {
    return currentError(Stage::Execute,
                        call.nodes.empty() ? "" : call.nodes[0].op);
  }
}

/// oneDNN's kernel for one block.
static void multiply(int64_t rows, int64_t cols, int64_t depth, int64_t aStride,
                     int64_t bStride, int64_t cStride, bool accumulate,
                     const float *a, const float *b, float *c) {
  at::native::cpublas::brgemm(rows, cols, depth, aStride, bStride, cStride,
                              accumulate, a, b, c);
}

void installKernels() {
  static std::once_flag once;
  std::call_once(once, [] {
    installPlacement();
    kernels::install({[](const Graph &call) { return resolveKernel(call); },
                      multiply, at::get_num_threads, at::in_parallel_region,
                      resolveOnDevice, kernelSettings});
  });
}

} // namespace ltc::backend
