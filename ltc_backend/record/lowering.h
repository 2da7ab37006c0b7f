//===- record/lowering.h - Lowerings that a program brings ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/op_info.h"

namespace ltc::backend {

/// Gives the text of an MLIR function for one call. Asked once for each set of
/// attributes and operand types.
using LoweringText = std::function<std::string(
    const OpInfo &info, c10::ArrayRef<c10::IValue> arguments)>;

/// From now on, calls of the op are recorded with that text, if they are
/// recorded at all (ops/custom_lowering.h). Any thread.
void setLowering(const OpInfo &info, LoweringText text);

/// The text for a call; nullopt for an op that has no lowering of its own.
std::optional<std::string> loweringText(const OpInfo &info,
                                        c10::ArrayRef<c10::IValue> arguments);

} // namespace ltc::backend
