//===- record/shape_rule.cpp - Result shapes from PyTorch's meta kernels --===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/convert.h"
#include "ltc_backend/record/checks/call_warnings.h"
#include "ltc_backend/record/checks/fatal_call.h"
#include "ltc_backend/record/checks/misleading_meta.h"
#include "ltc_backend/record/checks/number_limits.h"
#include "ltc_backend/record/lazy_tensor.h"
#include "ltc_backend/record/lowering.h"
#include "ltc_backend/record/map_tensors.h"
#include "ltc_backend/record/meta_kernel.h"
#include "ltc_backend/record/recorder.h"
#include "ltc_backend/record/stand_in.h"

namespace ltc::backend {
using c10::IValue;

/// True for what a meta kernel says when it cannot know a shape without values.
static bool saysNoShape(const std::exception &error) {
  if (dynamic_cast<const c10::NotImplementedError *>(&error))
    return true;
  std::string_view what = error.what();
  for (const char *name : {"NotImplementedError", "DynamicOutputShapeException",
                           "DataDependentOutputException"})
    if (what.find(name) != std::string_view::npos)
      return true;
  return false;
}

/// Calls the op with arguments that have been replaced. False where the meta
/// kernel knows no shape.
static bool runOn(const StandIn &by, const c10::OperatorHandle &op,
                  torch::jit::Stack &stack, std::string &reason) {
  try {
    stack = callOnStandIns(op, std::move(stack), by.device);
    return true;
  } catch (const std::exception &error) {
    if (by.device != c10::kMeta || !saysNoShape(error))
      throw;
    reason = "has no result shape before it runs";
    return false;
  }
}

static bool addResult(CallShape &call, const at::Tensor &tensor,
                      std::string &reason) {
  if (!toDType(tensor.scalar_type())) {
    reason = std::string("has a result of type ") +
             c10::toString(tensor.scalar_type());
    return false;
  }
  call.results.push_back(makeResultType(tensor.scalar_type(), tensor.sizes()));
  call.results.back().layout = layoutOf(tensor);
  return true;
}

static bool addReturn(CallShape &call, const IValue &value,
                      std::string &reason) {
  if (value.isTensor()) {
    if (!value.toTensor().defined()) {
      call.returns.push_back(CallShape::kUndefined);
      return true;
    }
    call.returns.push_back(CallShape::kTensor);
    return addResult(call, value.toTensor(), reason);
  }
  auto tensors = value.toTensorVector();
  call.returns.push_back(int(tensors.size()));
  for (const at::Tensor &tensor : tensors)
    if (!addResult(call, tensor, reason))
      return false;
  return true;
}

static size_t operandCount(const IValue &value) {
  return value.isList() ? value.toListRef().size() : 1;
}

/// The prototype's argument for a value; false if a graph cannot hold it.
static bool addArgument(Node &node, const ArgumentInfo &info,
                        const c10::Argument &schema, const IValue &value) {
  switch (info.kind) {
  case ArgumentKind::Placement:
    return true;
  case ArgumentKind::Tensor:
    if (value.isTensor() && value.toTensor().defined())
      node.arguments.push_back({info.name, ValueId(0)});
    else
      node.arguments.push_back({info.name, Attribute()});
    return true;
  case ArgumentKind::TensorList: {
    if (value.isNone()) {
      node.arguments.push_back({info.name, Attribute()});
      return true;
    }
    std::vector<ValueId> ids;
    for (const IValue &element : value.toListRef())
      ids.push_back(
          element.isTensor() && element.toTensor().defined() ? 0 : kNoValue);
    node.arguments.push_back({info.name, std::move(ids)});
    return true;
  }
  default:
    break;
  }
  if (info.lifts(value)) {
    if (value.isList())
      node.arguments.push_back(
          {info.name, std::vector<ValueId>(operandCount(value), 0)});
    else
      node.arguments.push_back({info.name, ValueId(0)});
    return true;
  }
  std::optional<Attribute> attribute = toAttribute(value, schema);
  if (attribute)
    node.arguments.push_back({info.name, std::move(*attribute)});
  return attribute.has_value();
}

static bool isStrided(const IValue &value) {
  if (value.isTensor()) {
    const at::Tensor &tensor = value.toTensor();
    return tensor.defined() && !isRowMajor(tensor.sizes(), tensor.strides());
  }
  return value.isList() && std::ranges::any_of(value.toListRef(), isStrided);
}

/// On ones: zeros may not be divided by. What the kernel refuses of them leaves
/// the results as they are.
static void takeStridesOfCpu(const OpInfo &info,
                             c10::ArrayRef<IValue> arguments,
                             torch::jit::Stack &results) {
  torch::jit::Stack stack = replaceAll(arguments, onCpuOnes);
  std::string reason;
  try {
    if (runOn(onCpuOnes, info.handle, stack, reason))
      results = std::move(stack);
  } catch (const std::exception &) {
  }
}

/// Whether the rank, which values decide, decides if there are residuals.
static bool hasResidualsByRank(const OpInfo &info,
                               c10::ArrayRef<IValue> arguments) {
  if (info.name != "aten::linalg_lstsq" || !arguments[3].isString())
    return false;
  const std::string &driver = arguments[3].toStringRef();
  const at::Tensor &self = arguments[0].toTensor();
  return (driver == "gelss" || driver == "gelsd") && self.dim() >= 2 &&
         self.size(-2) > self.size(-1);
}

/// Kernels refuse some tensors without elements, as max() does, and lay out
/// others in ways of their own, of both of which meta kernels know nothing. The
/// CPU's kernel has next to nothing to do to tell.
static void askAboutEmpty(const OpInfo &info, c10::ArrayRef<IValue> arguments,
                          torch::jit::Stack &results) {
  bool any = false;
  if (info.name == "aten::index_put") // of as many values as a mask chooses
    return;
  for (const IValue &value : arguments)
    forEachTensor(value, [&](const at::Tensor &tensor) {
      any |= tensor.defined() && tensor.numel() == 0;
    });
  if (any && !info.random)
    results = callOnStandIns(info.view.value_or(info.handle),
                             replaceAll(arguments, onCpu));
}

static std::vector<std::vector<int64_t>>
shapesOf(c10::ArrayRef<IValue> results) {
  std::vector<std::vector<int64_t>> shapes;
  for (const IValue &value : results)
    forEachTensor(value, [&](const at::Tensor &tensor) {
      shapes.push_back(tensor.defined() ? tensor.sizes().vec()
                                        : std::vector<int64_t>());
    });
  return shapes;
}

/// Asks the CPU's kernel, once for each shape, where no meta kernel can tell. A
/// shape that depends on values differs between zeros and ones; a kernel may
/// refuse either.
static bool inferByCpu(const c10::OperatorHandle &op,
                       c10::ArrayRef<IValue> arguments,
                       torch::jit::Stack &stack, std::string &reason) {
  if (!lacksMetaKernel(op))
    return false;
  std::vector<torch::jit::Stack> answers;
  for (const StandIn *by : {&onCpu, &onCpuOnes}) {
    stack = replaceAll(arguments, *by);
    try {
      if (runOn(*by, op, stack, reason))
        answers.push_back(std::move(stack));
    } catch (const std::exception &) {
    }
  }
  if (answers.empty() || shapesOf(answers.front()) != shapesOf(answers.back()))
    return false;
  stack = std::move(answers.front());
  return true;
}

/// Meta kernels have words of their own for what is wrong; users know those of
/// the CPU kernel, so let it complain first. If it does not, it has to run: a
/// meta kernel may refuse what the CPU takes, as byte masks.
static void complainAsCpu(const OpInfo &info, c10::ArrayRef<IValue> arguments,
                          std::string &reason) {
  torch::jit::Stack stack = replaceAll(arguments, onCpuFlat);
  try {
    runOn(onCpuFlat, info.handle, stack, reason);
  } catch (const std::exception &) {
    // Some want memory for every element before they look at anything else.
    stack = replaceAll(arguments, onCpu);
    runOn(onCpu, info.handle, stack, reason);
  }
}

/// Puts tensors like the results on the stack. What a kernel refuses because of
/// strides, it is asked again without: on the device there are none.
static bool inferResults(const OpInfo &info, c10::ArrayRef<IValue> arguments,
                         torch::jit::Stack &stack, std::string &reason) {
  if (info.facts.has(OpFact::FusedStep)) { // some have no meta kernel
    stack = replaceAll(arguments, onMeta);
    stack.resize(info.handle.schema().returns().size());
    return true;
  }
  bool wantsBins = info.name == "aten::histogram.bins_tensor" ||
                   info.name == "aten::_histogramdd_from_bin_tensors";
  bool wantsRank = info.name == "aten::linalg_lstsq";
  // How much it saves goes by the strides of the weight, if it has any.
  bool wantsRows = info.name.starts_with("aten::_embedding_bag");
  bool misleads = wantsBins || wantsRank || hasMisleadingMeta(info, arguments);
  if (hasResidualsByRank(info, arguments)) {
    reason = "has residuals only if the rank is full";
    return false;
  }
  const c10::OperatorHandle &asked = info.view.value_or(info.handle);
  const StandIn &by = wantsBins   ? onCpuRising
                      : wantsRank ? onCpuFullRank
                      : wantsRows ? onCpuRowMajor
                      : misleads  ? onCpu
                                  : onMeta;
  stack = replaceAll(arguments, by);
  bool isInferred = false;
  try {
    if (!runOn(by, asked, stack, reason))
      return inferByCpu(asked, arguments, stack, reason);
    correctResults(info, arguments, stack);
    if (info.facts.has(OpFact::StridesMislead) &&
        std::ranges::any_of(arguments, isStrided))
      takeStridesOfCpu(info, arguments, stack);
    isInferred = true;
  } catch (const std::exception &) {
    if (misleads)
      throw;
  }
  if (isInferred) {
    if (!misleads)
      askAboutEmpty(info, arguments, stack);
    return true;
  }
  if (std::ranges::any_of(arguments, isStrided)) {
    stack = replaceAll(arguments, onMetaRowMajor);
    try {
      return runOn(onMetaRowMajor, info.handle, stack, reason);
    } catch (const std::exception &) {
    }
  }
  complainAsCpu(info, arguments, reason);
  reason = "has no result shape before it runs";
  return false;
}

/// Meta kernels make gradients that output_mask does not ask for, too.
static void leaveOutUnasked(const OpInfo &info, c10::ArrayRef<IValue> arguments,
                            torch::jit::Stack &results) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (info.arguments[i].name != "output_mask" || !arguments[i].isBoolList())
      continue;
    c10::List<bool> mask = arguments[i].toBoolList();
    for (size_t j = 0; j < std::min(mask.size(), results.size()); ++j)
      if (!mask[j])
        results[j] = at::Tensor();
  }
}

static std::shared_ptr<CallShape> infer(const OpInfo &info,
                                        c10::ArrayRef<IValue> arguments,
                                        std::string &reason) {
  auto call = std::make_shared<CallShape>();
  call->op = &info;
  call->prototype.op = info.name;
  const auto &schema = info.handle.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!addArgument(call->prototype, info.arguments[i], schema[i],
                     arguments[i])) {
      reason = "has an argument, '" + info.arguments[i].name +
               "', whose value a graph cannot hold";
      return nullptr;
    }
  }
  if (info.random)
    call->prototype.arguments.push_back({"seed", ValueId(0)});
  refuseFatalCall(info, arguments);
  torch::jit::Stack stack;
  if (!inferResults(info, arguments, stack, reason))
    return nullptr;
  leaveOutUnasked(info, arguments, stack);
  checkCall(info, arguments);
  call->limits = numberLimits(info, arguments);
  for (const IValue &value : stack)
    if (!addReturn(*call, value, reason))
      return nullptr;
  for (const ResultType &result : call->results)
    call->prototype.results.push_back(result.type);
  if (auto text = loweringText(info, arguments))
    call->prototype.arguments.push_back({"lowering", Attribute(*text)});
  call->signature = call->prototype.signature();
  return call;
}

std::shared_ptr<CallShape> inferCall(const OpInfo &info,
                                     c10::ArrayRef<IValue> arguments,
                                     std::string &reason) {
  std::vector<c10::Warning> warnings = warningsOf(info, arguments);
  try {
    auto call = infer(info, arguments, reason);
    if (call)
      warnOfTypes(*call);
    if (call)
      call->warnings = std::move(warnings);
    return call;
  } catch (...) { // eager's kernel warns before it refuses
    std::ranges::for_each(warnings, c10::warn);
    throw;
  }
}

} // namespace ltc::backend
