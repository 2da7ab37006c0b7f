//===- copy_kernels.h - Copies of memory as kernels -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy among a program's steps is a launch like the others, in a CUDA graph
// too: a graph's own copy node reached two thirds of a kernel's rate on an H200
// (2.77 and 4.09 TB/s).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "cuda_api.h"

#include <array>
#include <memory>

namespace ltc::cuda {

/// One launch whose words are target, source and bytes.
struct CopyLaunch {
  CUfunction function = nullptr;
  unsigned blocks = 0, threads = 0;
};

/// Of one context, which is current in every call.
class CopyKernels {
public:
  static Outcome load(std::unique_ptr<CopyKernels> &kernels);
  ~CopyKernels() { api().cuModuleUnload(module); }
  CopyKernels(const CopyKernels &) = delete;

  /// What copies so many bytes, which are not 0. Both may be parts of the same
  /// memory, and overlap: then one block goes through them in the right order.
  CopyLaunch launch(CUdeviceptr to, CUdeviceptr from, size_t bytes) const;

private:
  explicit CopyKernels(CUmodule module) : module(module) {}

  /// Bytes that a thread moves at once; the largest that fits is used.
  static constexpr std::array<unsigned, 3> kUnits = {16, 4, 1};

  const CUmodule module;
  std::array<CUfunction, kUnits.size()> copies = {}, moves = {};
};

} // namespace ltc::cuda
