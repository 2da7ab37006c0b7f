//===- tensors/node.cpp - Values of tensors -------------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/tensors/node.h"

#include "ltc_backend/convert.h"

#include <torch/csrc/lazy/core/internal_ops/ltc_ops.h>

namespace ltc::backend {

ResultType makeResultType(at::ScalarType dtype, at::IntArrayRef sizes) {
  ResultType result;
  result.shape = torch::lazy::Shape(dtype, sizes);
  // Only operands and results of recorded ops get here: their types convert.
  result.type = {toDType(dtype).value_or(DType::U8), sizes.vec()};
  Hasher hasher;
  hasher.add(uint64_t(dtype)).add(sizes.size());
  for (int64_t size : sizes)
    hasher.add(uint64_t(size));
  result.hash = hasher.finish().low;
  return result;
}

torch::lazy::hash_t LtcNode::hash() const {
  // The executor keys graphs by GraphHasher; this one only serves printers.
  return torch::lazy::hash_t(reinterpret_cast<uintptr_t>(this));
}

DataNode::DataNode(std::shared_ptr<DeviceData> data)
    : LtcNode(*torch::lazy::ltc_device_data, 1, /*isData=*/true),
      data(std::move(data)),
      type(makeResultType(this->data->shape().scalar_type(),
                          this->data->shape().sizes())) {}

} // namespace ltc::backend
