//===- aten_kernel.h - A kernel that calls ATen -----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "direct_call.h"
#include "tensor_slot.h"

namespace ltc::backend {

/// Runs a CallPlan on borrowed memory. Keeps its stack and its tensors from
/// run to run. Never throws: what ATen throws becomes an Error that names the
/// op and the operands.
class AtenKernel : public Kernel {
public:
  explicit AtenKernel(CallPlan plan);
  Status run(std::span<const KernelView> operands,
             std::span<const KernelView> results) override;
  Status runOn(void *stream, std::span<const KernelView> operands,
               std::span<const KernelView> results) override;
  Uncaptured uncaptured() const override;
  Result<std::unique_ptr<Capture>> capture(void *stream) override;

private:
  using Views = std::span<const KernelView>;

  void pushArguments(Views operands);
  c10::IValue bound(const Binding &binding, Views operands);
  void seedFrom(Views operands);
  void call(Views operands, Views results);
  bool failsHalfWay(Views operands, Views results) const;
  void callElsewhere(Views operands, Views results);
  bool callDirect(Views results);
  void callOut(Views results);
  void callFunctional(Views results);
  /// Copies results that ATen put elsewhere.
  void settle(Views results);
  void store(const at::Tensor &value, Views results, size_t number);

  CallPlan plan;
  DirectCall direct;
  const bool byIndex; ///< writes to some elements of its first operand
  Stack stack;
  std::vector<TensorSlot> operandSlots, resultSlots;
  std::vector<at::Tensor> outs;
  at::Generator generator;
};

} // namespace ltc::backend
