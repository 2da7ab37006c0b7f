//===- program_test.cpp - Loading and running programs on a driver --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "driver.h"

#include <cmath>
#include <limits>
#include <numeric>

using namespace conformance;
using namespace ltc;

namespace {

ValueType f32(std::vector<int64_t> dims) {
  return {TensorType{DType::F32, std::move(dims)}, false};
}

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
    made.target = driver().target(device);
    made.blobs = {{"elf", programCode()}};
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

  Failure load(const Artifact &artifact) { return load(artifact.serialize()); }
  Failure load(const std::string &bytes) {
    return take(
        driver().program_load(device, {bytes.data(), bytes.size()}, &program));
  }

  void addTensor(ltc_buffer *buffer, const std::vector<int64_t> &dims,
                 DType dtype = DType::F32) {
    operands.push_back(
        {buffer, dims.data(), uint32_t(dims.size()), uint8_t(dtype), 0});
  }
  void addScalar(double value) {
    ltc_operand operand = {nullptr, nullptr, 0, uint8_t(DType::F64), 0};
    std::memcpy(&operand.bits, &value, sizeof(value));
    operands.push_back(operand);
  }
  void addScalar(int64_t value, DType dtype) {
    operands.push_back({nullptr, nullptr, 0, uint8_t(dtype), uint64_t(value)});
  }
  Failure run(ltc_buffer *arena = nullptr) {
    return take(driver().program_run(device, program, operands.data(),
                                     operands.size(), nullptr, 0, arena));
  }

  ltc_program *program = nullptr;
  std::vector<ltc_operand> operands;
};

/// What needs a device that runs the machine's own code.
class ExecutionTest : public ProgramTest {
protected:
  void SetUp() override {
    if (programCode().empty())
      GTEST_SKIP() << "no object file was given";
    ProgramTest::SetUp();
  }
};

TEST_F(ProgramTest, RefusesGarbage) {
  std::string good = scaling(4).serialize();
  for (std::string bytes :
       {std::string(), std::string("garbage"), std::string(4096, '\0'),
        good.substr(0, good.size() - 1), good + '\0'}) {
    Failure failure = load(bytes);
    EXPECT_NE(failure.code, LTC_OK) << bytes.size();
    EXPECT_NE(failure.message, "");
    EXPECT_EQ(program, nullptr);
  }
  std::string flipped = good;
  flipped[flipped.size() / 2] ^= 1;
  EXPECT_NE(load(flipped).code, LTC_OK);
  EXPECT_EQ(program, nullptr);
}

TEST_F(ProgramTest, RunsWithTheOperandsOfItsArtifact) {
  std::vector<int64_t> dims = {3};
  ASSERT_EQ(load(scaling(dims[0])).code, LTC_OK);
  ltc_buffer *x = upload(std::vector<float>{1, 2, 3});
  ltc_buffer *y = upload(std::vector<float>{9, 9, 9});
  EXPECT_EQ(run().code, LTC_INVALID_ARGUMENT); // none at all
  addTensor(x, dims);
  addScalar(2.0);
  addTensor(y, dims);
  EXPECT_OK(driver().program_run(device, program, operands.data(),
                                 operands.size(), nullptr, 0, nullptr));
  // A device that computes nothing gives zeros; none leaves what was there.
  std::vector<float> expected = programCode().empty()
                                    ? std::vector<float>{0, 0, 0}
                                    : std::vector<float>{2, 4, 6};
  EXPECT_EQ(download<float>(y, 3), expected);
  EXPECT_EQ(download<float>(x, 3), (std::vector<float>{1, 2, 3}));
  free(x);
  free(y);
}

TEST_F(ProgramTest, TakesTheValuesOfItsSymbols) {
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
    return take(driver().program_run(device, program, operands.data(),
                                     operands.size(), symbols.data(),
                                     symbols.size(), nullptr));
  };
  for (int64_t size : {3, 5}) {
    EXPECT_EQ(runWith({size}, {size, 7 * size}).code, LTC_OK);
    float expected = programCode().empty() ? 0 : float(7 * size);
    EXPECT_EQ(download<float>(y, size_t(size)),
              std::vector<float>(size_t(size), expected));
  }
  EXPECT_EQ(runWith({3}, {3}).code, LTC_INVALID_ARGUMENT);
  EXPECT_EQ(runWith({3}, {}).code, LTC_INVALID_ARGUMENT);
  free(y);
}

TEST_F(ProgramTest, HoldsManyProgramsAtOnce) {
  std::string bytes = scaling(4).serialize();
  std::vector<ltc_program *> programs(50);
  for (ltc_program *&loaded : programs)
    EXPECT_OK(
        driver().program_load(device, {bytes.data(), bytes.size()}, &loaded));
  for (ltc_program *loaded : programs)
    driver().program_free(device, loaded);
}

TEST_F(ExecutionTest, RefusesCodeOfAnotherMachine) {
  std::string own = driver().target(device);
  Artifact made = scaling(4);
  for (std::string target :
       {std::string("cuda:nvptx64::sm_90"), "cpu:riscv64-linux-gnu:" + own,
        std::string(), own + ",+aFeatureThatNobodyHas",
        own.substr(0, own.find(':', 4)) + ":otherCpu:"}) {
    made.target = target;
    Failure failure = load(made);
    EXPECT_EQ(failure.code, LTC_UNSUPPORTED) << target;
    EXPECT_NE(failure.message, "");
    EXPECT_EQ(program, nullptr);
  }
}

TEST_F(ExecutionTest, RefusesAMissingKernelAndBrokenCode) {
  Artifact made = artifact("noSuchKernel", {}, {});
  Failure failure = load(made);
  EXPECT_EQ(failure.code, LTC_DEVICE_FAILED);
  EXPECT_NE(failure.message.find("noSuchKernel"), failure.message.npos)
      << failure.message;
  made.blobs[0].bytes = "not an object file";
  EXPECT_EQ(load(made).code, LTC_DEVICE_FAILED);
  made.blobs[0].bytes = programCode().substr(0, 200);
  EXPECT_EQ(load(made).code, LTC_DEVICE_FAILED);
}

TEST_F(ExecutionTest, RefusesWrongOperands) {
  std::vector<int64_t> dims = {4}, other = {5}, matrix = {2, 2};
  ASSERT_EQ(load(stepping(dims[0])).code, LTC_OK);
  ltc_buffer *x = upload(std::vector<float>{1, 2, 3, 4});
  ltc_buffer *small = upload(std::vector<float>{1});
  auto with = [&](ltc_buffer *buffer, const std::vector<int64_t> &shape,
                  DType dtype) {
    operands.clear();
    addTensor(buffer, shape, dtype);
    addScalar(1, DType::I64);
    addScalar(1, DType::Bool);
    addTensor(x, dims);
    return run().code;
  };
  EXPECT_EQ(with(x, other, DType::F32), LTC_INVALID_ARGUMENT);
  EXPECT_EQ(with(x, matrix, DType::F32), LTC_INVALID_ARGUMENT);
  EXPECT_EQ(with(x, dims, DType::I32), LTC_INVALID_ARGUMENT);
  EXPECT_EQ(with(small, dims, DType::F32), LTC_INVALID_ARGUMENT);
  EXPECT_EQ(with(nullptr, dims, DType::F32), LTC_INVALID_ARGUMENT);
  EXPECT_EQ(download<float>(x, 4), (std::vector<float>{1, 2, 3, 4}));
  free(x);
  free(small);
}

TEST_F(ExecutionTest, ParallelLoopsCoverEveryElement) {
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

TEST_F(ExecutionTest, DonatedResultsAndScalarsOfEveryKind) {
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

TEST_F(ExecutionTest, CopiesThePartsOfTheArenaAndTheCLibrary) {
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

Graph callOf(const std::string &op) {
  auto graph = Graph::parse("graph {\n"
                            "  %0 = input f32[2, 3]\n"
                            "  %1 = input scalar f64\n"
                            "  %2 = input scalar i64\n"
                            "  %3 = " +
                            op +
                            "(x=%0, a=%1, b=%2) : f32[3, 2]\n"
                            "  output %3\n}");
  EXPECT_TRUE(graph);
  return *graph;
}

/// (x: f32[2, 3], a: scalar f64) -> f32[3, 2]: the op of x^T, a and 3.
Artifact calling(Artifact made, const std::string &op) {
  made.kernels.clear();
  made.calls = {{callOf(op), 0}};
  ltc_step step = {};
  step.kind = LTC_CALL;
  step.words = 12;
  auto number = [](int64_t value) { return ltc_word{LTC_NUMBER, 0, value}; };
  made.words = {{LTC_INPUT, 0, 0}, number(3),          number(2),
                number(1),         number(3),          {LTC_INPUT, 1, 0},
                number(3),         {LTC_RESULT, 0, 0}, number(3),
                number(2),         number(2),          number(1)};
  made.steps = {step};
  return made;
}

TEST_F(ExecutionTest, LibraryCallsGetStridedViewsAndScalars) {
  std::vector<int64_t> in = {2, 3}, out = {3, 2};
  Artifact made =
      artifact("", {f32(in), ValueType::scalar(DType::F64)}, {f32(out).tensor});
  Artifact wrong = calling(made, "test::axpy");
  wrong.steps[0].words = 11;
  EXPECT_EQ(load(wrong).code, LTC_INVALID_ARGUMENT);
  ASSERT_EQ(load(calling(made, "test::axpy")).code, LTC_OK);
  ltc_buffer *x = upload(std::vector<float>{1, 2, 3, 4, 5, 6});
  ltc_buffer *y = allocate(24);
  addTensor(x, in);
  addScalar(0.5);
  addTensor(y, out);
  EXPECT_EQ(run().code, LTC_OK);
  EXPECT_EQ(download<float>(y, 6),
            (std::vector<float>{3.5, 5, 4, 5.5, 4.5, 6}));
  free(x);
  free(y);
}

TEST_F(ExecutionTest, UnknownAndFailingLibraryCallsAreErrors) {
  std::vector<int64_t> in = {2, 3}, out = {3, 2};
  Artifact made =
      artifact("", {f32(in), ValueType::scalar(DType::F64)}, {f32(out).tensor});
  Failure failure = load(calling(made, "other::unknown"));
  EXPECT_EQ(failure.code, LTC_UNSUPPORTED);
  EXPECT_NE(failure.message.find("other::unknown"), failure.message.npos);
  EXPECT_NE(failure.message.find("no such kernel"), failure.message.npos);

  ASSERT_EQ(load(calling(made, "test::fail")).code, LTC_OK);
  ltc_buffer *x = upload(std::vector<float>{1, 2, 3, 4, 5, 6});
  ltc_buffer *y = allocate(24);
  addTensor(x, in);
  addScalar(0.5);
  addTensor(y, out);
  for (int i = 0; i < 2; ++i) {
    failure = run();
    EXPECT_EQ(failure.code, LTC_INVALID_ARGUMENT);
    EXPECT_EQ(failure.message, "it fails on purpose");
    EXPECT_EQ(failure.site, 2); // call 0, behind the two error sites
  }
  free(x);
  free(y);
}

TEST_F(ExecutionTest, IndexErrorsNameTheirSiteAndLeaveTheDeviceUsable) {
  std::vector<int64_t> dims = {4}, count = {1000};
  Artifact made =
      artifact("gather", {f32(dims), {TensorType{DType::I64, count}, false}},
               {f32(count).tensor});
  launch(made, 1000, 1,
         {{LTC_INPUT, 0, 0},
          {LTC_INPUT, 1, 0},
          {LTC_RESULT, 0, 0},
          {LTC_NUMBER, 0, 4}});
  ASSERT_EQ(load(made).code, LTC_OK);
  std::vector<int64_t> indices(1000, 2);
  ltc_buffer *x = upload(std::vector<float>{0, 1, 2, 3});
  ltc_buffer *good = upload(indices);
  indices[900] = 4; // far from the start: another thread's piece
  ltc_buffer *bad = upload(indices);
  ltc_buffer *y = allocate(4000);
  for (ltc_buffer *given : {good, bad, bad, good}) {
    operands.clear();
    addTensor(x, dims);
    addTensor(given, count, DType::I64);
    addTensor(y, count);
    Failure failure = run();
    if (given == good) {
      EXPECT_EQ(failure.code, LTC_OK) << failure.message;
      EXPECT_EQ(download<float>(y, 1000), std::vector<float>(1000, 2));
      continue;
    }
    EXPECT_EQ(failure.code, LTC_OUT_OF_RANGE);
    EXPECT_EQ(failure.site, 1);
    EXPECT_EQ(failure.message, "index out of range: 4 is out of bounds for a "
                               "dimension of size 4");
  }
  for (ltc_buffer *buffer : {x, good, bad, y})
    free(buffer);
}

} // namespace
