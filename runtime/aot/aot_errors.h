//===- aot_errors.h - Errors of a model's user ------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/error.h"

namespace ltc::aot {

inline Error failed(ErrorCode code, std::string message) {
  return {code, Stage::Execute, std::move(message), "", {}, ""};
}

inline Error invalid(std::string message) {
  return failed(ErrorCode::InvalidArgument, std::move(message));
}

} // namespace ltc::aot
