//===- call_plan.cpp - One ATen call, bound to its attributes ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "call_plan.h"

#include "../convert.h"
#include "cuda_attention.h"
#include "overloads.h"

#include <ATen/ScalarOps.h>

#include <algorithm>
#include <span>

namespace ltc::backend {

using c10::IValue;
using c10::TypeKind;

static Error refuse(const Node &node, std::string message) {
  Error error;
  error.code = ErrorCode::Unsupported;
  error.stage = Stage::Execute;
  error.op = node.op;
  error.source = sourceOf(node.source);
  error.message = std::move(message);
  return error;
}

/// The value of an argument that the node does not carry.
static IValue defaultOf(const c10::Argument &argument, c10::Device device) {
  const c10::Type *type = argument.real_type().get();
  if (type->kind() == TypeKind::OptionalType)
    type = type->castRaw<c10::OptionalType>()->getElementType().get();
  if (type->kind() == TypeKind::DeviceObjType)
    return device;
  if (type->kind() == TypeKind::LayoutType)
    return int64_t(at::kStrided);
  if (const auto &value = argument.default_value())
    return *value;
  return {};
}

at::Tensor wrappedNumber(const at::Scalar &number) {
  at::Tensor tensor = c10::scalar_to_tensor(number);
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

/// `add.Tensor(self=%0, other=2)`, as FX writes it.
static std::optional<IValue> numberForTensor(const Attribute &attribute) {
  if (auto *flag = std::get_if<bool>(&attribute))
    return wrappedNumber(*flag);
  if (auto *integer = std::get_if<int64_t>(&attribute))
    return wrappedNumber(*integer);
  if (auto *real = std::get_if<double>(&attribute))
    return wrappedNumber(*real);
  auto *parts = std::get_if<std::vector<double>>(&attribute);
  if (parts && parts->size() == 2)
    return wrappedNumber(c10::complex<double>((*parts)[0], (*parts)[1]));
  return std::nullopt;
}

static bool hasOperands(const Node &node) {
  for (const Argument &argument : node.arguments)
    if (!std::holds_alternative<Attribute>(argument.value))
      return true;
  return false;
}

/// How a single operand of `type` is passed as `argument`.
static std::optional<Binding::Kind> bindingKind(const c10::Argument &argument,
                                                const ValueType &type) {
  ArgumentKind kind = kindOf(argument);
  if (kind == ArgumentKind::Tensor)
    return type.isScalar ? Binding::WrappedNumber : Binding::Tensor;
  if (!type.isScalar)
    return std::nullopt;
  if (kind == ArgumentKind::Scalar)
    return Binding::Scalar;
  if (kind == ArgumentKind::Float)
    return Binding::Float;
  const c10::Type *inner = argument.real_type().get();
  if (inner->kind() == TypeKind::OptionalType)
    inner = inner->castRaw<c10::OptionalType>()->getElementType().get();
  if (inner->kind() == TypeKind::IntType ||
      inner->kind() == TypeKind::SymIntType)
    return Binding::Int;
  if (inner->kind() == TypeKind::BoolType)
    return Binding::Bool;
  return std::nullopt;
}

/// How a list of operands is passed as `argument`.
static std::optional<Binding::Kind> listKind(const c10::Argument &argument) {
  switch (kindOf(argument)) {
  case ArgumentKind::TensorList: {
    const c10::Type *list = argument.real_type().get();
    if (list->kind() == TypeKind::OptionalType)
      list = list->castRaw<c10::OptionalType>()->getElementType().get();
    auto &element = list->castRaw<c10::ListType>()->getElementType();
    return element->kind() == TypeKind::OptionalType
               ? Binding::OptionalTensorList
               : Binding::TensorList;
  }
  case ArgumentKind::ScalarList:
    return Binding::ScalarList;
  case ArgumentKind::FloatList:
    return Binding::FloatList;
  case ArgumentKind::Attribute:
    return Binding::IntList;
  default:
    return std::nullopt;
  }
}

namespace {

/// Fills a CallPlan argument by argument.
class Planner {
public:
  Planner(const Graph &call, CallPlan &plan)
      : call(call), node(call.nodes[0]), plan(plan),
        schema(plan.op.schema().arguments()) {}

  Status run() {
    for (const c10::Argument &argument : schema)
      plan.arguments.push_back(defaultOf(argument, plan.device));
    for (const Argument &argument : node.arguments)
      if (Status status = bind(argument); !status)
        return status;
    if (!orders.empty())
      if (Status status = order(); !status)
        return status;
    chooseFactoryType();
    return checkRequired();
  }

private:
  Status bind(const Argument &argument) {
    auto operand = std::get_if<ValueId>(&argument.value);
    for (uint32_t i = 0; i < schema.size(); ++i)
      if (schema[i].name() == argument.name)
        return operand ? bindOperand(i, *operand) : bindOther(i, argument);
    if (argument.name == "seed" && operand) {
      plan.seed = *operand;
      return {};
    }
    if (argument.name == "deterministic")
      return {}; // which PyTorch's kernels ask of the process
    auto *attribute = std::get_if<Attribute>(&argument.value);
    auto *list =
        attribute ? std::get_if<std::vector<int64_t>>(attribute) : nullptr;
    if (argument.name == "orders" && list) {
      orders = *list;
      return {};
    }
    return refuse(node, "the operator has no argument named " + argument.name);
  }

  Status bindOperand(uint32_t i, ValueId operand) {
    auto kind = bindingKind(schema[i], call.inputs[operand]);
    if (!kind)
      return doesNotFit(i, "operand " + call.inputs[operand].str());
    plan.bindings.push_back({*kind, i, {operand}});
    return {};
  }

  Status bindOther(uint32_t i, const Argument &argument) {
    if (auto list = std::get_if<std::vector<ValueId>>(&argument.value))
      return bindList(i, *list);
    const Attribute &attribute = std::get<Attribute>(argument.value);
    // An empty Tensor[] may be written as an empty list of anything.
    auto ints = std::get_if<std::vector<int64_t>>(&attribute);
    if (kindOf(schema[i]) == ArgumentKind::TensorList && ints && ints->empty())
      return bindList(i, {});
    auto value = toIValue(attribute, schema[i]);
    if (!value && kindOf(schema[i]) == ArgumentKind::Tensor)
      value = numberForTensor(attribute);
    if (!value)
      return doesNotFit(i, "attribute");
    plan.arguments[i] = std::move(*value);
    return {};
  }

  Status bindList(uint32_t i, const std::vector<ValueId> &operands) {
    auto kind = listKind(schema[i]);
    if (!kind)
      return doesNotFit(i, "list of operands");
    if (kind == Binding::TensorList && !operands.empty() &&
        call.inputs[operands[0]].isScalar)
      return bindNumbers(i, operands);
    plan.bindings.push_back({*kind, i, operands});
    return {};
  }

  /// The steps that an optimizer has made: one for each parameter, of which
  /// `self` is the list, or one for all.
  Status bindNumbers(uint32_t i, std::vector<ValueId> operands) {
    if (operands.size() == 1)
      operands.resize(plan.bindings.front().operands.size(), operands[0]);
    plan.bindings.push_back({Binding::NumberList, i, std::move(operands)});
    return {};
  }

  /// Hands `orders` out to the tensors, which have one entry a dimension.
  Status order() {
    plan.orders.resize(plan.operands);
    std::span<const int64_t> rest = orders;
    for (const Binding &binding : plan.bindings)
      for (ValueId operand : binding.operands) {
        if (operand == kNoValue || call.inputs[operand].isScalar)
          continue;
        size_t rank = call.inputs[operand].tensor.dims.size();
        if (rank > rest.size())
          return refuse(node, "orders are given for fewer dimensions");
        plan.orders[operand] = {rest.begin(), rest.begin() + rank};
        if (!isPermutation(plan.orders[operand]))
          return refuse(node, "an order in memory names no dimension once");
        rest = rest.subspan(rank);
      }
    if (!rest.empty())
      return refuse(node, "orders are given for more dimensions");
    return {};
  }

  static bool isPermutation(std::vector<int64_t> order) {
    std::ranges::sort(order);
    for (size_t i = 0; i < order.size(); ++i)
      if (order[i] != int64_t(i))
        return false;
    return true;
  }

  /// `zeros` and the like take the process's default type when none is given,
  /// and that may have changed since the call was recorded.
  void chooseFactoryType() {
    if (hasOperands(node) || node.results.empty())
      return;
    for (uint32_t i = 0; i < schema.size(); ++i)
      if (schema[i].name() == "dtype" && plan.arguments[i].isNone())
        plan.arguments[i] = int64_t(toScalarType(node.results[0].dtype));
  }

  Status checkRequired() {
    std::vector<bool> bound(schema.size());
    for (const Binding &binding : plan.bindings)
      bound[binding.argument] = true;
    for (uint32_t i = 0; i < schema.size(); ++i) {
      if (isGenerator(schema[i]))
        plan.generator = i;
      else if (plan.arguments[i].isNone() && !bound[i] &&
               schema[i].real_type()->kind() != TypeKind::OptionalType)
        return refuse(node, "argument " + schema[i].name() + " is missing");
    }
    return {};
  }

  Error doesNotFit(uint32_t i, const std::string &what) {
    return refuse(node, "argument " + schema[i].name() + " of type " +
                            schema[i].real_type()->str() + " cannot take the " +
                            what + " that the graph holds");
  }

  std::vector<int64_t> orders;
  const Graph &call;
  const Node &node;
  CallPlan &plan;
  const std::vector<c10::Argument> &schema;
};

} // namespace

/// Why an operator cannot be a kernel, or nothing.
static std::string objection(const c10::FunctionSchema &schema) {
  if (schema.is_mutable())
    return "the operator changes its arguments";
  for (const c10::Argument &result : schema.returns())
    if (kindOf(result) == ArgumentKind::Tensor ||
        kindOf(result) == ArgumentKind::TensorList)
      return {};
  return "the operator returns no tensor";
}

static bool looksAtStrides(const c10::FunctionSchema &schema) {
  const std::string &name = schema.name();
  if (name.find("as_strided") != name.npos || name.ends_with("_copy"))
    return true;
  for (const c10::Argument &result : schema.returns())
    if (result.alias_info())
      return true;
  return false;
}

/// Of the CPU it is known that there is one.
static Status checkKernel(const CallPlan &plan, const Node &node) {
  if (plan.device.is_cpu() || plan.out ||
      (plan.device.is_cuda() && cudaAttention(plan.name)) ||
      plan.op.hasComputedKernelForDispatchKey(denseKeyOf(plan.device)))
    return {};
  return refuse(node, "the operator has no kernel for the device " +
                          plan.device.str());
}

Result<CallPlan> planCall(const Graph &call, c10::Device device) {
  if (call.nodes.size() != 1) {
    Error error;
    error.message = "a kernel call must be a graph of one node, not of " +
                    std::to_string(call.nodes.size());
    return error;
  }
  const Node &node = call.nodes[0];
  auto op = findOperator(node.op);
  if (!op)
    return refuse(node, "torch has no such operator");
  bool isRandom = node.find("seed") != nullptr;
  if (isRandom)
    op = withGenerator(*op);
  if (std::string why = objection(op->schema()); !why.empty())
    return refuse(node, why);

  CallPlan plan{.op = *op,
                .device = device,
                .out = nativeOut(*op, device),
                .name = node.op};
  plan.needsDense = looksAtStrides(op->schema());
  plan.operands = call.inputs.size();
  plan.results = node.results.size();
  if (Status status = Planner(call, plan).run(); !status)
    return status.takeError();
  if (Status status = checkKernel(plan, node); !status)
    return status.takeError();
  if (auto mask = op->schema().argumentIndexWithName("output_mask"))
    if (plan.arguments[*mask].isBoolList())
      plan.wanted = plan.arguments[*mask].toBoolList().vec();
  if (plan.out && plan.out->schema().returns().size() != plan.results)
    plan.out.reset();
  return plan;
}

} // namespace ltc::backend
