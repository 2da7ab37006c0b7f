//===- record/probe_call.cpp - A kernel is asked about a call -------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/aten/overloads.h"
#include "ltc_backend/lent_generator.h"
#include "ltc_backend/record/meta_kernel.h"
#include "ltc_backend/record/probe.h"
#include "ltc_backend/warnings.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>

namespace ltc::backend {
using c10::IValue;
using Arguments = std::vector<IValue>;

/// The arguments of `op` for its overload `asked`, which may take a generator
/// besides, with `scratch` for that.
static Arguments drawingFrom(const at::Generator &scratch,
                             const c10::OperatorHandle &op,
                             const c10::OperatorHandle &asked,
                             Arguments arguments) {
  const auto &schema = asked.schema().arguments();
  bool isAdded = schema.size() != op.schema().arguments().size();
  for (size_t i = 0; i < schema.size(); ++i)
    if (isGenerator(schema[i])) {
      if (isAdded)
        arguments.insert(arguments.begin() + i, IValue());
      arguments[i] = scratch;
    }
  return arguments;
}

/// `op`, or the overload of it that draws from a generator that it is given, is
/// called with a new one; the process's is lent to an op that takes none.
static Arguments callApart(const c10::OperatorHandle &op, Arguments arguments,
                           c10::DeviceType device) {
  for (IValue &value : arguments)
    if (value.isDevice() && value.toDevice().type() == c10::kLazy)
      value = c10::Device(device);
  at::NoGradGuard noGrad;
  at::AutoDispatchBelowADInplaceOrView belowAutograd;
  at::AutoDispatchSkipFunctionalize belowFunctionalization;
  c10::OperatorHandle asked = op;
  std::optional<LentGenerator> lent;
  if (op.hasTag(at::Tag::nondeterministic_seeded)) {
    at::Generator scratch = at::detail::createCPUGenerator();
    if (device == c10::kCPU)
      asked = withGenerator(op);
    if (std::ranges::any_of(asked.schema().arguments(), isGenerator))
      arguments = drawingFrom(scratch, op, asked, std::move(arguments));
    else
      lent.emplace(scratch);
  }
  if (device == c10::kMeta)
    callMetaKernel(asked, arguments);
  else
    asked.callBoxed(&arguments);
  return arguments;
}

Arguments callOnProbes(const c10::OperatorHandle &op, Arguments arguments,
                       c10::DeviceType device) {
  Quiet quiet;
  return callApart(op, std::move(arguments), device);
}

void hearOnProbes(const c10::OperatorHandle &op, Arguments arguments,
                  std::vector<c10::Warning> &heard) {
  Listener listener(heard);
  callApart(op, std::move(arguments), c10::kCPU);
}

} // namespace ltc::backend
