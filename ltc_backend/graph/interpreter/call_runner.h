//===- interpreter/call_runner.h - One call, run on the host ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the recorded calls of one CallShape need to run without a program: the
// library's kernel, bound once and kept, or the view op that gives an alias.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/kernels.h"
#include "ltc_backend/aten/view_call.h"
#include "ltc_backend/tensors/pending.h"

namespace ltc::backend {

/// Whether ATen's kernel divides the lowest integer by minus one by an
/// instruction that ends the process.
bool mayTrap(const Node &call, DType result);

/// Any thread.
class CallRunner final : public KeptWithCall {
public:
  ~CallRunner() override { delete idle.load(); }
  /// The one of the shape. `operands` are those of any node that has it.
  static CallRunner &of(const CallShape &call,
                        const OpNode::Operands &operands);

  /// Whether run() gives what a compiled graph does, but for rounding: not for
  /// an op of somebody else's, whose kernel may do anything.
  bool serves() const { return isServed; }

  /// Whether run() finds a kernel, which it may not for an op of somebody
  /// else's.
  bool hasKernel() const;

  /// Whether results that are not given are aliases of the operand.
  bool isView() const { return view != nullptr; }

  /// `tensors`: one an operand, on the CPU, of any strides; null for a scalar.
  /// Each of `results` that is defined is filled, a dense one; each of the
  /// others becomes a new dense one, or for a view an alias of its operand.
  /// Never throws; the error names neither line nor op.
  Status run(const OpNode::Operands &operands,
             c10::ArrayRef<const at::Tensor *> tensors,
             std::span<at::Tensor> results);

private:
  CallRunner(const CallShape &call, const OpNode::Operands &operands);
  Graph graphOf(const OpNode::Operands &operands) const;
  Result<std::unique_ptr<Kernel>> takeKernel(const OpNode::Operands &operands);
  void putBack(std::unique_ptr<Kernel> kernel);
  /// Whether the kernel may be given the tensor as it lies.
  bool reads(const at::Tensor &tensor) const;
  Status runView(const at::Tensor &self, std::span<at::Tensor> results);
  Status runKernel(const OpNode::Operands &operands,
                   c10::ArrayRef<const at::Tensor *> tensors,
                   std::span<at::Tensor> results);

  const CallShape &call;
  const bool isServed, readsAnyStrides;
  std::unique_ptr<const ViewCall> view;
  /// A kernel runs once at a time: who finds none here binds another.
  std::atomic<Kernel *> idle = nullptr;
};

} // namespace ltc::backend
