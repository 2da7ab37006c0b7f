//===- program_fixture.h - Programs for a driver to run ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "driver.h"

#include <cstring>

namespace conformance {

using namespace ltc;

inline ValueType f32(std::vector<int64_t> dims) {
  return {TensorType{DType::F32, std::move(dims)}, false};
}

/// Loads programs made of program.c's kernels, and runs them.
class ProgramTest : public DeviceTest {
protected:
  void TearDown() override {
    if (program)
      driver().program_free(device, program);
    DeviceTest::TearDown();
  }

  /// An artifact for this device, with a kernel of program.c if there is any.
  Artifact artifact(std::string kernel, std::vector<ValueType> inputs,
                    std::vector<TensorType> results) {
    Artifact made;
    made.target = property("target");
    made.blobs = {programCode()};
    made.kernels = {{std::move(kernel), "pointwise", 0}};
    made.inputs = std::move(inputs);
    made.donated.resize(results.size());
    made.results = std::move(results);
    made.errorSites.resize(2);
    return made;
  }

  static void add(Artifact &made, ltc_step step,
                  std::initializer_list<ltc_word> words) {
    step.first_word = uint32_t(made.words.size());
    step.words = uint32_t(words.size());
    made.words.insert(made.words.end(), words);
    made.steps.push_back(step);
  }

  /// A launch of the kernel over so many iterations.
  static void launch(Artifact &made, int64_t iterations, int64_t grain,
                     std::initializer_list<ltc_word> words) {
    ltc_step step = {};
    step.kind = LTC_LAUNCH;
    step.first_extent = uint32_t(made.extents.size());
    step.extents = 1;
    step.grain = grain;
    made.extents.push_back({iterations, 1});
    add(made, step, words);
  }

  /// (x: f32[n], factor: scalar f64) -> f32[n], in pieces of 100.
  Artifact scaling(int64_t size) {
    Artifact made =
        artifact("scale", {f32({size}), ValueType::scalar(DType::F64)},
                 {f32({size}).tensor});
    launch(made, size, 100,
           {{LTC_INPUT, 0, 0}, {LTC_RESULT, 0, 0}, {LTC_INPUT, 1, 0}});
    return made;
  }

  /// (x: f32[n], count: scalar i64, up: scalar bool) -> f32[n], donates x.
  Artifact stepping(int64_t size) {
    Artifact made = artifact("step",
                             {f32({size}), ValueType::scalar(DType::I64),
                              ValueType::scalar(DType::Bool)},
                             {f32({size}).tensor});
    made.donated[0] = 0;
    launch(made, size, INT64_MAX,
           {{LTC_RESULT, 0, 0}, {LTC_INPUT, 1, 0}, {LTC_INPUT, 2, 0}});
    made.steps[0].writes_donated = 1;
    return made;
  }

  /// (x: f32[n]) -> f32[n]: two copies, by the arena. Has no code.
  Artifact copying(int64_t size) {
    Artifact made = artifact("", {f32({size})}, {f32({size}).tensor});
    made.kernels.clear();
    made.blobs.clear();
    made.arena = {4 * size};
    ltc_step copy = {};
    copy.kind = LTC_COPY;
    ltc_word bytes = {LTC_NUMBER, 0, 4 * size};
    add(made, copy, {{LTC_ARENA, 0, 0}, {LTC_INPUT, 0, 0}, bytes});
    add(made, copy, {{LTC_RESULT, 0, 0}, {LTC_ARENA, 0, 0}, bytes});
    return made;
  }

  /// (x: f32[n], indices: i64[m]) -> f32[m]. Site 1: an index out of range.
  Artifact gathering(int64_t size, int64_t count) {
    Artifact made = artifact(
        "gather", {f32({size}), {TensorType{DType::I64, {count}}, false}},
        {f32({count}).tensor});
    launch(made, count, 1,
           {{LTC_INPUT, 0, 0},
            {LTC_INPUT, 1, 0},
            {LTC_RESULT, 0, 0},
            {LTC_NUMBER, 0, size}});
    return made;
  }

  Failure load(const Artifact &artifact) { return load(artifact.serialize()); }
  Failure load(const std::string &bytes) {
    return take(
        driver().program_load(device, {bytes.data(), bytes.size()}, &program));
  }

  void addTensor(ltc_buffer *buffer, const std::vector<int64_t> &dims,
                 DType dtype = DType::F32) {
    operands.push_back(
        {buffer, dims.data(), uint32_t(dims.size()), uint8_t(dtype), 0, 0});
  }
  void addScalar(double value) {
    ltc_operand operand = {nullptr, nullptr, 0, uint8_t(DType::F64), 0, 0};
    std::memcpy(&operand.bits, &value, sizeof(value));
    operands.push_back(operand);
  }
  void addScalar(int64_t value, DType dtype) {
    operands.push_back(
        {nullptr, nullptr, 0, uint8_t(dtype), 0, uint64_t(value)});
  }
  /// Runs steps [first, end) with the operands, and waits.
  Failure run(ltc_buffer *arena = nullptr,
              const std::vector<int64_t> &symbols = {}, uint32_t first = 0,
              uint32_t end = UINT32_MAX) {
    Failure failure = take(submit(arena, symbols, first, end));
    return failure.code == LTC_OK ? settle() : failure;
  }
  ltc_error *submit(ltc_buffer *arena = nullptr,
                    const std::vector<int64_t> &symbols = {},
                    uint32_t first = 0, uint32_t end = UINT32_MAX) {
    // Newer hosts' structs are longer: what is behind the size is not read.
    ltc_launch launch = {
        sizeof(ltc_launch), operands.data(), operands.size(), symbols.data(),
        symbols.size(),     arena,           first,           end};
    return driver().program_run(device, queue, program, &launch);
  }

  ltc_program *program = nullptr;
  std::vector<ltc_operand> operands;
};

/// What needs a device that there are kernels for.
class ExecutionTest : public ProgramTest {
protected:
  void SetUp() override {
    ProgramTest::SetUp();
    if (!runsCode())
      GTEST_SKIP() << "there are no kernels for the device";
  }
};

} // namespace conformance
