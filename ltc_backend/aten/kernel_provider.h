//===- kernel_provider.h - ATen's kernels in the table ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/kernels.h"

#include <c10/core/Device.h>

namespace ltc::backend {

/// Binds the ATen operator that a one-node graph names, for memory of a device
/// that PyTorch has kernels for: what run() is given is there. It returns when
/// the work is in the device's current stream. Any thread; the result
/// may outlive the graph. Unsupported for an operator that torch does not
/// have, that mutates, that returns no tensor, or an argument it cannot take.
///
/// Results are matched in order: the tensors the operator returns, lists
/// flattened, undefined ones left out (convolution_backward with an
/// output_mask returns as many as the mask has trues), numbers left out. A
/// call writes straight into the result memory where ATen can, else copies.
LTC_API Result<std::unique_ptr<Kernel>>
resolveKernel(const Graph &call, c10::Device device = c10::kCPU);

/// Installs the CPU's kernel library (cpu_kernels.h), and lends it these and
/// PyTorch's threads. Idempotent.
LTC_API void installKernels();

} // namespace ltc::backend
