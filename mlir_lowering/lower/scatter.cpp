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
#include "mlir_lowering/ops/extreme.h"

#include "llvm/ADT/StringSwitch.h"

namespace ltc::compiler {
namespace {

/// How an op combines what it writes with what is there.
struct Manner {
  llvm::StringRef combine; ///< as in scatter_rows.h
  bool isMean = false;
  bool includesSelf = true;
  bool isOneValue = false;  ///< for all rows
  DType dtype = DType::F32; ///< in which it does
};

/// Rows of that length, one for each position.
struct Scatter {
  Value self, positions, source;
  int64_t length;
};

/// Ways of which the memory does some at once.
bool isAtomic(const OpCall &op, llvm::StringRef combine, bool isOneValue,
              DType dtype) {
  bool isInteger = dtype == DType::I32 || dtype == DType::I64;
  bool isReal = dtype == DType::F32 || dtype == DType::F64;
  if (combine == "set") // one after the other, unless all are alike
    return isOneValue && (isInteger || isReal);
  if (combine == "add") // the order of sums is left to chance
    return isInteger || (isReal && !op.flag("deterministic"));
  return isInteger && (combine == "max" || combine == "min");
}

/// As the dtype has it: sums of bools are whether any is true.
llvm::StringRef combineFor(DType dtype, llvm::StringRef combine) {
  bool isLarger = combine == "add" || combine == "max";
  if (dtype == DType::Bool && combine != "set")
    return isLarger ? "or" : "and";
  bool orders = combine == "max" || combine == "min";
  if (isUnsigned(dtype) && orders)
    return combine == "max" ? "umax" : "umin";
  return combine;
}

/// Sums of 16-bit floats are added up in f32 where any order will do, and where
/// eager does so too.
DType dtypeFor(const OpCall &op, llvm::StringRef combine) {
  DType dtype = op.result().dtype;
  bool isShort = computeDType(dtype) != dtype;
  bool isScatter = baseName(op.op).starts_with("scatter");
  bool isWide = combine == "add" && !op.flag("deterministic");
  return isShort && combine != "set" && (isScatter || isWide) ? DType::F32
                                                              : dtype;
}

/// Nothing for what has no such way.
std::optional<Manner> mannerOf(const OpCall &op) {
  llvm::StringRef name = baseName(op.op);
  Manner manner{.combine = "set"};
  if (op.has("reduce")) {
    llvm::StringRef reduce = op.text("reduce");
    manner.isMean = reduce == "mean";
    manner.combine = llvm::StringSwitch<llvm::StringRef>(reduce)
                         .Cases({"sum", "add", "mean"}, "add")
                         .Cases({"prod", "multiply"}, "mul")
                         .Case("amax", "max")
                         .Case("amin", "min")
                         .Default("");
  } else if (op.flag("accumulate") || name.ends_with("_add") ||
             name == "embedding_dense_backward") {
    manner.combine = "add";
  }
  manner.includesSelf = op.flag("include_self", true);
  manner.isOneValue = op.has("value");
  manner.dtype = dtypeFor(op, manner.combine);
  if (manner.combine.empty() ||
      (manner.isMean && op.result().dtype == DType::Bool))
    return std::nullopt;
  return manner;
}

/// In order, each block looks at all positions: 2^25 looks take milliseconds.
/// Sizes that vary may grow.
bool isWorthwhile(Emit &e, const OpCall &op, const Manner &manner,
                  Dims positions) {
  SizeTable &table = sizeTable(e.builder().getContext());
  int64_t mostLooks = int64_t(1) << (op.hasSymbolicSize() ? 22 : 25);
  int64_t rows = table.hint(e.product(positions));
  int64_t elements = table.hint(e.product(op.result().sizes));
  int64_t blocks = llvm::divideCeil(elements, orderedTile(elements));
  bool isUnordered =
      isAtomic(op, manner.combine, manner.isOneValue, manner.dtype) &&
      (manner.includesSelf || isAtomic(op, "set", true, manner.dtype));
  return rows > 0 && elements > 0 &&
         (isUnordered || rows <= mostLooks / blocks);
}

/// Where an element lies in a tensor of these sizes that is laid out flat.
Value flatPosition(Scalar s, Dims sizes, llvm::ArrayRef<Value> at) {
  Value sum = s.number(0, DType::I64);
  for (auto [size, index] : llvm::zip_equal(sizes, at))
    sum = s.add(s.mul(sum, s.size(size)), s.cast(index, DType::I64));
  return sum;
}

/// One value that is written everywhere, of that dtype.
Value oneElement(Emit &e, Value value, DType dtype) {
  return value.isTensor() ? e.reshape(e.cast(value, dtype), {1})
                          : e.full({1}, dtype, value);
}

std::optional<Scatter> alongDim(Emit &e, const OpCall &op,
                                const Manner &manner) {
  Value self = op["self"], index = op["index"], source = op["source"];
  if (self.rank() == 0 || index.rank() > 1 ||
      (source && (source.rank() != self.rank() || source.isEmpty())))
    return std::nullopt;
  Shape sizes = e.shape(self);
  int64_t dim = op.dim("dim"), size = sizes[dim];
  int64_t outer = e.product(Dims(sizes).take_front(dim));
  int64_t length = e.product(Dims(sizes).drop_front(dim + 1));
  int64_t count = e.product(e.shape(index));
  Value alpha = op["alpha"];
  bool isScaled = alpha && !(alpha.isLiteral() && alpha.asReal() == 1);
  if (!isWorthwhile(e, op, manner, {outer, count}) ||
      (isScaled && op.result().dtype == DType::Bool))
    return std::nullopt;
  bool wraps = baseName(op.op) == "index_fill";
  Value positions = e.generate({outer, count}, [&](Scalar s,
                                                   llvm::ArrayRef<Value> at) {
    Values where;
    if (index.rank())
      where.push_back(at[1]);
    Value row = s.checkIndex(s.load(index, where), s.size(size), wraps);
    return s.mul(flatPosition(s, {outer, size}, {at[0], row}), s.size(length));
  });
  if (!source)
    source = oneElement(e, op["value"], op.result().dtype);
  else if (isScaled)
    source = e.mul(source, alpha);
  return Scatter{self, positions, source, length};
}

std::optional<Scatter> elements(Emit &e, const OpCall &op,
                                const Manner &manner) {
  Value self = op["self"], index = op["index"], source = op["src"];
  if (self.rank() == 0 || index.rank() != self.rank() ||
      (source && source.rank() != self.rank()) ||
      !isWorthwhile(e, op, manner, e.shape(index)))
    return std::nullopt;
  Shape sizes = e.shape(self), shape = e.shape(index);
  int64_t dim = op.dim("dim");
  Value positions = e.generate(shape, [&](Scalar s, llvm::ArrayRef<Value> at) {
    Values to(at);
    to[dim] = s.checkIndex(s.load(index, at), s.size(sizes[dim]));
    return flatPosition(s, sizes, to);
  });
  if (!source)
    source = oneElement(e, op["value"], op.result().dtype);
  else if (e.shape(source) != shape)
    source = e.generate(shape, [&](Scalar s, llvm::ArrayRef<Value> at) {
      return s.load(source, at);
    });
  return Scatter{self, positions, source, 1};
}

std::optional<Scatter> indexPut(Emit &e, const OpCall &op,
                                const Manner &manner) {
  Value self = op["self"], values = op["values"];
  if (!AdvancedIndex::accepts(op))
    return std::nullopt;
  AdvancedIndex index(op);
  Shape sizes = e.shape(self), shape = index.shape(e, self);
  int64_t inner = index.inner(self);
  Dims rows = Dims(shape).drop_back(inner);
  if (!isWorthwhile(e, op, manner, rows) || values.isEmpty())
    return std::nullopt;
  Value positions =
      e.generate(Shape(rows), [&](Scalar s, llvm::ArrayRef<Value> at) {
        Values first(at);
        first.append(size_t(inner), s.number(0, DType::I64));
        return flatPosition(s, sizes, index.position(s, self, first));
      });
  return Scatter{self, positions, e.expand(values, shape),
                 e.product(Dims(sizes).take_back(size_t(inner)))};
}

/// As the library's, it does not fail: an index that is out of range has failed
/// in the forward pass.
std::optional<Scatter> embeddingBackward(Emit &e, const OpCall &op,
                                         const Manner &manner) {
  Value error = op["grad_output"], indices = op["indices"];
  ResultType result = op.result();
  int64_t padding = op.integer("padding_idx", -1);
  if (op.flag("scale_grad_by_freq") ||
      !isWorthwhile(e, op, manner, e.shape(indices)))
    return std::nullopt;
  Value positions = e.map(indices, [&](Scalar s, Value id) {
    id = s.cast(id, DType::I64);
    Value isRow = s.logicalAnd(s.ge(id, 0), s.lt(id, s.size(result.sizes[0])));
    isRow = s.logicalAnd(isRow, s.ne(id, padding));
    return s.select(isRow, s.mul(id, s.size(result.sizes[1])),
                    s.number(-1, DType::I64));
  });
  return Scatter{e.full(result.sizes, manner.dtype, 0), positions, error,
                 result.sizes[1]};
}

struct ScatterOp {
  llvm::StringRef op;
  std::optional<Scatter> (*lower)(Emit &e, const OpCall &op,
                                  const Manner &manner);
};

constexpr ScatterOp kOps[] = {
    {"aten::_unsafe_index_put", indexPut},
    {"aten::embedding_dense_backward", embeddingBackward},
    {"aten::index_add", alongDim},
    {"aten::index_copy", alongDim},
    {"aten::index_fill.int_Scalar", alongDim},
    {"aten::index_fill.int_Tensor", alongDim},
    {"aten::index_put", indexPut},
    {"aten::index_reduce", alongDim},
    {"aten::scatter.reduce", elements},
    {"aten::scatter.src", elements},
    {"aten::scatter.value", elements},
    {"aten::scatter.value_reduce", elements},
    {"aten::scatter_add", elements},
    {"aten::scatter_reduce.two", elements},
};

/// Makes the calls, on tensors laid out flat.
struct Writer {
  Emit &e;
  const OpCall &op;
  Value positions;
  int64_t length;
  DType dtype;

  Value write(Value into, Value source, llvm::StringRef combine,
              bool isOneValue) {
    mlir::ImplicitLocOpBuilder &b = e.builder();
    auto operand = OperandAttr::get(b.getContext());
    bool isOrdered = !isAtomic(op, combine, isOneValue, dtype);
    auto call = CallOp::create(
        b, into.ir().getType(), b.getStringAttr(kScatterRows),
        b.getStrArrayAttr(
            {"positions", "source", "length", "combine", "ordered"}),
        b.getArrayAttr({operand, operand, sizeAttr(b, length),
                        b.getStringAttr(combineFor(dtype, combine)),
                        b.getBoolAttr(isOrdered)}),
        b.getDenseI8ArrayAttr({int8_t(DType::I64), int8_t(dtype)}),
        b.getDenseI8ArrayAttr({int8_t(dtype)}), /*node=*/mlir::IntegerAttr(),
        /*permutations=*/mlir::ArrayAttr(),
        mlir::ValueRange({positions.ir(), source.ir()}), into.ir());
    return {call->getResult(0), dtype};
  }

  /// What a row is combined with first that leaves it as it is.
  Value neutral(llvm::StringRef combine) {
    if (combine == "max" || combine == "min")
      return extreme(dtype, /*least=*/combine == "max");
    return combine == "mul" ? 1 : 0;
  }

  /// Sums over how many they are of, where there are any. Both are rounded to
  /// the result's dtype, as eager's are.
  Value mean(Value sums, bool includesSelf) {
    Value counts = e.full(e.shape(sums), dtype, int64_t(includesSelf));
    counts = write(counts, e.full({1}, dtype, 1), "add", true);
    ResultType to = op.result();
    return e.map(
        e.rounded(sums, to), e.rounded(counts, to),
        [&](Scalar s, Value sum, Value count) {
          count = s.select(s.eq(count, 0), s.number(1, count.dtype()), count);
          return isFloat(dtype) ? s.div(sum, count) : s.divFloor(sum, count);
        });
  }
};

} // namespace

Value lowerScatter(Emit &e, const OpCall &op) {
  const ScatterOp *row = llvm::find_if(
      kOps, [&](const ScatterOp &row) { return row.op == op.op; });
  if (row == std::end(kOps) || op.hasSymbolicArgument() ||
      !hasArithmetic(op.result().dtype))
    return {};
  std::optional<Manner> manner = mannerOf(op);
  std::optional<Scatter> scatter =
      manner ? row->lower(e, op, *manner) : std::nullopt;
  if (!scatter)
    return {};
  DType dtype = manner->dtype;
  Writer writer{e, op, e.flatten(scatter->positions), scatter->length, dtype};
  Value result = e.cast(e.flatten(scatter->self), dtype);
  if (!manner->includesSelf) {
    Value neutral = e.full({1}, dtype, writer.neutral(manner->combine));
    result = writer.write(result, neutral, "set", true);
  }
  result = writer.write(result, e.cast(e.flatten(scatter->source), dtype),
                        manner->combine, manner->isOneValue);
  if (manner->isMean)
    result = writer.mean(result, manner->includesSelf);
  ResultType to = op.result();
  return e.reshape(e.narrow(result, to), to);
}

} // namespace ltc::compiler
