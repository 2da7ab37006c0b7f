//===- ops/attention_op.h - The route through attention ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

namespace ltc::backend {

/// Lets attention take the route that eager CPU takes for the same shapes.
void registerAttention();

} // namespace ltc::backend
