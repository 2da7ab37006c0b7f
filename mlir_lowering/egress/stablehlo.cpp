//===- stablehlo.cpp - Graphs as StableHLO ----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/egress/stablehlo.h"

using namespace mlir;

namespace ltc::compiler {

Attribute StableHlo::own(const Twine &text) {
  return OpaqueAttr::get(b.getStringAttr("stablehlo"), text.str(),
                         b.getNoneType());
}

/// "[0, 1]"
static std::string listed(Extents dims) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << '[';
  llvm::interleaveComma(dims, stream);
  stream << ']';
  return text;
}

static SmallVector<int64_t> upTo(int64_t begin, int64_t end) {
  return llvm::to_vector(llvm::seq(begin, end));
}

/// Pairs of what is before and after each dimension.
static Attribute paddingAttr(OpBuilder &b, Extents low, Extents high) {
  SmallVector<int64_t> pairs;
  for (auto [before, after] : llvm::zip_equal(low, high))
    pairs.append({before, after});
  auto type = RankedTensorType::get({int64_t(low.size()), 2}, b.getI64Type());
  return DenseIntElementsAttr::get(type, pairs);
}

Type StableHlo::outerElement(Type element, DType dtype) {
  if (dtype == DType::Bool)
    return b.getI1Type();
  bool isUnsigned = dtype == DType::U8 || dtype == DType::U16 ||
                    dtype == DType::U32 || dtype == DType::U64;
  return isUnsigned ? unsignedOf(element) : element;
}
Value StableHlo::enter(Value outer, Type element) {
  return elementOf(outer).isInteger(1) ? convert(outer, element)
                                       : bitcast(outer, element);
}
Value StableHlo::leave(Value inner, Type outer) {
  return outer.isInteger(1) ? truth(inner) : bitcast(inner, outer);
}

Value StableHlo::constant(DenseElementsAttr value) {
  return one("stablehlo.constant", value.getType(), {},
             attribute("value", value));
}
Value StableHlo::iota(Extents shape, int64_t dim, Type element) {
  return one("stablehlo.iota", RankedTensorType::get(shape, element), {},
             attribute("iota_dimension", b.getI64IntegerAttr(dim)));
}
Value StableHlo::convert(Value x, Type element) {
  if (elementOf(x) == element)
    return x;
  return one("stablehlo.convert", like(x, element), x);
}
Value StableHlo::bitcast(Value x, Type element) {
  if (elementOf(x) == element)
    return x;
  return one("stablehlo.bitcast_convert", like(x, element), x);
}
Value StableHlo::select(Value holds, Value x, Value y) {
  return one("stablehlo.select", x.getType(), {holds, x, y});
}
Value StableHlo::reshape(Value x, Extents shape) {
  if (shapeOf(x) == shape)
    return x;
  return one("stablehlo.reshape", RankedTensorType::get(shape, elementOf(x)),
             x);
}
Value StableHlo::transpose(Value x, Extents order) {
  SmallVector<int64_t> shape;
  for (int64_t dim : order)
    shape.push_back(shapeOf(x)[dim]);
  return one("stablehlo.transpose", RankedTensorType::get(shape, elementOf(x)),
             x, extents("permutation", order));
}
Value StableHlo::broadcast(Value x, Extents dims, Extents shape) {
  if (shapeOf(x) == shape)
    return x;
  Operation *def = x.getDefiningOp();
  if (def && shapeOf(x).empty() &&
      def->getName().getStringRef() == "stablehlo.constant")
    return constant(
        cast<DenseElementsAttr>(def->getAttr("value"))
            .resizeSplat(RankedTensorType::get(shape, elementOf(x))));
  return one("stablehlo.broadcast_in_dim",
             RankedTensorType::get(shape, elementOf(x)), x,
             extents("broadcast_dimensions", dims));
}
Value StableHlo::slice(Value x, Extents starts, Extents sizes,
                       Extents strides) {
  SmallVector<int64_t> limits;
  for (auto [start, size, stride] : llvm::zip_equal(starts, sizes, strides))
    limits.push_back(size ? start + (size - 1) * stride + 1 : start);
  return one("stablehlo.slice", RankedTensorType::get(sizes, elementOf(x)), x,
             {extents("start_indices", starts),
              extents("limit_indices", limits), extents("strides", strides)});
}
Value StableHlo::concat(ValueRange parts, int64_t dim) {
  if (parts.size() == 1)
    return parts[0];
  SmallVector<int64_t> shape(shapeOf(parts[0]));
  for (Value part : parts.drop_front())
    shape[dim] += shapeOf(part)[dim];
  return one("stablehlo.concatenate",
             RankedTensorType::get(shape, elementOf(parts[0])), parts,
             attribute("dimension", b.getI64IntegerAttr(dim)));
}
Value StableHlo::pad(Value x, Extents low, Extents high, Extents interior,
                     Value value) {
  SmallVector<int64_t> shape(shapeOf(x));
  for (auto [d, size] : llvm::enumerate(shape))
    size += low[d] + high[d] + std::max<int64_t>(0, size - 1) * interior[d];
  return one(
      "stablehlo.pad", RankedTensorType::get(shape, elementOf(x)), {x, value},
      {extents("edge_padding_low", low), extents("edge_padding_high", high),
       extents("interior_padding", interior)});
}
Value StableHlo::reverse(Value x, Extents dims) {
  return one("stablehlo.reverse", x.getType(), x, extents("dimensions", dims));
}

void StableHlo::fillRegion(
    Operation *op, TypeRange elements,
    llvm::function_ref<Tensors(ValueRange left, ValueRange right)> body,
    bool pairs) {
  OpBuilder::InsertionGuard guard(b);
  Block &block = op->getRegion(0).emplaceBlock();
  size_t count = elements.size();
  for (size_t i = 0; i < 2 * count; ++i)
    block.addArgument(
        RankedTensorType::get({}, elements[pairs ? i / 2 : i % count]), loc());
  Tensors left, right;
  for (size_t i = 0; i < count; ++i) {
    left.push_back(block.getArgument(pairs ? 2 * i : i));
    right.push_back(block.getArgument(pairs ? 2 * i + 1 : count + i));
  }
  b.setInsertionPointToEnd(&block);
  make("stablehlo.return", {}, body(left, right));
}

static SmallVector<Type> elementsOf(ValueRange tensors) {
  return llvm::map_to_vector(tensors, [](Value x) { return elementOf(x); });
}

Tensors StableHlo::reduce(const Reduction &reduction) {
  SmallVector<int64_t> kept;
  for (auto [dim, size] : llvm::enumerate(shapeOf(reduction.elements[0])))
    if (!llvm::is_contained(reduction.dims, int64_t(dim)))
      kept.push_back(size);
  SmallVector<Type> types;
  for (Value x : reduction.elements)
    types.push_back(RankedTensorType::get(kept, elementOf(x)));
  Tensors operands = reduction.elements;
  llvm::append_range(operands, reduction.inits);
  Operation *op = make("stablehlo.reduce", types, operands,
                       extents("dimensions", reduction.dims), 1);
  fillRegion(op, elementsOf(reduction.elements), reduction.fold);
  return resultsOf(op);
}

Value StableHlo::scan(Value x, int64_t dim, StringRef fold, Value init) {
  Extents shape = shapeOf(x);
  SmallVector<int64_t> window(shape.size(), 1), ones(window),
      low(window.size()), high(window.size());
  window[dim] = shape[dim];
  low[dim] = std::max<int64_t>(0, shape[dim] - 1);
  Operation *op = make(
      "stablehlo.reduce_window", x.getType(), {x, init},
      {extents("window_dimensions", window), extents("window_strides", ones),
       extents("base_dilations", ones), extents("window_dilations", ones),
       attribute("padding", paddingAttr(b, low, high))},
      1);
  fillRegion(op, elementOf(x), [&](ValueRange left, ValueRange right) {
    return Tensors{arithmetic(fold, {left[0], right[0]})};
  });
  return op->getResult(0);
}

Tensors StableHlo::sort(ValueRange xs, int64_t dim, bool descends) {
  Operation *op = make("stablehlo.sort", xs.getTypes(), xs,
                       {attribute("dimension", b.getI64IntegerAttr(dim)),
                        attribute("is_stable", b.getBoolAttr(true))},
                       1);
  auto body = [&](ValueRange left, ValueRange right) -> Tensors {
    Value x = left[0], y = right[0];
    Value before = compare(descends ? "GT" : "LT", x, y);
    if (!isa<FloatType>(elementOf(x)))
      return {before};
    // Of a NaN and a number the number is less.
    Value xNan = compare("NE", x, x), yNan = compare("NE", y, y);
    Value number = descends ? yNan : xNan, nan = descends ? xNan : yNan;
    Value isNumber = compare("EQ", number, zeros({}, b.getI1Type()));
    Value only = one("stablehlo.and", nan.getType(), {nan, isNumber});
    return {one("stablehlo.or", before.getType(), {before, only})};
  };
  fillRegion(op, elementsOf(xs), body, /*pairs=*/true);
  return resultsOf(op);
}

Value StableHlo::matmul(Value x, Value y, Type element) {
  Extents left = shapeOf(x), right = shapeOf(y);
  int64_t rank = left.size(), batches = std::max<int64_t>(0, rank - 2);
  int64_t summed = right.size() == 1 ? 0 : right.size() - 2;
  SmallVector<int64_t> shape(left.drop_back());
  if (right.size() > 1)
    shape.push_back(right.back());
  std::string batch = listed(upTo(0, batches));
  auto dims = own("dot<lhs_batching_dimensions = " + batch +
                  ", rhs_batching_dimensions = " + batch +
                  ", lhs_contracting_dimensions = " + listed(rank - 1) +
                  ", rhs_contracting_dimensions = " + listed(summed) + ">");
  return one("stablehlo.dot_general", RankedTensorType::get(shape, element),
             {x, y}, attribute("dot_dimension_numbers", dims));
}

Value StableHlo::convolve(const Convolution &c) {
  Extents lhs = shapeOf(c.lhs), rhs = shapeOf(c.rhs);
  size_t rank = c.strides.size();
  SmallVector<int64_t> shape = {lhs[0] / c.batchGroups, rhs[0]};
  std::string places;
  for (size_t d = 0; d < rank; ++d) {
    int64_t size = (lhs[d + 2] - 1) * c.lhsDilation[d] + 1 + c.low[d] +
                   c.high[d] - (rhs[d + 2] - 1) * c.rhsDilation[d] - 1;
    shape.push_back(size / c.strides[d] + 1);
    places += ", " + std::to_string(d);
  }
  auto dims = own("conv<[b, f" + places + "]x[o, i" + places + "]->[b, f" +
                  places + "]>");
  return one(
      "stablehlo.convolution", RankedTensorType::get(shape, elementOf(c.lhs)),
      {c.lhs, c.rhs},
      {extents("window_strides", c.strides),
       attribute("padding", paddingAttr(b, c.low, c.high)),
       extents("lhs_dilation", c.lhsDilation),
       extents("rhs_dilation", c.rhsDilation),
       attribute("dimension_numbers", dims),
       attribute("feature_group_count", b.getI64IntegerAttr(c.groups)),
       attribute("batch_group_count", b.getI64IntegerAttr(c.batchGroups))});
}

Value StableHlo::gather(Value x, Extents dims, ValueRange positions) {
  SmallVector<int64_t> shape(shapeOf(positions[0])), sizes(shapeOf(x));
  int64_t rank = shape.size();
  SmallVector<int64_t> column(shape);
  column.push_back(1);
  Tensors columns;
  for (Value position : positions)
    columns.push_back(reshape(position, column));
  Value indices = concat(columns, rank);
  SmallVector<int64_t> collapsed(dims);
  llvm::sort(collapsed);
  for (auto [dim, size] : llvm::enumerate(shapeOf(x)))
    if (llvm::is_contained(dims, int64_t(dim)))
      sizes[dim] = 1;
    else
      shape.push_back(size);
  auto numbers =
      own("gather<offset_dims = " + listed(upTo(rank, shape.size())) +
          ", collapsed_slice_dims = " + listed(collapsed) +
          ", start_index_map = " + listed(dims) +
          ", index_vector_dim = " + Twine(rank) + ">");
  return one("stablehlo.gather", RankedTensorType::get(shape, elementOf(x)),
             {x, indices},
             {attribute("dimension_numbers", numbers),
              extents("slice_sizes", sizes),
              attribute("indices_are_sorted", b.getBoolAttr(false))});
}

Value StableHlo::scatterRows(Value into, Value positions, Value rows,
                             bool adds) {
  auto numbers = own(
      "scatter<update_window_dims = " + listed(upTo(1, shapeOf(rows).size())) +
      ", inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
      "index_vector_dim = 1>");
  Operation *op =
      make("stablehlo.scatter", into.getType(), {into, positions, rows},
           {attribute("scatter_dimension_numbers", numbers),
            attribute("indices_are_sorted", b.getBoolAttr(false)),
            attribute("unique_indices", b.getBoolAttr(false))},
           1);
  fillRegion(op, elementOf(into), [&](ValueRange held, ValueRange given) {
    if (!adds)
      return Tensors{given[0]};
    return Tensors{
        one("stablehlo.add", held[0].getType(), {held[0], given[0]})};
  });
  return op->getResult(0);
}

std::unique_ptr<TensorDialect> makeStableHlo(OpBuilder &b) {
  return std::make_unique<StableHlo>(b);
}

} // namespace ltc::compiler
