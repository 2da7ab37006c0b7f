//===- record/predicates.h - Answers from metadata alone --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <torch/library.h>

namespace ltc::backend {

/// Adds them to a library of the Lazy dispatch key.
void registerPredicates(torch::Library &library);

} // namespace ltc::backend
