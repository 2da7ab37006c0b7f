//===- rows.cpp - The library's kernels, one row each ---------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "rows.h"

#include <algorithm>

namespace ltc::kernels {

const Row *findRow(std::string_view op) {
  constexpr bool alone = true;
  static constexpr Row rows[] = {
      {"aten::mm", bindMm},
      {"aten::bmm", bindMm},
      {"aten::addmm", bindAddmm},
      {"aten::baddbmm", bindAddmm},
      {"aten::convolution", bindConvolution},
      {"aten::convolution_backward", bindConvolutionBackward},
      {"aten::_scaled_dot_product_flash_attention_for_cpu", bindAttention},
      {"aten::_scaled_dot_product_flash_attention_for_cpu_backward",
       bindAttentionBackward},
      {"aten::cat", bindConcatenation},
      {"aten::cumsum", bindRunningSums},
      {"aten::index_copy", bindIndexCopy},
      {"aten::index_put", bindIndexPut},
      {"aten::uniform", bindUniform},
      {"aten::rand", bindUniform},
      {"aten::rand_like", bindUniform},
      {"aten::normal_functional", bindNormal},
      {"aten::randn", bindNormal},
      {"aten::randn_like", bindNormal},
      {"aten::exponential", bindExponential},
      {"aten::bernoulli", bindBernoulli},
      {"aten::bernoulli.p", bindBernoulli},
      {"aten::native_dropout", bindDropout},
      {"ltc::lstm_layer", bindLayer, alone},
      {"ltc::lstm_layer_backward", bindLayer, alone},
      {"ltc::lstm_layer_weights", bindLayer, alone},
      {"ltc::lstm_layer_input", bindLayer, alone},
      {"ltc::gru_layer", bindLayer, alone},
      {"ltc::gru_layer_backward", bindLayer, alone},
      {"ltc::rnn_layer", bindLayer, alone},
      {"ltc::rnn_layer_backward", bindLayer, alone},
  };
  const Row *found = std::ranges::find(rows, op, &Row::name);
  return found != std::end(rows) ? found : nullptr;
}

} // namespace ltc::kernels
