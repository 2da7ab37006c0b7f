//===- index_copy.cpp - index_copy() by plain loops -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a loop that generates fills its cache by. ATen's kernel checks more.
//
//===----------------------------------------------------------------------===//
#include "rows.h"

#include <cstring>

namespace ltc::kernels {
namespace {

class IndexCopy final : public OwnKernel {
public:
  explicit IndexCopy(const Arguments &of)
      : self(of.tensor("self")), index(of.tensor("index")),
        source(of.tensor("source")), dim(of.integer("dim")) {}

  bool run(Views, Views) override { return false; }

  /// Not of tensors that are not dense. The result may be written over self.
  Result<bool> runPlainly(Views operands, Views results) override {
    TensorView from = self.in(operands), places = index.in(operands),
               rows = source.in(operands);
    const TensorView &to = results[0];
    if (to.rank == 0 || places.dtype != DType::I64 || rows.dtype != to.dtype ||
        rows.rank != to.rank || !from.isDense() || !places.isDense() ||
        !rows.isDense() || !to.isDense())
      return false;
    auto along = size_t(dim < 0 ? dim + to.rank : dim);
    int64_t size = to.size(int64_t(along)), count = places.elements();
    for (int64_t i = 0; i < count; ++i)
      if (int64_t place = places.as<int64_t>()[i]; place < 0 || place >= size)
        return outOfRange(place, size);
    int64_t outer = elementsOf(to.shape().first(along));
    size_t bytes =
        size_t(elementsOf(to.shape().subspan(along + 1))) * byteSize(to.dtype);
    if (from.data != to.data && to.elements())
      std::memcpy(to.data, from.data,
                  size_t(to.elements()) * byteSize(to.dtype));
    for (int64_t o = 0; bytes && o < outer; ++o)
      for (int64_t i = 0; i < count; ++i)
        std::memcpy(to.as<char>() +
                        size_t(o * size + places.as<int64_t>()[i]) * bytes,
                    rows.as<char>() + size_t(o * count + i) * bytes, bytes);
    return true;
  }

private:
  static Error outOfRange(int64_t place, int64_t size) {
    return {ErrorCode::OutOfRange,
            Stage::Execute,
            "index " + std::to_string(place) +
                " is out of range for dimension of size " +
                std::to_string(size),
            "aten::index_copy",
            {},
            ""};
  }

  const Operand self, index, source;
  const int64_t dim;
};

} // namespace

std::unique_ptr<OwnKernel> bindIndexCopy(const Graph &call) {
  return bindAs<IndexCopy>(call);
}

} // namespace ltc::kernels
