//===- pjrt_program.h - Programs of parts that PJRT runs --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/program.h"
#include "pjrt_executables.h"
#include "pjrt_memory.h"

namespace ltc::pjrt {

/// Where a program is loaded and run.
struct Place {
  DeviceRef device;
  Executables code;
  std::mutex memory; ///< held while buffers are used
};

/// A program: the bytes as they came, read in place.
class Program {
public:
  Outcome load(Place &place, ltc_bytes artifact);
  /// Whether the operands are the program's.
  Outcome check(const ltc_launch &launch) const;
  const ltc_program_view &tables() const { return view; }
  Code &code(uint32_t kernel) const { return kernels[kernel]; }

private:
  bool isRight(uint32_t number, const ltc_launch &launch) const;

  std::vector<uint64_t> bytes;
  ltc_program_view view = {};
  mutable std::vector<Code> kernels;
};

/// One launch, with what it borrowed.
class Run {
public:
  Run(const Program &program, const ltc_launch &launch);
  Outcome operator()(Place &place) const;

private:
  struct Spot {
    ltc_buffer *buffer = nullptr;
    size_t offset = 0;
  };

  int64_t amount(const ltc_word &word) const;
  bool isScalar(const ltc_word &word) const;
  Spot spot(const ltc_word &word) const;
  /// Checks that the part lies in its buffer.
  Outcome find(const ltc_word &word, const TensorType &type, Spot &found) const;
  Outcome scalar(Place &place, const ltc_word &word, const TensorType &type,
                 ArrayPtr &array) const;
  Outcome launch(Place &place, const ltc_step &step) const;
  Outcome copy(Place &place, const ltc_step &step) const;

  const Program &program;
  std::vector<ltc_operand> operands;
  std::vector<int64_t> symbols;
  ltc_buffer *const arena;
  const uint32_t firstStep, endStep;
};

} // namespace ltc::pjrt
