//===- index_put.cpp - index_put() by plain loops ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The indices are broadcast to one shape, whose dimensions stand where the
// first index does, or in front where other dimensions come between indices.
//
//===----------------------------------------------------------------------===//
#include "rows.h"

#include <algorithm>
#include <cstring>

namespace ltc::kernels {
namespace {

/// A dimension of the values, as the result has them.
struct Dim {
  int64_t size;
  int64_t to, from, place; ///< steps: in result, values and list of places
};

/// The steps of a tensor that is broadcast to more dimensions.
int64_t stepOf(const TensorView &tensor, int64_t fromLast) {
  if (fromLast > tensor.rank || tensor.size(-fromLast) == 1)
    return 0;
  return tensor.stride(-fromLast);
}

class IndexPut final : public OwnKernel {
public:
  explicit IndexPut(const Arguments &of)
      : self(of.tensor("self")), values(of.tensor("values")),
        indices(of.tensors("indices")), accumulates(of.flag("accumulate")) {}

  bool run(Views, Views) override { return false; }

  /// Not of masks, and of results that are not dense. The result may be written
  /// over self.
  Result<bool> runPlainly(Views operands, Views results) override {
    TensorView old = self.in(operands), from = values.in(operands);
    const TensorView &to = results[0];
    given.clear();
    for (const Operand &operand : indices)
      given.push_back(operand.in(operands));
    auto fits = [](const TensorView &index) {
      return !index.isDefined() || index.dtype == DType::I64;
    };
    if (!to.isDense() || !old.isDense() || from.dtype != to.dtype ||
        given.size() > to.rank || !std::ranges::all_of(given, fits))
      return false;
    findShape();
    if (Status status = findPlaces(to); !status)
      return status.takeError();
    findDims(to, from);
    if (old.data != to.data && to.elements())
      std::memcpy(to.data, old.data, to.elements() * byteSize(to.dtype));
    return putAll(to, from);
  }

private:
  void findShape() {
    size_t rank = 0;
    for (const TensorView &index : given)
      rank = std::max<size_t>(rank, index.rank);
    shape.assign(rank, 1);
    for (const TensorView &index : given)
      for (uint32_t d = 1; d <= index.rank; ++d)
        if (index.size(-int64_t(d)) != 1)
          shape[rank - d] = index.size(-int64_t(d));
  }

  /// Where in the result each index is, the other dimensions not counted.
  Status findPlaces(const TensorView &to) {
    places.assign(size_t(elementsOf(shape)), 0);
    for (size_t dim = 0; dim < given.size(); ++dim) {
      const TensorView &index = given[dim];
      if (!index.isDefined())
        continue;
      const int64_t size = to.size(int64_t(dim));
      std::vector<int64_t> at(shape.size());
      for (int64_t &place : places) {
        int64_t offset = 0;
        for (size_t d = 0; d < shape.size(); ++d)
          offset += at[d] * stepOf(index, int64_t(shape.size() - d));
        int64_t wanted = index.as<int64_t>()[offset];
        if (wanted < -size || wanted >= size)
          return outOfRange(wanted, int64_t(dim), size);
        place +=
            (wanted < 0 ? wanted + size : wanted) * to.stride(int64_t(dim));
        for (size_t d = shape.size(); d-- > 0; at[d] = 0)
          if (++at[d] < shape[d])
            break;
      }
    }
    return {};
  }

  void findDims(const TensorView &to, const TensorView &from) {
    auto isGiven = [&](size_t dim) {
      return dim < given.size() && given[dim].isDefined();
    };
    size_t first = 0, end = to.rank;
    while (first < to.rank && !isGiven(first))
      ++first;
    while (end > first && !isGiven(end - 1))
      --end;
    bool isOneRun = true;
    for (size_t dim = first; dim < end; ++dim)
      isOneRun &= isGiven(dim);
    dims.clear();
    auto addOthers = [&](size_t begin, size_t last) {
      for (size_t dim = begin; dim < last; ++dim)
        if (!isGiven(dim))
          dims.push_back(
              {to.size(int64_t(dim)), to.stride(int64_t(dim)), 0, 0});
    };
    addOthers(0, isOneRun ? first : 0);
    int64_t step = elementsOf(shape);
    for (int64_t size : shape) {
      step = size ? step / size : 0;
      dims.push_back({size, 0, 0, step});
    }
    addOthers(isOneRun ? first : 0, to.rank);
    for (size_t d = 0; d < dims.size(); ++d)
      dims[d].from = stepOf(from, int64_t(dims.size() - d));
  }

  bool putAll(const TensorView &to, const TensorView &from) const {
    switch (accumulates ? to.dtype : DType::Bool) {
    case DType::F32:
      add<float>(0, to.as<float>(), from.as<float>(), 0);
      return true;
    case DType::F64:
      add<double>(0, to.as<double>(), from.as<double>(), 0);
      return true;
    case DType::I64:
      add<int64_t>(0, to.as<int64_t>(), from.as<int64_t>(), 0);
      return true;
    default:
      if (accumulates)
        return false;
      copy(0, to.as<char>(), from.as<char>(), 0, int64_t(byteSize(to.dtype)));
      return true;
    }
  }

  template <typename T>
  void add(size_t dim, T *to, const T *from, int64_t place) const {
    if (dim == dims.size()) {
      to[places[size_t(place)]] += *from;
      return;
    }
    const Dim &d = dims[dim];
    for (int64_t i = 0; i < d.size; ++i)
      add(dim + 1, to + i * d.to, from + i * d.from, place + i * d.place);
  }

  void copy(size_t dim, char *to, const char *from, int64_t place,
            int64_t bytes) const {
    if (dim == dims.size()) {
      std::memcpy(to + places[size_t(place)] * bytes, from, size_t(bytes));
      return;
    }
    const Dim &d = dims[dim];
    if (dim + 1 == dims.size() && d.to == 1 && d.from == 1) {
      std::memcpy(to + places[size_t(place)] * bytes, from,
                  size_t(d.size * bytes));
      return;
    }
    for (int64_t i = 0; i < d.size; ++i)
      copy(dim + 1, to + i * d.to * bytes, from + i * d.from * bytes,
           place + i * d.place, bytes);
  }

  static Error outOfRange(int64_t index, int64_t dim, int64_t size) {
    return {ErrorCode::OutOfRange,
            Stage::Execute,
            "index " + std::to_string(index) +
                " is out of bounds for dimension " + std::to_string(dim) +
                " with size " + std::to_string(size),
            "aten::index_put",
            {},
            ""};
  }

  const Operand self, values;
  const std::vector<Operand> indices; ///< of the first dimensions; some absent
  const bool accumulates;
  // Of a run; kept for their memory.
  std::vector<TensorView> given;
  std::vector<int64_t> shape;  ///< of the indices together
  std::vector<int64_t> places; ///< by element of it
  std::vector<Dim> dims;
};

} // namespace

std::unique_ptr<OwnKernel> bindIndexPut(const Graph &call) {
  return bindAs<IndexPut>(call);
}

} // namespace ltc::kernels
