//===- scatter.cpp - Writes at computed positions ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All are rows put or added to a tensor that is laid out flat. Where each of
// them begins is computed, and checked, before anything is written.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/lower/scatter.h"

#include "mlir_lowering/dialect/scatter_rows.h"
#include "mlir_lowering/ops/advanced_index.h"

#include "llvm/ADT/StringSwitch.h"

namespace ltc::compiler {
namespace {

struct Scatter {
  Value self, positions, source;
  llvm::StringRef combine;
};

int64_t numbersIn(Dims sizes) {
  int64_t all = 1;
  for (int64_t size : sizes)
    all *= size;
  return all;
}

/// What a GPU adds in memory at once: the order of sums is left to chance.
bool isAtomic(const OpCall &op, llvm::StringRef combine) {
  DType dtype = op.result().dtype;
  bool isInteger = dtype == DType::I32 || dtype == DType::I64;
  bool isReal = dtype == DType::F32 || dtype == DType::F64;
  return combine == "add" &&
         (isInteger || (isReal && !op.flag("deterministic")));
}

/// In order, each block looks at all positions: 2^25 looks take milliseconds.
bool isWorthwhile(const OpCall &op, llvm::StringRef combine, int64_t rows) {
  constexpr int64_t mostLooks = int64_t(1) << 25;
  int64_t elements = numbersIn(op.result().sizes);
  int64_t blocks = llvm::divideCeil(elements, orderedTile(elements));
  return rows > 0 && elements > 0 &&
         (isAtomic(op, combine) || rows * blocks <= mostLooks);
}

/// Where an element lies in a tensor of these sizes that is laid out flat.
Value flatPosition(Scalar s, Dims sizes, llvm::ArrayRef<Value> at) {
  Value sum = s.number(0, DType::I64);
  for (auto [size, index] : llvm::zip_equal(sizes, at))
    sum = s.add(s.mul(sum, s.number(size, DType::I64)),
                s.cast(index, DType::I64));
  return sum;
}

/// Nothing for a mean, which needs to know how many it is of.
llvm::StringRef combineOf(llvm::StringRef reduce) {
  return llvm::StringSwitch<llvm::StringRef>(reduce)
      .Case("sum", "add")
      .Case("add", "add")
      .Case("prod", "mul")
      .Case("multiply", "mul")
      .Case("amax", "max")
      .Case("amin", "min")
      .Default("");
}

std::optional<Scatter> alongDim(Emit &e, const OpCall &op) {
  Value self = op["self"], index = op["index"], source = op["source"];
  bool adds = op.op == "aten::index_add";
  llvm::StringRef combine = adds ? "add" : "set";
  if (self.rank() == 0 || source.rank() != self.rank() || index.rank() > 1)
    return std::nullopt;
  Shape sizes = e.shape(self);
  int64_t dim = op.dim("dim"), size = sizes[dim];
  int64_t outer = numbersIn(Dims(sizes).take_front(dim));
  int64_t length = numbersIn(Dims(sizes).drop_front(dim + 1));
  int64_t count = numbersIn(e.shape(index));
  Value alpha = op["alpha"];
  bool isScaled = adds && alpha && !(alpha.isLiteral() && alpha.asReal() == 1);
  if (!isWorthwhile(op, combine, outer * count) || source.isEmpty() ||
      (isScaled && op.result().dtype == DType::Bool))
    return std::nullopt;
  Value positions =
      e.generate({outer, count}, [&](Scalar s, llvm::ArrayRef<Value> at) {
        Values where;
        if (index.rank())
          where.push_back(at[1]);
        Value row = s.checkIndex(s.load(index, where), size);
        return s.mul(flatPosition(s, {outer, size}, {at[0], row}),
                     s.number(length, DType::I64));
      });
  if (isScaled)
    source = e.mul(source, alpha);
  return Scatter{self, positions, source, combine};
}

std::optional<Scatter> elements(Emit &e, const OpCall &op) {
  Value self = op["self"], index = op["index"], source = op["src"];
  llvm::StringRef combine = "set";
  if (op.op == "aten::scatter_add")
    combine = "add";
  else if (op.has("reduce"))
    combine = combineOf(op.text("reduce"));
  if (combine.empty() || self.rank() == 0 || index.rank() != self.rank() ||
      (source && source.rank() != self.rank()) ||
      !op.flag("include_self", true) ||
      !isWorthwhile(op, combine, numbersIn(e.shape(index))))
    return std::nullopt;
  Shape sizes = e.shape(self), shape = e.shape(index);
  int64_t dim = op.dim("dim");
  Value positions = e.generate(shape, [&](Scalar s, llvm::ArrayRef<Value> at) {
    Values to(at);
    to[dim] = s.checkIndex(s.load(index, at), sizes[dim]);
    return flatPosition(s, sizes, to);
  });
  if (!source)
    source = e.full(shape, op.result().dtype, op["value"]);
  else if (e.shape(source) != shape)
    source = e.generate(shape, [&](Scalar s, llvm::ArrayRef<Value> at) {
      return s.load(source, at);
    });
  return Scatter{self, positions, source, combine};
}

std::optional<Scatter> indexPut(Emit &e, const OpCall &op) {
  Value self = op["self"], values = op["values"];
  llvm::StringRef combine = op.flag("accumulate") ? "add" : "set";
  if (!AdvancedIndex::accepts(op))
    return std::nullopt;
  AdvancedIndex index(op);
  Shape sizes = e.shape(self), shape = index.shape(e, self);
  int64_t inner = index.inner(self);
  Dims rows = Dims(shape).drop_back(inner);
  if (!isWorthwhile(op, combine, numbersIn(rows)) || values.isEmpty())
    return std::nullopt;
  Value positions =
      e.generate(Shape(rows), [&](Scalar s, llvm::ArrayRef<Value> at) {
        Values first(at);
        first.append(size_t(inner), s.number(0, DType::I64));
        return flatPosition(s, sizes, index.position(s, self, first));
      });
  return Scatter{self, positions, e.expand(values, shape), combine};
}

/// As the library's, it does not fail: an index that is out of range has failed
/// in the forward pass.
std::optional<Scatter> embeddingBackward(Emit &e, const OpCall &op) {
  Value error = op["grad_output"], indices = op["indices"];
  ResultType result = op.result();
  int64_t length = result.sizes[1], padding = op.integer("padding_idx", -1);
  if (op.flag("scale_grad_by_freq") ||
      !isWorthwhile(op, "add", numbersIn(e.shape(indices))))
    return std::nullopt;
  Value positions = e.map(indices, [&](Scalar s, Value id) {
    id = s.cast(id, DType::I64);
    Value isRow = s.logicalAnd(s.ge(id, 0), s.lt(id, result.sizes[0]));
    isRow = s.logicalAnd(isRow, s.ne(id, padding));
    return s.select(isRow, s.mul(id, s.number(length, DType::I64)),
                    s.number(-1, DType::I64));
  });
  return Scatter{e.full(result.sizes, result.dtype, 0), positions, error,
                 "add"};
}

struct ScatterOp {
  llvm::StringRef op;
  std::optional<Scatter> (*lower)(Emit &e, const OpCall &op);
};

constexpr ScatterOp kOps[] = {
    {"aten::_unsafe_index_put", indexPut},
    {"aten::embedding_dense_backward", embeddingBackward},
    {"aten::index_add", alongDim},
    {"aten::index_copy", alongDim},
    {"aten::index_put", indexPut},
    {"aten::scatter.reduce", elements},
    {"aten::scatter.src", elements},
    {"aten::scatter.value", elements},
    {"aten::scatter.value_reduce", elements},
    {"aten::scatter_add", elements},
    {"aten::scatter_reduce.two", elements},
};

} // namespace

/// As the dtype has it: sums of bools are whether any is true.
static llvm::StringRef combineFor(DType dtype, llvm::StringRef combine) {
  bool isLarger = combine == "add" || combine == "max";
  if (dtype == DType::Bool && combine != "set")
    return isLarger ? "or" : "and";
  bool orders = combine == "max" || combine == "min";
  if (isUnsigned(dtype) && orders)
    return combine == "max" ? "umax" : "umin";
  return combine;
}

Value lowerScatter(Emit &e, const OpCall &op) {
  const ScatterOp *row = llvm::find_if(
      kOps, [&](const ScatterOp &row) { return row.op == op.op; });
  if (row == std::end(kOps) || op.hasSymbolicSize() ||
      op.hasSymbolicArgument() || !hasArithmetic(op.result().dtype))
    return {};
  std::optional<Scatter> scatter = row->lower(e, op);
  if (!scatter)
    return {};
  ResultType to = op.result();
  Value self = e.flatten(scatter->self);
  Value positions = e.flatten(scatter->positions);
  Value source = e.flatten(e.narrow(scatter->source, to));
  mlir::ImplicitLocOpBuilder &b = e.builder();
  auto dtype = int8_t(to.dtype);
  auto operand = OperandAttr::get(b.getContext());
  bool isOrdered = !isAtomic(op, scatter->combine);
  auto call = CallOp::create(
      b, self.ir().getType(), b.getStringAttr(kScatterRows),
      b.getStrArrayAttr({"positions", "source", "combine", "ordered"}),
      b.getArrayAttr({operand, operand,
                      b.getStringAttr(combineFor(to.dtype, scatter->combine)),
                      b.getBoolAttr(isOrdered)}),
      b.getDenseI8ArrayAttr({int8_t(DType::I64), dtype}),
      b.getDenseI8ArrayAttr({dtype}), /*node=*/mlir::IntegerAttr(),
      /*permutations=*/mlir::ArrayAttr(),
      mlir::ValueRange({positions.ir(), source.ir()}), self.ir());
  return e.reshape({call->getResult(0), to.dtype}, to);
}

} // namespace ltc::compiler
