//===- ops/fake_quantize.h - Observers that fake-quantize -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

namespace ltc::backend {

/// fused_moving_avg_obs_fake_quant(), whose kernel makes the ranges of channels
/// as long as there are channels when it is first called, which functional ops
/// cannot: here they are that long before it.
void registerFakeQuantize();

} // namespace ltc::backend
