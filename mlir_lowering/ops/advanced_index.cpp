//===- advanced_index.cpp - Indices as NumPy has them -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/ops/advanced_index.h"

namespace ltc::compiler {

AdvancedIndex::AdvancedIndex(const OpCall &op) : indices(op.list("indices")) {
  for (auto [dim, index] : llvm::enumerate(indices)) {
    if (!index)
      continue;
    if (count++ == 0)
      first = int64_t(dim);
    last = int64_t(dim);
    rank = std::max(rank, index.rank());
  }
  begin = last - first + 1 == count ? first : 0;
}

static bool haveOneShape(const Values &indices) {
  for (Value a : indices)
    for (Value b : indices)
      for (int64_t i = 1; a && b && i <= std::min(a.rank(), b.rank()); ++i) {
        int64_t x = a.size(a.rank() - i), y = b.size(b.rank() - i);
        if ((isSymbolic(x) || isSymbolic(y)) && x != y && x != 1 && y != 1)
          return false;
      }
  return true;
}

bool AdvancedIndex::accepts(const OpCall &op) {
  bool any = false;
  for (Value index : op.list("indices")) {
    if (index && (index.dtype() == DType::Bool || index.dtype() == DType::U8))
      return false;
    any |= bool(index);
  }
  return any && haveOneShape(op.list("indices"));
}

static Value read(Scalar s, Value index, llvm::ArrayRef<Value> shared) {
  Values at(shared.take_back(index.rank()));
  for (auto [dim, position] : llvm::enumerate(at))
    if (index.size(dim) == 1)
      position = Value(0);
  return s.load(index, at);
}

Values AdvancedIndex::position(Scalar s, Value x,
                               llvm::ArrayRef<Value> at) const {
  llvm::ArrayRef<Value> shared = at.slice(begin, rank);
  Values rest(at.take_front(begin));
  llvm::append_range(rest, at.drop_front(begin + rank));
  Values from;
  size_t next = 0;
  for (int64_t dim = 0; dim < x.rank(); ++dim) {
    Value index = dim < int64_t(indices.size()) ? indices[dim] : Value();
    if (index)
      from.push_back(s.checkIndex(read(s, index, shared), s.size(x, dim),
                                  /*wrap=*/true));
    else
      from.push_back(rest[next++]);
  }
  return from;
}

Shape AdvancedIndex::shape(Emit &e, Value x) const {
  Values present;
  llvm::copy_if(indices, std::back_inserter(present),
                [](Value index) { return bool(index); });
  Shape shared = e.broadcastShape(present), shape;
  for (int64_t dim = 0; dim < x.rank(); ++dim)
    if (dim >= int64_t(indices.size()) || !indices[dim])
      shape.push_back(x.size(dim));
  shape.insert(shape.begin() + begin, shared.begin(), shared.end());
  return shape;
}

} // namespace ltc::compiler
