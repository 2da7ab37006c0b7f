//===- record/meta_kernel.h - Meta kernels without Python -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch has Meta kernels in Python for 1,337 ops, for sizes that are symbols.
// 636 of them hide one in C++, a function that the CPU's kernel calls for the
// shapes of its results. Those in Python import torch._dynamo when the first is
// called, which took a program's first `x + 1` most of a second and 50 MiB, and
// have words and strides of their own. The recorder goes past all of them: its
// shapes are the same in a program without Python.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace ltc::backend {

/// Puts a kernel in front of each of PyTorch's in Python, which hands on to it
/// all calls but those below callMetaKernel().
void registerMetaKernels();

/// Calls the op's kernel for the arguments on the stack, meta tensors among
/// them, and leaves its results there. The thread's keys are to be those of a
/// call below autograd and functionalisation. Throws c10::NotImplementedError
/// where that, or an op that it calls, has no kernel in C++.
void callMetaKernel(const c10::OperatorHandle &op, torch::jit::Stack &stack);

/// Whether the op has none in C++ of its own: at best, one of other ops.
bool lacksMetaKernel(const c10::OperatorHandle &op);

} // namespace ltc::backend
