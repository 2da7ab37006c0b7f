//===- writes/custom_write.cpp - Custom ops that write --------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/writes/custom_write.h"

#include "ltc_backend/convert.h"
#include "ltc_backend/current_source.h"
#include "ltc_backend/library.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/record/probe.h"
#include "ltc_backend/record/record_kernel.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/map_tensors.h"
#include "ltc_backend/tensors/op_info.h"
#include "ltc_backend/tensors/schema.h"

#include <ATen/ATen.h>
#include <map>
#include <mutex>

namespace ltc::backend {
namespace {
using c10::Argument;
using c10::DispatchKey;
using c10::FunctionSchema;
using c10::IValue;
using c10::OperatorHandle;

/// The argument that a result is, if it is one.
std::optional<size_t> argumentOf(const FunctionSchema &schema,
                                 const Argument &result) {
  for (size_t i = 0; i < schema.arguments().size(); ++i)
    if (isWritten(result) && isWritten(schema.arguments()[i]) &&
        *result.alias_info() == *schema.arguments()[i].alias_info())
      return i;
  return std::nullopt;
}

std::vector<size_t> writtenArguments(const FunctionSchema &schema) {
  std::vector<size_t> written;
  for (size_t i = 0; i < schema.arguments().size(); ++i)
    if (isWritten(schema.arguments()[i]))
      written.push_back(i);
  return written;
}

bool canHaveTwin(const FunctionSchema &schema) {
  for (const Argument &argument : schema.arguments()) {
    if (!argument.alias_info())
      continue;
    if (!isWritten(argument) || kindOf(argument) != ArgumentKind::Tensor)
      return false;
  }
  for (const Argument &result : schema.returns())
    if (result.alias_info() && !argumentOf(schema, result))
      return false;
  return schema.is_mutable();
}

Argument withoutAlias(const Argument &argument) {
  return {argument.name(), argument.type(),          argument.real_type(),
          argument.N(),    argument.default_value(), argument.kwarg_only()};
}

/// A name for the twin of ops of this schema. An op may be defined again with
/// another one, of which a graph must not say the same.
std::string nameTwin(const OperatorHandle &op) {
  std::string name = "torch_ltc::" + c10::toString(op.operator_name());
  for (size_t i = name.find("::") + 2; i < name.size(); ++i)
    if (name[i] == ':' || name[i] == '.')
      name[i] = '_';
  auto isTaken = [](const std::string &name) {
    return c10::Dispatcher::singleton().findSchema({name, ""}).has_value();
  };
  std::string free = name;
  for (int i = 2; isTaken(free); ++i)
    free = name + "_" + std::to_string(i);
  return free;
}

FunctionSchema twinSchema(const FunctionSchema &schema, std::string name) {
  std::vector<Argument> arguments, results;
  for (const Argument &argument : schema.arguments())
    arguments.push_back(withoutAlias(argument));
  for (const Argument &result : schema.returns())
    if (!result.alias_info())
      results.push_back(withoutAlias(result));
  for (size_t i = 0; i < writtenArguments(schema).size(); ++i)
    results.emplace_back("", c10::TensorType::get());
  return {std::move(name), "", std::move(arguments), std::move(results)};
}

/// The twin, on a CPU's tensors and on those that have only a shape. The op may
/// have ended and been defined anew since, so it is looked up by its name.
struct TwinKernel final : c10::OperatorKernel {
  explicit TwinKernel(const OperatorHandle &op)
      : name(op.operator_name()), written(writtenArguments(op.schema())) {}

  void operator()(const OperatorHandle &, c10::DispatchKeySet,
                  torch::jit::Stack *stack) {
    OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(
        name.name.c_str(), name.overload_name.c_str());
    torch::jit::Stack call =
        torch::jit::pop(*stack, op.schema().arguments().size());
    std::vector<at::Tensor> copies;
    for (size_t i : written) {
      if (call[i].isTensor() && call[i].toTensor().defined())
        call[i] = call[i].toTensor().clone();
      copies.push_back(call[i].isTensor() ? call[i].toTensor() : at::Tensor());
    }
    op.callBoxed(&call);
    for (size_t i = 0; i < call.size(); ++i)
      if (!op.schema().returns()[i].alias_info())
        stack->push_back(std::move(call[i]));
    stack->insert(stack->end(), copies.begin(), copies.end());
  }

private:
  c10::OperatorName name;
  std::vector<size_t> written;
};

/// The twin writes to copies, so whoever reads the same memory under another
/// name would not see it.
void refuseShared(const OperatorHandle &op, const std::vector<size_t> &written,
                  c10::ArrayRef<IValue> arguments) {
  for (size_t i : written) {
    Span target =
        arguments[i].isTensor() ? spanOf(arguments[i].toTensor()) : Span();
    for (size_t j = 0; j < arguments.size(); ++j)
      forEachTensor(arguments[j], [&](const at::Tensor &other) {
        if (j != i && other.defined() && target.meets(spanOf(other)))
          raise({ErrorCode::Unsupported, Stage::Record,
                 c10::toString(op.operator_name()) + " writes to argument '" +
                     op.schema().arguments()[i].name() +
                     "', whose memory is also that of argument '" +
                     op.schema().arguments()[j].name() +
                     "': it would not see there what it has written",
                 c10::toString(op.operator_name()), sourceOf(currentSource()),
                 "give it a copy of one of them: x.clone()"});
      });
  }
}

/// Defines the twin, unless it is.
const OpInfo &makeTwin(const OperatorHandle &op) {
  static std::mutex mutex;
  static auto *twins = new std::map<std::string, std::string>;
  std::lock_guard lock(mutex);
  auto [twin, isNew] = twins->try_emplace(c10::toString(op.schema()));
  std::string &name = twin->second;
  if (isNew) {
    name = nameTwin(op);
    ownLibrary().def(twinSchema(op.schema(), name));
    ownLibrary().impl(name.c_str(),
                      torch::dispatch(DispatchKey::CompositeExplicitAutograd,
                                      torch::CppFunction::makeFromBoxedFunctor(
                                          std::make_unique<TwinKernel>(op))));
  }
  forgetOpInfo({name, ""}); // its kernel for shapes may be another
  return opInfo(name.c_str(), "");
}

struct WritingKernel final : KernelOverride {
  explicit WritingKernel(const OperatorHandle &op)
      : KernelOverride(op), written(writtenArguments(op.schema())) {}

  void operator()(const OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    size_t count = op.schema().arguments().size();
    if (!hasFunctionalLazy(torch::jit::last(*stack, count)))
      return stock.callBoxed(op, keys, stack);
    refuseShared(op, written, torch::jit::last(*stack, count));
    // Libraries bring dozens of ops that a program never calls.
    std::call_once(isMade, [&] { twin = &makeTwin(op); });
    std::vector<IValue> arguments = torch::jit::pop(*stack, count);
    torch::jit::Stack results = arguments;
    recordCall(*twin, results);
    size_t fresh = results.size() - written.size();
    for (size_t i = 0; i < written.size(); ++i)
      if (at::Tensor value = results[fresh + i].toTensor(); value.defined())
        arguments[written[i]].toTensor().copy_(value);
    size_t next = 0;
    for (const Argument &result : op.schema().returns())
      if (auto argument = argumentOf(op.schema(), result))
        stack->push_back(arguments[*argument]);
      else
        stack->push_back(results[next++]);
  }

private:
  std::vector<size_t> written;
  std::once_flag isMade;
  const OpInfo *twin = nullptr;
};
} // namespace

std::optional<c10::KernelFunction> writingKernel(const OperatorHandle &op) {
  if (!canHaveTwin(op.schema()))
    return std::nullopt;
  return c10::KernelFunction::makeFromBoxedFunctor(
      std::make_unique<WritingKernel>(op));
}

} // namespace ltc::backend
