//===- tensor_cores.h - Products of matrices of a warp ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <cstdint>
#include <functional>

namespace ltc::emulator {

/// What a lane of a warp gives to the others: four words of the left factor and
/// two of the right one, each of two numbers; or an address in the first.
using Given = std::array<uint64_t, 6>;
using Lanes = std::function<const Given &(uint32_t lane)>;

/// The word that a lane gets of a matrix of 8 rows of 16 bytes, at the
/// addresses that 8 lanes from `first` on have given.
uint32_t matrixWord(const Lanes &lanes, uint32_t first, uint32_t lane,
                    bool transposed);

/// Adds to the four sums of a lane its part of the product of 16 x 16 by
/// 16 x 8 numbers, which all lanes have given.
void addProduct(const Lanes &lanes, uint32_t lane, bool isBf16,
                std::array<float, 4> &sums);

} // namespace ltc::emulator
