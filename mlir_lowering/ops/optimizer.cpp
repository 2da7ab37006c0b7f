//===- optimizer.cpp - Steps of optimizers, all parameters in one op ------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One loop for each parameter with its gradient and state. 16-bit floats are
// rounded when they are stored, as in ATen's fused kernels; numbers that all
// elements share are doubles, as they are in Python.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/op_table.h"

namespace ltc::compiler {
namespace {

/// One element of each list that an op updates.
struct Parameter {
  Value value, gradient;
  llvm::SmallVector<Value> state;
};
/// `numbers`: those of numbersOf(), in the dtype of the computation.
using Update = llvm::function_ref<void(Scalar, Parameter &,
                                       llvm::ArrayRef<Value> numbers)>;

/// The lists in front, which the op gives back in this order.
llvm::SmallVector<const Values *> listsOf(const OpCall &op) {
  llvm::SmallVector<const Values *> lists;
  for (const OpCall::Argument &argument : op.arguments)
    if (argument.isList && argument.name != "state_steps")
      lists.push_back(&argument.list);
  return lists;
}

bool isZero(Value x) { return x.isLiteral() && x.asReal() == 0; }

/// A number, or the only element of a tensor.
Value onlyElement(Emit &e, Value x) {
  return x.isTensor() ? e.reshape(x, Dims{}) : x;
}

Value toDouble(Scalar s, Value x) { return s.cast(x, DType::F64); }

/// The elements of one parameter after the step, in the order of the lists; of
/// the gradient none unless the op unscales it.
Values updateElements(Scalar s, const OpCall &op, llvm::ArrayRef<Value> before,
                      llvm::ArrayRef<Value> numbers, Value scale, Value found,
                      DType stored, Update update) {
  DType dtype = computeDType(stored);
  Parameter x{before[0], before[1], {}};
  x.state.append(before.begin() + 2, before.end());
  Values after;
  if (scale)
    x.gradient = s.div(x.gradient, s.cast(scale, dtype));
  Value unscaled = x.gradient;
  if (op.flag("maximize"))
    x.gradient = s.neg(x.gradient);
  Values converted;
  for (Value number : numbers)
    converted.push_back(s.cast(number, dtype));
  update(s, x, converted);
  after.push_back(x.value);
  if (scale)
    after.push_back(unscaled);
  after.append(x.state.begin(), x.state.end());
  for (auto [i, value] : llvm::enumerate(after)) {
    Value old = before[i == 0 || scale ? i : i + 1];
    if (found)
      value = s.select(s.eq(found, 1), old, value);
    value = s.cast(value, stored);
  }
  return after;
}

/// The update of each parameter. Nothing changes where an infinity was found.
Values updateAll(Emit &e, const OpCall &op,
                 llvm::function_ref<Values(size_t)> numbersOf, Update update) {
  auto lists = listsOf(op);
  bool unscales = op.has("grad_scale");
  llvm::SmallVector<Values> updated(lists.size());
  for (size_t i = 0; i < lists[0]->size(); ++i) {
    Values operands = numbersOf(i);
    size_t numbers = operands.size();
    for (const Values *list : lists)
      if (!list->empty())
        operands.push_back((*list)[i]);
    size_t end = operands.size();
    operands.append(
        {onlyElement(e, op["grad_scale"]), onlyElement(e, op["found_inf"])});
    Values results =
        e.mapMany(operands, [&](Scalar s, llvm::ArrayRef<Value> v) -> Values {
          return updateElements(s, op, v.slice(numbers, end - numbers),
                                v.take_front(numbers), v[end], v[end + 1],
                                (*lists[0])[i].dtype(), update);
        });
    if (!unscales)
      results.insert(results.begin() + 1, (*lists[1])[i]);
    size_t next = 0;
    for (auto [list, to] : llvm::zip_equal(lists, updated))
      if (!list->empty())
        to.push_back(results[next++]);
  }
  Values all;
  for (const Values &list : updated)
    llvm::append_range(all, list);
  return all;
}

/// What the number of the step decides: by how much it goes down, and what the
/// root of the second average is divided by; and what decay leaves.
Values adamNumbers(Emit &e, const OpCall &op, Value step) {
  return e.mapMany({onlyElement(e, step), onlyElement(e, op["lr"]), op["beta1"],
                    op["beta2"], op["weight_decay"]},
                   [](Scalar s, llvm::ArrayRef<Value> v) -> Values {
                     Value count = toDouble(s, v[0]), lr = toDouble(s, v[1]);
                     auto correction = [&](Value beta) {
                       return s.sub(1.0, s.pow(toDouble(s, beta), count));
                     };
                     return {s.neg(s.div(lr, correction(v[2]))),
                             s.sqrt(correction(v[3])),
                             s.sub(1.0, s.mul(lr, toDouble(s, v[4])))};
                   });
}

Values adam(Emit &e, const OpCall &op, bool isDecoupled) {
  const Values &steps = op.list("state_steps");
  Values shared = steps.size() == 1 ? adamNumbers(e, op, steps[0]) : Values();
  auto numbersOf = [&](size_t i) {
    return steps.size() == 1 ? shared : adamNumbers(e, op, steps[i]);
  };
  bool decays = !isZero(op["weight_decay"]), keepsMax = op.flag("amsgrad");
  auto update = [&](Scalar s, Parameter &x, llvm::ArrayRef<Value> numbers) {
    DType dtype = x.value.dtype();
    auto number = [&](llvm::StringRef name) { return s.cast(op[name], dtype); };
    auto rest = [&](llvm::StringRef name) {
      return s.cast(s.sub(1.0, toDouble(s, op[name])), dtype);
    };
    Value &average = x.state[0], &square = x.state[1];
    if (decays && isDecoupled)
      x.value = s.mul(x.value, numbers[2]);
    else if (decays)
      x.gradient = s.mulAdd(x.value, number("weight_decay"), x.gradient);
    average = s.lerp(average, x.gradient, rest("beta1"));
    square = s.mulAdd(s.mul(rest("beta2"), x.gradient), x.gradient,
                      s.mul(square, number("beta2")));
    if (keepsMax)
      x.state[2] = s.max(x.state[2], square);
    Value root = s.sqrt(keepsMax ? x.state[2] : square);
    Value divisor = s.add(s.div(root, numbers[1]), number("eps"));
    x.value = s.add(x.value, s.div(s.mul(numbers[0], average), divisor));
  };
  return updateAll(e, op, numbersOf, update);
}

Values sgd(Emit &e, const OpCall &op) {
  bool decays = !isZero(op["weight_decay"]), isFirst = op.flag("is_first_step");
  bool hasMomentum = !isZero(op["momentum"]), looksAhead = op.flag("nesterov");
  Value lr = onlyElement(e, op["lr"]);
  auto numbersOf = [&](size_t) { return Values{lr}; };
  auto update = [&](Scalar s, Parameter &x, llvm::ArrayRef<Value> numbers) {
    DType dtype = x.value.dtype();
    auto number = [&](llvm::StringRef name) { return s.cast(op[name], dtype); };
    if (decays)
      x.gradient = s.mulAdd(x.value, number("weight_decay"), x.gradient);
    Value direction = x.gradient;
    if (hasMomentum) {
      Value &average = x.state[0];
      Value share = s.cast(s.sub(1.0, toDouble(s, op["dampening"])), dtype);
      average = isFirst ? x.gradient
                        : s.mulAdd(x.gradient, share,
                                   s.mul(average, number("momentum")));
      direction = looksAhead ? s.mulAdd(average, number("momentum"), x.gradient)
                             : average;
    }
    x.value = s.mulAdd(direction, s.neg(numbers[0]), x.value);
  };
  return updateAll(e, op, numbersOf, update);
}

} // namespace

void addOptimizerOps(OpTable &t) {
  t.structured({"aten::_fused_adam", "aten::_fused_adam.tensor_lr"},
               [](Emit &e, const OpCall &op) { return adam(e, op, false); })
      .anySize();
  t.structured({"aten::_fused_adamw", "aten::_fused_adamw.tensor_lr"},
               [](Emit &e, const OpCall &op) { return adam(e, op, true); })
      .anySize();
  t.structured({"aten::_fused_sgd", "aten::_fused_sgd.tensor_lr"}, sgd)
      .anySize();
}

} // namespace ltc::compiler
