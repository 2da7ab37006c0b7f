//===- built/graph_origins.cpp - Where a graph's values come from ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/built/graph_origins.h"

#include "ltc_backend/lazy_device.h"
#include "ltc_backend/raise.h"

#include <ATen/ops/empty.h>

namespace ltc::backend {

static at::Tensor download(int64_t device, const DeviceData &data) {
  at::Tensor copy =
      at::empty(data.shape().sizes().vec(), data.shape().scalar_type());
  raiseIfFailed(
      engine(device).download(data.buffer(), copy.mutable_data_ptr()));
  return copy;
}

GraphOrigins::GraphOrigins(const BuiltGraph &built) : graph(*built.graph) {
  using Source = BuiltGraph::Source;
  auto originOf = [&](const Source &source, const ValueType *type) {
    Origin origin;
    origin.index = source.input;
    if (source.kind == Source::Constant) {
      origin.kind = Origin::Constant;
      origin.constant = download(built.device, *source.constant);
    } else if (source.kind == Source::Seed) {
      origin.kind = Origin::Seed;
    } else if (source.kind == Source::Scalar) {
      bool isReal = type->tensor.dtype == DType::F64;
      origin.kind = isReal ? Origin::Real : Origin::Integer;
      if (isReal)
        origin.real = source.scalar.real;
      else
        origin.integer = source.scalar.integer;
    }
    return origin;
  };
  auto outputOf = [&](const BuiltGraph::Output &output) {
    if (!output.result)
      return originOf(output.source, nullptr);
    Origin origin;
    origin.kind = Origin::Result;
    origin.index = *output.result;
    return origin;
  };
  for (size_t i = 0; i < built.sources.size(); ++i)
    inputs.push_back(originOf(built.sources[i], &graph.inputs[i]));
  for (const BuiltGraph::Output &output : built.outputs)
    outputs.push_back(outputOf(output));
  for (const BuiltGraph::Write &write : built.writes)
    writes.emplace_back(write.input, outputOf(write.value));
}

} // namespace ltc::backend
