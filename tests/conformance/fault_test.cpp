//===- fault_test.cpp - What a driver refuses, and fails at ---------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "program_fixture.h"

using namespace conformance;

namespace {

class Faults : public ProgramTest {};

/// Of programs with kernels; a device that gives zeros for all loads them too.
class FaultsOfCode : public ProgramTest {
protected:
  void SetUp() override {
    ProgramTest::SetUp();
    if (!runsCode() && !computesNothing())
      GTEST_SKIP() << "there are no kernels for the device";
  }
};

TEST_F(Faults, RefusesWhatIsNoProgram) {
  std::string good = copying(4).serialize();
  for (std::string bytes :
       {std::string(), std::string("garbage"), std::string(4096, '\0'),
        good.substr(0, good.size() - 1), good + '\0'}) {
    Failure failure = load(bytes);
    EXPECT_EQ(failure.code, LTC_INVALID_ARGUMENT) << bytes.size();
    EXPECT_NE(failure.message, "");
    EXPECT_EQ(program, nullptr);
  }
}

TEST_F(Faults, RefusesOtherOperands) {
  if (computesNothing())
    GTEST_SKIP() << "the device computes nothing";
  std::vector<int64_t> dims = {4}, other = {5}, matrix = {2, 2};
  ASSERT_EQ(load(copying(4)).code, LTC_OK);
  std::vector<float> values = {1, 2, 3, 4};
  ltc_buffer *x = upload(values), *y = upload(std::vector<float>(4, 9));
  ltc_buffer *small = upload(std::vector<float>{1}), *arena = allocate(64);
  auto with = [&](ltc_buffer *buffer, const std::vector<int64_t> &shape,
                  DType dtype, ltc_buffer *scratch) {
    operands.clear();
    addTensor(buffer, shape, dtype);
    addTensor(y, dims);
    return run(scratch).code;
  };
  EXPECT_EQ(with(x, other, DType::F32, arena), LTC_INVALID_ARGUMENT);
  EXPECT_EQ(with(x, matrix, DType::F32, arena), LTC_INVALID_ARGUMENT);
  EXPECT_EQ(with(x, dims, DType::I32, arena), LTC_INVALID_ARGUMENT);
  EXPECT_EQ(with(small, dims, DType::F32, arena), LTC_INVALID_ARGUMENT);
  EXPECT_EQ(with(nullptr, dims, DType::F32, arena), LTC_INVALID_ARGUMENT);
  EXPECT_EQ(with(x, dims, DType::F32, nullptr), LTC_INVALID_ARGUMENT);
  EXPECT_EQ(with(x, dims, DType::F32, small), LTC_INVALID_ARGUMENT);
  EXPECT_EQ(download<float>(y, 4), std::vector<float>(4, 9));
  EXPECT_EQ(with(x, dims, DType::F32, arena), LTC_OK);
  EXPECT_EQ(download<float>(y, 4), values);
  for (ltc_buffer *buffer : {x, y, small, arena})
    free(buffer);
}

TEST_F(FaultsOfCode, RefusesGarbage) {
  std::string good = scaling(4).serialize();
  for (std::string bytes :
       {std::string(), std::string("garbage"), std::string(4096, '\0'),
        good.substr(0, good.size() - 1), good + '\0'}) {
    Failure failure = load(bytes);
    EXPECT_NE(failure.code, LTC_OK) << bytes.size();
    EXPECT_NE(failure.message, "");
    EXPECT_EQ(program, nullptr);
  }
  if (computesNothing())
    return; // no byte of the code matters to it
  std::string flipped = good;
  flipped[flipped.size() / 2] ^= 1;
  EXPECT_NE(load(flipped).code, LTC_OK);
  EXPECT_EQ(program, nullptr);
}

TEST_F(FaultsOfCode, RefusesCodeOfAnotherMachine) {
  if (computesNothing())
    GTEST_SKIP() << "the device computes nothing";
  std::string own = property("target");
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

TEST_F(FaultsOfCode, RefusesAMissingKernelAndBrokenCode) {
  if (computesNothing())
    GTEST_SKIP() << "the device computes nothing";
  Artifact made = artifact("noSuchKernel", {}, {});
  Failure failure = load(made);
  EXPECT_EQ(failure.code, LTC_DEVICE_FAILED);
  EXPECT_NE(failure.message.find("noSuchKernel"), failure.message.npos)
      << failure.message;
  made.blobs[0].bytes = "not an object file";
  EXPECT_EQ(load(made).code, LTC_DEVICE_FAILED);
  made.blobs[0].bytes = programCode().bytes.substr(0, 900);
  EXPECT_EQ(load(made).code, LTC_DEVICE_FAILED);
}

TEST_F(FaultsOfCode, RefusesWrongOperands) {
  if (computesNothing())
    GTEST_SKIP() << "the device computes nothing";
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

TEST_F(FaultsOfCode, IndexErrorsNameTheirSiteAndLeaveTheDeviceUsable) {
  if (computesNothing())
    GTEST_SKIP() << "the device computes nothing";
  std::vector<int64_t> dims = {4}, count = {1000};
  ASSERT_EQ(load(gathering(4, 1000)).code, LTC_OK);
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
