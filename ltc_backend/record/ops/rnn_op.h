//===- ops/rnn_op.h - RNNs as one call a layer ------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

namespace ltc::backend {

/// Defines ltc::rnn_layer and its gradient, and records float32 RNNs, of tanh
/// and of relu, by them.
void registerRnn();

} // namespace ltc::backend
