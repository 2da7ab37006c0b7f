//===- tosa.cpp - Graphs as TOSA --------------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/egress/tosa.h"

#include "llvm/ADT/StringSwitch.h"

#include <limits>

using namespace mlir;

namespace ltc::compiler {

using Ints = SmallVector<int64_t>;

static int64_t productOf(Extents sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= size;
  return product;
}

Value Tosa::shape(Extents sizes) {
  auto type = RankedTensorType::get({int64_t(sizes.size())}, b.getIndexType());
  auto shaped = OpaqueType::get(b.getStringAttr("tosa"),
                                ("shape<" + Twine(sizes.size()) + ">").str());
  return one("tosa.const_shape", shaped, {},
             attribute("values", DenseIntElementsAttr::get(type, sizes)));
}

Value Tosa::constant(DenseElementsAttr value) {
  if (llvm::is_contained(value.getType().getShape(), 0))
    return refuse("TOSA has no tensors without elements", value.getType());
  return one("tosa.const", value.getType(), {}, attribute("values", value));
}

Value Tosa::iota(Extents shape, int64_t dim, Type element) {
  SmallVector<Attribute> counts;
  for (int64_t i = 0; i < shape[dim]; ++i)
    counts.push_back(b.getIntegerAttr(element, i));
  auto type = RankedTensorType::get({shape[dim]}, element);
  return broadcast(constant(DenseElementsAttr::get(type, counts)), {dim},
                   shape);
}

Value Tosa::convert(Value x, Type element) {
  if (elementOf(x) == element)
    return x;
  return one("tosa.cast", like(x, element), x);
}

Value Tosa::reshape(Value x, Extents sizes) {
  if (shapeOf(x) == sizes)
    return x;
  Operation *def = x.getDefiningOp();
  if (def && def->getName().getStringRef() == "tosa.const")
    if (auto splatted = dyn_cast<DenseElementsAttr>(def->getAttr("values"));
        splatted && splatted.isSplat())
      return constant(
          splatted.resizeSplat(RankedTensorType::get(sizes, elementOf(x))));
  return one("tosa.reshape", RankedTensorType::get(sizes, elementOf(x)),
             {x, shape(sizes)});
}

Value Tosa::transpose(Value x, Extents order) {
  Ints sizes;
  SmallVector<int32_t> permutation;
  for (int64_t dim : order) {
    sizes.push_back(shapeOf(x)[dim]);
    permutation.push_back(int32_t(dim));
  }
  return one("tosa.transpose", RankedTensorType::get(sizes, elementOf(x)), x,
             attribute("perms", b.getDenseI32ArrayAttr(permutation)));
}

Value Tosa::align(Value x, Extents dims, Extents sizes) {
  Ints aligned(sizes.size(), 1);
  for (auto [i, dim] : llvm::enumerate(dims))
    aligned[dim] = shapeOf(x)[i];
  return reshape(x, aligned);
}

Value Tosa::broadcast(Value x, Extents dims, Extents sizes) {
  Value aligned = align(x, dims, sizes);
  if (shapeOf(aligned) == sizes)
    return aligned;
  Operation *def = aligned.getDefiningOp();
  if (def && def->getName().getStringRef() == "tosa.const" &&
      productOf(shapeOf(aligned)) == 1)
    return constant(
        cast<DenseElementsAttr>(def->getAttr("values"))
            .resizeSplat(RankedTensorType::get(sizes, elementOf(x))));
  Ints times;
  for (auto [from, to] : llvm::zip_equal(shapeOf(aligned), sizes))
    times.push_back(from == to ? 1 : to);
  return one("tosa.tile", RankedTensorType::get(sizes, elementOf(x)),
             {aligned, shape(times)});
}

Value Tosa::plainSlice(Value x, Extents starts, Extents sizes) {
  if (shapeOf(x) == sizes)
    return x;
  return one("tosa.slice", RankedTensorType::get(sizes, elementOf(x)),
             {x, shape(starts), shape(sizes)});
}

/// With a step, the first of each group of as many.
Value Tosa::slice(Value x, Extents starts, Extents sizes, Extents strides) {
  Ints reach(sizes), none(sizes.size(), 0), high(none);
  for (size_t d = 0; d < sizes.size(); ++d) {
    reach[d] = (sizes[d] - 1) * strides[d] + 1;
    high[d] = sizes[d] * strides[d] - reach[d];
  }
  x = plainPad(plainSlice(x, starts, reach), none, high,
               zeros({}, elementOf(x)));
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (strides[d] == 1)
      continue;
    Ints groups(shapeOf(x)), first, joined(groups);
    groups[d] = sizes[d];
    groups.insert(groups.begin() + d + 1, strides[d]);
    first = groups;
    first[d + 1] = 1;
    joined[d] = sizes[d];
    x = reshape(plainSlice(reshape(x, groups), Ints(groups.size(), 0), first),
                joined);
  }
  return x;
}

Value Tosa::concat(ValueRange parts, int64_t dim) {
  Tensors full;
  for (Value part : parts)
    if (shapeOf(part)[dim] != 0)
      full.push_back(part);
  if (full.size() == 1)
    return full[0];
  Ints sizes(shapeOf(full[0]));
  for (Value part : ArrayRef(full).drop_front())
    sizes[dim] += shapeOf(part)[dim];
  return one("tosa.concat", RankedTensorType::get(sizes, elementOf(full[0])),
             full, attribute("axis", b.getI32IntegerAttr(int32_t(dim))));
}

/// What is negative cuts.
Value Tosa::plainPad(Value x, Extents low, Extents high, Value value) {
  Ints starts, kept, pairs, sizes;
  bool pads = false;
  for (auto [d, size] : llvm::enumerate(shapeOf(x))) {
    int64_t before = std::max<int64_t>(0, low[d]);
    int64_t after = std::max<int64_t>(0, high[d]);
    starts.push_back(before - low[d]);
    kept.push_back(size - (before - low[d]) - (after - high[d]));
    pairs.append({before, after});
    sizes.push_back(kept.back() + before + after);
    pads |= before + after > 0;
  }
  x = plainSlice(x, starts, kept);
  if (!pads)
    return x;
  return one("tosa.pad", RankedTensorType::get(sizes, elementOf(x)),
             {x, shape(pairs), reshape(value, {1})});
}

Value Tosa::pad(Value x, Extents low, Extents high, Extents interior,
                Value value) {
  for (size_t d = 0; d < interior.size(); ++d) {
    if (interior[d] == 0)
      continue;
    Ints groups(shapeOf(x)), none, after, joined(groups);
    groups.insert(groups.begin() + d + 1, 1);
    none.assign(groups.size(), 0);
    after = none;
    after[d + 1] = interior[d];
    joined[d] *= interior[d] + 1;
    x = reshape(plainPad(reshape(x, groups), none, after, value), joined);
    Ints end(joined.size(), 0);
    end[d] = -interior[d];
    x = plainPad(x, Ints(joined.size(), 0), end, value);
  }
  return plainPad(x, low, high, value);
}

Value Tosa::reverse(Value x, Extents dims) {
  for (int64_t dim : dims)
    if (shapeOf(x)[dim] != 1)
      x = one("tosa.reverse", x.getType(), x,
              attribute("axis", b.getI32IntegerAttr(int32_t(dim))));
  return x;
}

/// Whether a fold from this start is the fold alone.
static bool isNeutral(Value start, StringRef op) {
  Operation *def = start.getDefiningOp();
  auto values = def ? def->getAttrOfType<DenseElementsAttr>("values") : nullptr;
  if (!values || !values.isSplat())
    return false;
  if (isa<FloatType>(values.getElementType())) {
    auto number = values.getSplatValue<APFloat>();
    return llvm::StringSwitch<bool>(op)
        .Case("arith.addf", number.isZero())
        .Case("arith.mulf", number.isExactlyValue(1))
        .Case("arith.maximumf", number.isInfinity() && number.isNegative())
        .Case("arith.minimumf", number.isInfinity() && !number.isNegative())
        .Default(false);
  }
  auto number = values.getSplatValue<APInt>();
  return llvm::StringSwitch<bool>(op)
      .Cases({"arith.addi", "arith.ori", "arith.maxui"}, number.isZero())
      .Case("arith.muli", number.isOne())
      .Cases({"arith.andi", "arith.minui"}, number.isAllOnes())
      .Case("arith.maxsi", number.isMinSignedValue())
      .Case("arith.minsi", number.isMaxSignedValue())
      .Default(false);
}

Value Tosa::fold(StringRef name, Value x, Extents dims) {
  for (int64_t dim : dims) {
    Ints sizes(shapeOf(x));
    if (sizes[dim] == 1)
      continue;
    sizes[dim] = 1;
    x = one(name, RankedTensorType::get(sizes, elementOf(x)), x,
            attribute("axis", b.getI32IntegerAttr(int32_t(dim))));
  }
  return x;
}

static StringRef reductionBy(StringRef op, bool ofTruths) {
  return llvm::StringSwitch<StringRef>(op)
      .Cases({"arith.addf", "arith.addi"}, "tosa.reduce_sum")
      .Cases({"arith.mulf", "arith.muli"}, "tosa.reduce_product")
      .Cases({"arith.maximumf", "arith.maxsi"}, "tosa.reduce_max")
      .Cases({"arith.minimumf", "arith.minsi"}, "tosa.reduce_min")
      .Cases({"arith.ori", "arith.maxui"}, ofTruths ? "tosa.reduce_any" : "")
      .Cases({"arith.andi", "arith.minui"}, ofTruths ? "tosa.reduce_all" : "")
      .Default("");
}

/// The extreme value, and the least index of those that are it.
Tensors Tosa::choose(const Reduction &r, Extents kept) {
  Value x = r.elements[0], places = r.elements[1];
  Value best = fold(
      r.ops[0] == "greater" ? "tosa.reduce_max" : "tosa.reduce_min", x, r.dims);
  Value isBest = equal(x, best);
  if (isa<FloatType>(elementOf(x))) // a NaN is the extreme, and not itself
    isBest = elementwise("tosa.logical_or", {isBest, negation(equal(x, x))},
                         b.getI1Type());
  Value beyond = number(double(std::numeric_limits<int32_t>::max()), places);
  Value at = fold("tosa.reduce_min", select(isBest, places, beyond), r.dims);
  return {reshape(best, kept), reshape(at, kept)};
}

Tensors Tosa::reduce(const Reduction &reduction) {
  Ints kept;
  for (auto [dim, size] : llvm::enumerate(shapeOf(reduction.elements[0])))
    if (!llvm::is_contained(reduction.dims, int64_t(dim)))
      kept.push_back(size);
  SmallVector<Type> types;
  for (Value x : reduction.elements)
    types.push_back(RankedTensorType::get(kept, elementOf(x)));
  StringRef first = reduction.ops[0];
  if (reduction.ops.size() == 2 && (first == "greater" || first == "less"))
    return choose(reduction, kept);
  Tensors results;
  for (auto [element, op] :
       llvm::zip_equal(reduction.elements, reduction.ops)) {
    StringRef name = reductionBy(op, elementOf(element).isInteger(1));
    if (name.empty())
      return refuse("TOSA has no reduction by " +
                        (op.empty() ? Twine("a choice") : Twine(op)),
                    types);
    results.push_back(reshape(fold(name, element, reduction.dims), kept));
  }
  auto isPlain = [](auto pair) {
    return isNeutral(std::get<0>(pair), std::get<1>(pair));
  };
  if (llvm::all_of(llvm::zip_equal(reduction.inits, reduction.ops), isPlain))
    return results;
  Tensors inits;
  for (auto [init, result] : llvm::zip_equal(reduction.inits, results))
    inits.push_back(align(init, {}, shapeOf(result)));
  return reduction.fold(inits, results);
}

Value Tosa::matmul(Value x, Value y, Type element) {
  Extents left = shapeOf(x), right = shapeOf(y);
  if (!isa<FloatType>(element))
    return refuse("TOSA multiplies matrices of floats", like(x, element));
  int64_t summed = left.back();
  Ints result(left.drop_back());
  if (right.size() > 1)
    result.push_back(right.back());
  int64_t batch = left.size() == 3 ? left[0] : 1;
  int64_t rows = left.size() == 1 ? 1 : left[left.size() - 2];
  int64_t columns = right.size() == 1 ? 1 : right.back();
  Value zero = zeros({1}, elementOf(x));
  Value product =
      one("tosa.matmul", RankedTensorType::get({batch, rows, columns}, element),
          {reshape(x, {batch, rows, summed}),
           reshape(y, {batch, summed, columns}), zero, zero});
  return reshape(product, result);
}

Value Tosa::gather(Value x, Extents dims, ValueRange positions) {
  Ints order(dims), result(shapeOf(positions[0])), rest;
  int64_t places = 1;
  for (int64_t dim : dims)
    places *= shapeOf(x)[dim];
  for (auto [dim, size] : llvm::enumerate(shapeOf(x)))
    if (!llvm::is_contained(dims, int64_t(dim))) {
      order.push_back(int64_t(dim));
      rest.push_back(size);
    }
  Type i32 = b.getI32Type();
  Value linear;
  int64_t step = 1;
  for (auto [dim, position] : llvm::reverse(llvm::zip_equal(dims, positions))) {
    Value at = flatten(convert(position, i32));
    Value by = splat(b.getI32IntegerAttr(int32_t(step)), shapeOf(at));
    at = step == 1 ? at : product(at, by);
    linear = linear ? elementwise("tosa.add", {linear, at}, i32) : at;
    step *= shapeOf(x)[dim];
  }
  int64_t count = shapeOf(linear)[0], width = productOf(rest);
  Value rows = reshape(permuted(x, order), {1, places, width});
  Value read =
      one("tosa.gather", RankedTensorType::get({1, count, width}, elementOf(x)),
          {rows, reshape(linear, {1, count})});
  llvm::append_range(result, rest);
  return reshape(read, result);
}

/// Rows are added as a product with a matrix of zeros and ones.
Value Tosa::scatterRows(Value into, Value positions, Value rows, bool adds) {
  constexpr int64_t kMost = 1 << 24; // elements of that matrix
  int64_t places = shapeOf(into)[0], count = shapeOf(rows)[0];
  int64_t width = productOf(shapeOf(into).drop_front());
  Type i32 = b.getI32Type(), element = elementOf(into);
  Value at = convert(positions, i32);
  if (!adds) {
    auto type = RankedTensorType::get({1, places, width}, element);
    Value put = one("tosa.scatter", type,
                    {reshape(into, {1, places, width}), reshape(at, {1, count}),
                     reshape(rows, {1, count, width})});
    return reshape(put, shapeOf(into));
  }
  if (!isa<FloatType>(element) || places * count > kMost)
    return refuse(
        "TOSA adds at computed positions only by a product, of floats "
        "and few positions",
        into.getType());
  Value hits = equal(iota({places, 1}, 0, i32), reshape(at, {1, count}));
  Value ones = convert(convert(hits, b.getI8Type()), element);
  Value sums = matmul(ones, reshape(rows, {count, width}), element);
  return elementwise("tosa.add", {into, reshape(sums, shapeOf(into))}, element);
}

Tensors Tosa::sort(ValueRange xs, int64_t, bool) {
  return refuse("TOSA does not sort", xs.getTypes());
}
Value Tosa::scan(Value x, int64_t, StringRef, Value) {
  return refuse("TOSA has no running sums", x.getType());
}

std::unique_ptr<TensorDialect> makeTosa(OpBuilder &b) {
  return std::make_unique<Tosa>(b);
}

} // namespace ltc::compiler
