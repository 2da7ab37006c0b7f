//===- simt.h - A GPU's threads, as fibers on one thread --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs kernels that the compiler made for a GPU (target nvptx_emulated): each
// thread of a block is a fiber, which a barrier or a shuffle suspends. Blocks
// run one after the other. What no GPU tells is an error here: a barrier or a
// shuffle that not all threads reach, and, if asked for, a race or an access
// beyond the memory that a kernel was given.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ltc::emulator {

/// In which order the threads of a block run between two barriers: as they are
/// numbered, or as this seed permutes them, which shows a missing barrier. Of
/// the process.
void setThreadOrder(uint32_t seed);

/// Whether to look for races (access_check.h), and for accesses beyond the
/// arguments of a kernel. Takes much longer. Of the process.
void findRaces(bool look);

/// What went wrong in kernels of the calling thread since the last call.
std::optional<std::string> takeSimtFault();

} // namespace ltc::emulator
