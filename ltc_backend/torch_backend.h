//===- torch_backend.h - The backend that torch::lazy asks ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/error.h"

namespace ltc::backend {

/// Gives torch::lazy the backend and its executor. Call once. Fails if another
/// backend is there already.
Status registerBackend();

} // namespace ltc::backend
