//===- record/shape_rule.cpp - What is the same in all equal calls --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/shape_rule.h"

#include "ltc_backend/convert.h"
#include "ltc_backend/record/checks/call_warnings.h"
#include "ltc_backend/record/checks/cpu_check.h"
#include "ltc_backend/record/checks/fatal_call.h"
#include "ltc_backend/record/checks/number_limits.h"
#include "ltc_backend/record/lowering.h"
#include "ltc_backend/record/result_shapes.h"
#include "ltc_backend/tensors/map_tensors.h"

#include <ATen/Context.h>
#include <algorithm>
#include <numeric>

namespace ltc::backend {
using c10::IValue;

static bool addResult(CallShape &call, const at::Tensor &tensor,
                      std::string &reason) {
  if (!toDType(tensor.scalar_type())) {
    reason = std::string("has a result of type ") +
             c10::toString(tensor.scalar_type());
    return false;
  }
  TORCH_CHECK_NOT_IMPLEMENTED(
      tensor.layout() == at::kStrided, call.op->name,
      " gives a tensor of layout ", tensor.layout(),
      " on the CPU, and 'lazy' has none of those; call it on a CPU copy");
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

/// What a device may add in any order, unless PyTorch is told to be
/// deterministic: where indices say.
static bool addsByIndex(const OpInfo &info) {
  auto takes = [&](std::string_view name) {
    return std::ranges::any_of(info.arguments, [&](const ArgumentInfo &each) {
      return each.name == name;
    });
  };
  const bool adds = takes("accumulate") || takes("reduce") ||
                    info.name.ends_with("_add") ||
                    info.name == "aten::embedding_dense_backward";
  return adds && (takes("index") || takes("indices"));
}

/// Whether the op may look at strides: one of the program's or of another
/// library's, or the twin of such a one, that has no lowering and does not say
/// that it takes any layout.
static bool maySeeStrides(const OpInfo &info) {
  auto space = info.handle.operator_name().getNamespace();
  if (!space || *space == "aten" || *space == "prims")
    return false;
  if (*space == "torch_ltc")
    return info.handle.hasKernelForDispatchKey(
        c10::DispatchKey::CompositeExplicitAutograd);
  return !info.handle.hasTag(at::Tag::flexible_layout);
}

/// Of each tensor in turn, its dimensions as they lie in memory; empty if all
/// are row-major. What has gaps or overlaps is taken for that.
static std::vector<int64_t> ordersInMemory(c10::ArrayRef<IValue> arguments) {
  std::vector<int64_t> orders;
  bool areRowMajor = true;
  for (const IValue &value : arguments)
    forEachTensor(value, [&](const at::Tensor &tensor) {
      if (!tensor.defined())
        return;
      std::vector<int64_t> order(size_t(tensor.dim()));
      std::iota(order.begin(), order.end(), 0);
      if (tensor.is_non_overlapping_and_dense() && !tensor.is_contiguous()) {
        areRowMajor = false;
        std::ranges::stable_sort(order, std::greater(), [&](int64_t dim) {
          return tensor.stride(dim);
        });
      }
      orders.insert(orders.end(), order.begin(), order.end());
    });
  return areRowMajor ? std::vector<int64_t>() : orders;
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
  if (at::globalContext().deterministicAlgorithms() && addsByIndex(info))
    call->prototype.arguments.push_back({"deterministic", Attribute(true)});
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
  else if (maySeeStrides(info))
    if (auto orders = ordersInMemory(arguments); !orders.empty())
      call->prototype.arguments.push_back({"orders", Attribute(orders)});
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
