//===- lent.h - What a front end lends the library --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/cpu_kernels.h"

namespace ltc::kernels {

/// As install() got it; before that all is null.
const Lent &lent();

} // namespace ltc::kernels
