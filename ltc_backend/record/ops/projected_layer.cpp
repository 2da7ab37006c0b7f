//===- ops/projected_layer.cpp - Layers of one state ----------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/projected_layer.h"

#include "ltc_backend/record/ops/autocast.h"
#include "ltc_backend/record/ops/host_layer.h"

#include <ATen/ATen.h>

namespace ltc::backend {
using at::Tensor;

std::optional<std::tuple<Tensor, Tensor>>
ProjectedLayer::run(const Layers &layers, const Tensor &input, const Tensor &hx,
                    at::TensorList parameters) const {
  bool isByOps = Layers::areUnderTransform(input, {hx}, parameters);
  // Under autocast only eager's products have fewer digits.
  if (!input.device().is_lazy() || isAutocastEnabled() ||
      !(isByOps || hasKernels()) ||
      !layers.fit(input, {hx}, parameters, gates, !isByOps)) {
    auto made = runOnHost(layers, module, input, {hx}, parameters);
    if (!made)
      return std::nullopt;
    return std::tuple{std::get<0>(*made), std::get<1>(*made)};
  }
  Recurrence recurrence = isByOps ? byOps : byKernels;
  std::vector<Tensor> last;
  Tensor x =
      layers.run(layers.timesFirst(input),
                 [&](const Tensor &from, int64_t number, bool reverse) {
                   at::TensorList own = layers.parametersOf(parameters, number);
                   std::optional<Tensor> ofInput, ofState;
                   if (layers.hasBiases) {
                     ofInput = own[2];
                     ofState = own[3];
                   }
                   Tensor output =
                       recurrence(at::linear(from, own[0], ofInput), hx[number],
                                  own[1], ofState, layers.sizes, reverse);
                   last.push_back(layers.sizes.last(output, reverse));
                   return output;
                 });
  return std::tuple{layers.asAsked(x), at::stack(last)};
}

} // namespace ltc::backend
