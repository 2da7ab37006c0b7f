//===- reads/lent_memory.h - Device memory in other hands -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"

#include <ATen/core/Tensor.h>

namespace ltc::backend {

/// A CPU tensor of the memory in which the device has the tensor's value; with
/// the tensor's own strides where eager's storage lies as the device's memory
/// does, else row-major. Nobody may write to it: other tensors may have the
/// same value. It never changes, since a later write to the tensor finds the
/// memory taken, and lives as long as the result does. Undefined if the host
/// does not reach the memory. Syncs, and raises what the graph raised.
LTC_API at::Tensor lendMemory(const at::Tensor &tensor);

} // namespace ltc::backend
