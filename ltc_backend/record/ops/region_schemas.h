//===- ops/region_schemas.h - Ops that run graphs of their own --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

namespace ltc::backend {

/// Defines ltc::cond and ltc::while_loop (ltc/region_ops.h), which
/// record/ops/region_call.h records.
void registerControlFlow();

} // namespace ltc::backend
