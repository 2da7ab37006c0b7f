//===- device_index_check.h - Looks at indices on a device ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CUDA's kernels assert that indices are in range, and a failed assert ends the
// process's use of the GPU. Before such a call its indices are looked at there,
// and one number is read.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/stack.h>

#include <string_view>

namespace ltc::backend {

/// Whether an op, by its name, has indices that are looked at.
bool looksAtIndices(std::string_view op);

/// Throws c10::IndexError if an index of the call is out of range. `op` is its
/// name, arguments are those of its schema. Waits for the current stream of
/// their device if the op takes indices, and does nothing otherwise.
void checkIndicesOnDevice(std::string_view op,
                          const std::vector<c10::IValue> &arguments);

} // namespace ltc::backend
