//===- program.h - A loaded artifact ----------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "link.h"
#include "run.h"

namespace ltc::cpu {

/// Code for `target` (Target::str()) runs on `host` if it was made for that
/// very machine, or names the features it uses and they are all there.
Status checkTarget(std::string_view target, const Target &host);

/// link() or mapImages(), by what kind of blobs an artifact has.
using MakeCode = Result<std::unique_ptr<LinkedCode>> (*)(
    std::span<const std::string_view>, std::span<const std::string_view>,
    FindSymbol);

class ControlFlow;

/// Code in memory with its library kernels. run() from one thread at a time.
class Program {
public:
  /// Of an artifact for this machine, whose code is of that kind.
  static Result<std::unique_ptr<Program>> make(Artifact artifact,
                                               std::string_view blobKind,
                                               MakeCode makeCode,
                                               const ltc_host &services);
  ~Program();

  /// Gets ready for these values of the artifact's symbols: what follows goes
  /// by the last ones that there were no objections to.
  Status choose(std::span<const int64_t> symbols);
  /// Steps [first, end) of it. `operands` as program_run got them, `memory` one
  /// for each.
  void run(Run &run, std::span<const ltc_operand> operands,
           std::span<const OperandMemory> memory, OperandMemory arena,
           uint32_t first = 0, uint32_t end = UINT32_MAX);
  /// What is wrong with these operands, or success.
  Status check(std::span<const ltc_operand> operands,
               std::span<const OperandMemory> memory,
               OperandMemory arena) const {
    return steps.check(operands, memory, arena);
  }

  Calls calls;
  Steps steps;

private:
  Program(Calls calls, Steps steps);

  using KernelCode = void (*)(int64_t begin, int64_t end, void *words);

  /// Whether each library call is given as many words as its operands take.
  bool hasWordsOfCalls();
  void doStep(Run &run, size_t number);
  void call(Run &run, uint32_t number, int64_t *words);

  std::unique_ptr<LinkedCode> code;
  struct Flow {
    std::unique_ptr<ControlFlow> run; ///< null for a call of the library
    int64_t firstNode = 0; ///< error number of the first node of its regions
  };
  std::vector<Flow> flows; ///< by call
  static Result<std::vector<Flow>> flowsOf(const Artifact &artifact,
                                           std::string_view blobKind,
                                           MakeCode makeCode,
                                           const ltc_host &services);
};

} // namespace ltc::cpu
