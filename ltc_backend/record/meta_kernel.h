//===- record/meta_kernel.h - Meta kernels without Python -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The Meta kernels of 636 ops stand behind ones in Python, which PyTorch has
// for sizes that are symbols. Those import torch._dynamo when the first is
// called, which took a program's first `x + 1` most of a second and 50 MiB, and
// have words and strides of their own. The ones behind are the functions that
// the CPU's kernels call for the shapes of their results.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace ltc::backend {

/// Calls the op's kernel for the arguments on the stack, meta tensors among
/// them, and leaves its results there: PyTorch's in C++ if that stands behind
/// its own in Python, else what the dispatcher finds. The thread's keys are to
/// be those of a call below autograd and functionalisation.
void callMetaKernel(const c10::OperatorHandle &op, torch::jit::Stack &stack);

/// Whether the op has none of its own in a program without Python, where that
/// is so for many ops that PyTorch gives one in Python.
bool lacksMetaKernel(const c10::OperatorHandle &op);

/// Whether that may be one in Python, which hears its own warnings.
bool isMetaInPython(const c10::OperatorHandle &op);

} // namespace ltc::backend
