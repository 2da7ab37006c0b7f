//===- program_test.cpp - Loading and running programs on a driver --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "program_fixture.h"

#include <cmath>
#include <limits>
#include <numeric>

using namespace conformance;

namespace {

class Program : public ProgramTest {};

/// Programs with kernels; a device that gives zeros for all loads them too.
class ProgramOfCode : public ProgramTest {
protected:
  void SetUp() override {
    ProgramTest::SetUp();
    if (!runsCode() && !computesNothing())
      GTEST_SKIP() << "there are no kernels for the device";
  }
};

TEST_F(ProgramOfCode, RunsWithTheOperandsOfItsArtifact) {
  std::vector<int64_t> dims = {3};
  ASSERT_EQ(load(scaling(dims[0])).code, LTC_OK);
  ltc_buffer *x = upload(std::vector<float>{1, 2, 3});
  ltc_buffer *y = upload(std::vector<float>{9, 9, 9});
  EXPECT_EQ(run().code, LTC_INVALID_ARGUMENT); // none at all
  addTensor(x, dims);
  addScalar(2.0);
  addTensor(y, dims);
  EXPECT_EQ(run().code, LTC_OK);
  // A device that computes nothing gives zeros; none leaves what was there.
  std::vector<float> expected = computesNothing() ? std::vector<float>{0, 0, 0}
                                                  : std::vector<float>{2, 4, 6};
  EXPECT_EQ(download<float>(y, 3), expected);
  EXPECT_EQ(download<float>(x, 3), (std::vector<float>{1, 2, 3}));
  free(x);
  free(y);
}

TEST_F(ProgramOfCode, TakesTheValuesOfItsSymbols) {
  Artifact made =
      artifact("fillWithSymbol", {}, {{DType::F32, {symbolicSize(0)}}});
  made.formulas = {Formula::symbol(0)};
  made.symbols = 2;
  launch(made, symbolicSize(0), 1, {{LTC_RESULT, 0, 0}, {LTC_SYMBOLS, 0, 0}});
  ASSERT_EQ(load(made).code, LTC_OK);
  ltc_buffer *y = upload(std::vector<float>(5, 9));
  auto runWith = [&](std::vector<int64_t> sizes, std::vector<int64_t> symbols) {
    operands.clear();
    addTensor(y, sizes);
    return run(nullptr, symbols);
  };
  for (int64_t size : {3, 5}) {
    EXPECT_EQ(runWith({size}, {size, 7 * size}).code, LTC_OK);
    float expected = computesNothing() ? 0 : float(7 * size);
    EXPECT_EQ(download<float>(y, size_t(size)),
              std::vector<float>(size_t(size), expected));
  }
  EXPECT_EQ(runWith({3}, {3}).code, LTC_INVALID_ARGUMENT);
  EXPECT_EQ(runWith({3}, {}).code, LTC_INVALID_ARGUMENT);
  free(y);
}

TEST_F(ProgramOfCode, HoldsManyProgramsAtOnce) {
  std::string bytes = scaling(4).serialize();
  std::vector<ltc_program *> programs(50);
  for (ltc_program *&loaded : programs)
    EXPECT_OK(
        driver().program_load(device, {bytes.data(), bytes.size()}, &loaded));
  for (ltc_program *loaded : programs)
    driver().program_free(device, loaded);
}

TEST_F(ProgramOfCode, ParallelLoopsCoverEveryElement) {
  if (computesNothing())
    GTEST_SKIP() << "the device computes nothing";
  std::vector<int64_t> dims = {100003};
  ASSERT_EQ(load(scaling(dims[0])).code, LTC_OK);
  std::vector<float> values(100003);
  std::iota(values.begin(), values.end(), 0.0f);
  ltc_buffer *x = upload(values);
  ltc_buffer *y = upload(std::vector<float>(
      values.size(), std::numeric_limits<float>::quiet_NaN()));
  addTensor(x, dims);
  addScalar(0.5);
  addTensor(y, dims);
  EXPECT_EQ(run().code, LTC_OK);
  for (float &value : values)
    value *= 0.5f;
  EXPECT_EQ(download<float>(y, values.size()), values);
  free(x);
  free(y);
}

TEST_F(ProgramOfCode, DonatedResultsAndScalarsOfEveryKind) {
  if (computesNothing())
    GTEST_SKIP() << "the device computes nothing";
  std::vector<int64_t> dims = {3};
  ASSERT_EQ(load(stepping(dims[0])).code, LTC_OK);
  ltc_buffer *x = upload(std::vector<float>{1, 2, 3});
  for (bool up : {true, false, true}) {
    operands.clear();
    addTensor(x, dims);
    addScalar(int64_t(10), DType::I64);
    addScalar(int64_t(up), DType::Bool);
    addTensor(x, dims);
    EXPECT_EQ(run().code, LTC_OK);
  }
  EXPECT_EQ(download<float>(x, 3), (std::vector<float>{11, 12, 13}));
  free(x);
}

TEST_F(ProgramOfCode, CopiesThePartsOfTheArenaAndTheCLibrary) {
  if (computesNothing())
    GTEST_SKIP() << "the device computes nothing";
  std::vector<int64_t> dims = {2, 3};
  Artifact made = artifact("exponential", {f32(dims)}, {f32(dims).tensor});
  made.arena = {20, 24}; // the second begins at 64
  ltc_step copy = {};
  copy.kind = LTC_COPY;
  add(made, copy, {{LTC_ARENA, 1, 0}, {LTC_INPUT, 0, 0}, {LTC_NUMBER, 0, 24}});
  launch(made, 6, INT64_MAX, {{LTC_ARENA, 1, 0}, {LTC_RESULT, 0, 0}});
  ASSERT_EQ(load(made).code, LTC_OK);
  std::vector<float> values = {0, 1, -1, 2, 0.5f, 10};
  ltc_buffer *x = upload(values), *y = allocate(24), *arena = allocate(128);
  addTensor(x, dims);
  addTensor(y, dims);
  EXPECT_EQ(run().code, LTC_INVALID_ARGUMENT); // no arena
  EXPECT_EQ(run(arena).code, LTC_OK);
  std::vector<float> found = download<float>(y, 6);
  for (size_t i = 0; i < 6; ++i)
    EXPECT_FLOAT_EQ(found[i], std::exp(values[i])) << i;
  for (ltc_buffer *buffer : {x, y, arena})
    free(buffer);
}

TEST_F(Program, RunsInParts) {
  std::vector<int64_t> dims = {4};
  ASSERT_EQ(load(copying(4)).code, LTC_OK);
  std::vector<float> values = {1, 2, 3, 4}, nines(4, 9);
  ltc_buffer *x = upload(values), *y = upload(nines), *arena = allocate(64);
  addTensor(x, dims);
  addTensor(y, dims);
  EXPECT_EQ(run(arena, {}, 0, 1).code, LTC_OK);
  if (!computesNothing()) {
    EXPECT_EQ(download<float>(arena, 4), values);
    EXPECT_EQ(download<float>(y, 4), nines);
  }
  EXPECT_EQ(run(arena, {}, 1, UINT32_MAX).code, LTC_OK);
  std::vector<float> zeros(4);
  EXPECT_EQ(download<float>(y, 4), computesNothing() ? zeros : values);
  EXPECT_EQ(run(arena, {}, 2, 2).code, LTC_OK); // none
  for (ltc_buffer *buffer : {x, y, arena})
    free(buffer);
}

TEST_F(Program, RunsWhatItHasLoadedUntilItIsFreed) {
  std::vector<int64_t> four = {4}, two = {2};
  ASSERT_EQ(load(copying(4)).code, LTC_OK);
  ltc_program *first = program;
  ASSERT_EQ(load(copying(2)).code, LTC_OK);
  driver().program_free(device, program);
  program = first;
  std::vector<float> values = {1, 2, 3, 4};
  ltc_buffer *x = upload(values), *y = upload(std::vector<float>(4, 9));
  ltc_buffer *arena = allocate(64);
  addTensor(x, four);
  addTensor(y, four);
  EXPECT_EQ(run(arena).code, LTC_OK);
  EXPECT_EQ(download<float>(y, 4),
            computesNothing() ? std::vector<float>(4) : values);
  for (ltc_buffer *buffer : {x, y, arena})
    free(buffer);
}

} // namespace
