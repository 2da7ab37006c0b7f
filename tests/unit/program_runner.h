//===- program_runner.h - Runs artifacts on the CPU driver ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "drivers/cpu/program.h"
#include "ltc/compiler.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ltc {

/// A program of the CPU driver's, with what the test lends it.
class ProgramRunner {
public:
  ProgramRunner(const Graph &graph, const ltc_host &host,
                const CompileOptions &options = {})
      : host(host) {
    Result<Artifact> made = ltc_compiler_get()->compile(graph, options);
    if (!made) {
      ADD_FAILURE() << made.error().str();
      return;
    }
    artifact = std::move(*made);
    auto loaded = cpu::Program::make(artifact, "elf", cpu::link, host);
    if (!loaded) {
      ADD_FAILURE() << loaded.error().str();
      return;
    }
    program = std::move(*loaded);
  }

  explicit operator bool() const { return bool(program); }

  /// `graph`: without symbols, what runs for these values of them. `memory`: of
  /// its inputs, where a scalar has 8 bytes, then of its results.
  void run(const Graph &graph, const std::vector<int64_t> &symbols,
           const std::vector<char *> &memory) {
    std::vector<ValueType> types = graph.inputs;
    for (const GraphOutput &output : graph.outputs)
      types.push_back(graph.typeOf(output.value));
    std::vector<ltc_operand> operands;
    std::vector<OperandMemory> places;
    for (size_t i = 0; i < types.size(); ++i) {
      const TensorType &tensor = types[i].tensor;
      ltc_operand &operand = operands.emplace_back();
      operand = {nullptr,
                 tensor.dims.data(),
                 uint32_t(tensor.dims.size()),
                 uint8_t(tensor.dtype),
                 0,
                 0};
      if (types[i].isScalar)
        std::memcpy(&operand.bits, memory[i], sizeof(operand.bits));
      places.push_back(types[i].isScalar
                           ? OperandMemory()
                           : OperandMemory{memory[i], tensor.bytes()});
    }
    std::optional<int64_t> bytes = artifact.arenaBytes(symbols);
    ASSERT_TRUE(bytes);
    constexpr size_t guard = 4096;
    std::vector<char> arena(size_t(*bytes) + 64 + guard, '\xab');
    auto start = reinterpret_cast<char *>(
        (reinterpret_cast<uintptr_t>(arena.data()) + 63) / 64 * 64);
    OperandMemory scratch = {start, size_t(*bytes)};
    Status chosen = program->choose(symbols);
    ASSERT_TRUE(chosen) << chosen.error().str();
    Status checked = program->check(operands, places, scratch);
    ASSERT_TRUE(checked) << checked.error().str();
    cpu::Run run(host, program->calls, program->steps);
    program->run(run, operands, places, scratch);
    EXPECT_EQ(run.code, LTC_OK) << run.message;
    EXPECT_TRUE(std::all_of(start + *bytes, arena.data() + arena.size(),
                            [](char byte) { return byte == '\xab'; }))
        << "the code writes behind its arena";
  }

  Artifact artifact;

private:
  const ltc_host &host;
  std::unique_ptr<cpu::Program> program;
};

} // namespace ltc
