//===- views/math_bits.h - Conjugates and negatives -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// x.conj() is x's memory with a bit that says how to read it, and x.conj().imag
// one with another bit. The bits are dispatch keys of the wrapper; the value in
// it is without them, as eager's memory is. On these keys, above ours, PyTorch
// resolves them by clone() and copy_() before an op is called. It leaves them
// to views, and to the ops whose kernels in eager know what they mean.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <torch/library.h>

namespace ltc::backend {

/// Gives a view the bits of what it is a view of.
void copyMathBits(const at::Tensor &from, const at::Tensor &to);

/// Calls an op that is no view again, with copies in the place of arguments
/// that have a bit, and writes back. False, and nothing is done, if none has.
bool resolvedMathBits(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                      torch::jit::Stack &stack);

/// Whether eager shows what the op makes of some arguments as a conjugate.
bool returnsConjugates(const std::string &name);

/// The ops that set, read and drop the bits. `library` is aten's on the
/// Functionalize key, which has all its other kernels.
void registerMathBits(torch::Library &library);

} // namespace ltc::backend
