//===- order_test.cpp - Queues and fences of a driver ---------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "program_fixture.h"

#include <chrono>
#include <numeric>
#include <thread>

using namespace conformance;

namespace {

class Order : public ProgramTest {
protected:
  void SetUp() override {
    ProgramTest::SetUp();
    if (!queue)
      GTEST_SKIP() << "the device has no queues";
  }

  void write(ltc_buffer *buffer, const std::vector<float> &values,
             ltc_queue *in = nullptr) {
    EXPECT_OK(
        driver().buffer_write(device, in ? in : queue, buffer, 0,
                              {values.data(), values.size() * sizeof(float)}));
  }
  void read(ltc_buffer *buffer, std::vector<float> &values,
            ltc_queue *in = nullptr) {
    EXPECT_OK(driver().buffer_read(device, in ? in : queue, buffer, 0,
                                   values.data(),
                                   values.size() * sizeof(float)));
  }
};

/// Launches that compute, and fail.
class OrderOfLaunches : public Order {
protected:
  void SetUp() override {
    Order::SetUp();
    if (!IsSkipped() && !runsCode())
      GTEST_SKIP() << "there are no kernels for the device";
  }
  void TearDown() override {
    if (gather)
      driver().program_free(device, gather);
    Order::TearDown();
  }
  /// A launch that fails if an index is `size`.
  void submitGather(ltc_buffer *x, ltc_buffer *indices, ltc_buffer *y) {
    std::swap(program, gather);
    if (!program)
      EXPECT_EQ(load(gathering(4, 4)).code, LTC_OK);
    operands.clear();
    addTensor(x, four);
    addTensor(indices, four, DType::I64);
    addTensor(y, four);
    EXPECT_OK(submit());
    std::swap(program, gather);
  }
  /// Doubles x, whose memory is the result's.
  void submitStep(ltc_buffer *x) {
    if (!program)
      EXPECT_EQ(load(stepping(4)).code, LTC_OK);
    operands.clear();
    addTensor(x, four);
    operands.back().flags = LTC_DONATED;
    addScalar(int64_t(10), DType::I64);
    addScalar(int64_t(1), DType::Bool);
    addTensor(x, four);
    EXPECT_OK(submit());
  }

  const std::vector<int64_t> four = {4};
  ltc_program *gather = nullptr;
};

TEST_F(Order, CopiesRunInTheOrderOfTheQueue) {
  constexpr size_t count = 100000;
  ltc_buffer *buffer = allocate(count * sizeof(float));
  std::vector<std::vector<float>> sent, found(20, std::vector<float>(count));
  for (int i = 0; i < 20; ++i)
    sent.emplace_back(count, float(i));
  for (size_t i = 0; i < 20; ++i) {
    write(buffer, sent[i]);
    read(buffer, found[i]);
  }
  EXPECT_EQ(await(record()).code, LTC_OK);
  EXPECT_EQ(found, sent);
  free(buffer);
}

TEST_F(Order, RefusesCopiesOutsideOfABufferAtOnce) {
  ltc_buffer *buffer = allocate(8);
  uint8_t bytes[9] = {};
  EXPECT_EQ(
      take(driver().buffer_write(device, queue, buffer, 0, {bytes, 9})).code,
      LTC_INVALID_ARGUMENT);
  EXPECT_EQ(take(driver().buffer_read(device, queue, buffer, 8, bytes, 1)).code,
            LTC_INVALID_ARGUMENT);
  EXPECT_EQ(await(record()).code, LTC_OK);
  free(buffer);
}

TEST_F(Order, AReachedFenceStaysSo) {
  ltc_fence *fence = record();
  for (int64_t time : {int64_t(-1), int64_t(0), int64_t(1000)}) {
    int32_t reached = 0;
    EXPECT_OK(driver().fence_wait(device, fence, time, &reached));
    EXPECT_EQ(reached, 1);
  }
  driver().fence_free(device, fence);
}

TEST_F(Order, FencesAreReachedBehindTheWork) {
  // Much work: the first is reached before the last, and the second implies the
  // first.
  constexpr size_t count = 4 << 20;
  ltc_buffer *buffer = allocate(count * sizeof(float));
  std::vector<float> values(count, 3), found(count);
  write(buffer, values);
  ltc_fence *first = record();
  for (int i = 0; i < 4; ++i)
    read(buffer, found);
  ltc_fence *second = record();
  int32_t reached = 0;
  EXPECT_OK(driver().fence_wait(device, second, -1, &reached));
  EXPECT_EQ(reached, 1);
  EXPECT_EQ(found, values);
  reached = 0;
  EXPECT_OK(driver().fence_wait(device, first, 0, &reached));
  EXPECT_EQ(reached, 1);
  if (driver().fence_elapsed) {
    double seconds = -1;
    EXPECT_OK(driver().fence_elapsed(device, first, second, &seconds));
    EXPECT_GE(seconds, 0);
    EXPECT_LT(seconds, 60);
  }
  driver().fence_free(device, first);
  driver().fence_free(device, second);
  free(buffer);
}

TEST_F(Order, AWaitThatIsNotLongEnoughSaysSo) {
  constexpr size_t count = 16 << 20;
  ltc_buffer *buffer = allocate(count);
  std::vector<uint8_t> values(count, 3);
  for (int i = 0; i < 8; ++i)
    EXPECT_OK(driver().buffer_write(device, queue, buffer, 0,
                                    {values.data(), count}));
  ltc_fence *fence = record();
  auto begin = std::chrono::steady_clock::now();
  int32_t reached = 2;
  EXPECT_OK(driver().fence_wait(device, fence, 0, &reached));
  EXPECT_TRUE(reached == 0 || reached == 1) << reached;
  // An answer, not the end of the work: 128 MiB take longer than this.
  auto asked = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(await(fence).code, LTC_OK);
  auto all = std::chrono::steady_clock::now() - begin;
  if (!reached)
    EXPECT_LT(asked, all);
  free(buffer);
}

TEST_F(Order, FencesMayBeAwaitedByManyThreads) {
  ltc_buffer *buffer = allocate(4000);
  std::vector<float> values(1000, 2);
  for (int i = 0; i < 20; ++i)
    write(buffer, values);
  ltc_fence *fence = record();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      int32_t reached = 0;
      EXPECT_OK(driver().fence_wait(device, fence, -1, &reached));
      EXPECT_EQ(reached, 1);
    });
  for (std::thread &thread : threads)
    thread.join();
  driver().fence_free(device, fence);
  free(buffer);
}

TEST_F(Order, AnotherQueueWaitsForAFence) {
  ltc_queue *second = nullptr;
  Failure failure = take(driver().queue_create(device, &second));
  if (failure.code != LTC_OK) {
    EXPECT_EQ(failure.code, LTC_UNSUPPORTED) << failure.message;
    GTEST_SKIP() << "the device has one queue";
  }
  constexpr size_t count = 1 << 20;
  ltc_buffer *buffer = allocate(count * sizeof(float));
  std::vector<std::vector<float>> sent;
  for (int i = 0; i < 8; ++i)
    sent.emplace_back(count, float(i));
  std::vector<float> found(count);
  for (const std::vector<float> &values : sent)
    write(buffer, values);
  ltc_fence *fence = record();
  int32_t reached = 0;
  if (driver().queue_wait)
    EXPECT_OK(driver().queue_wait(device, second, fence));
  else
    EXPECT_OK(driver().fence_wait(device, fence, -1, &reached));
  read(buffer, found, second);
  EXPECT_EQ(await(record(second)).code, LTC_OK);
  EXPECT_EQ(found, sent.back());
  EXPECT_EQ(await(fence).code, LTC_OK);
  driver().queue_free(device, second);
  free(buffer);
}

TEST_F(Order, LaunchesAndCopiesShareTheOrder) {
  if (computesNothing())
    GTEST_SKIP() << "the device computes nothing";
  std::vector<int64_t> dims = {4};
  ASSERT_EQ(load(copying(4)).code, LTC_OK);
  ltc_buffer *x = allocate(16), *y = allocate(16), *arena = allocate(64);
  addTensor(x, dims);
  addTensor(y, dims);
  std::vector<std::vector<float>> sent, found(30, std::vector<float>(4));
  for (int i = 0; i < 30; ++i)
    sent.emplace_back(4, float(i));
  for (size_t i = 0; i < 30; ++i) {
    write(x, sent[i]);
    EXPECT_OK(submit(arena));
    read(y, found[i]);
  }
  EXPECT_EQ(await(record()).code, LTC_OK);
  EXPECT_EQ(found, sent);
  for (ltc_buffer *buffer : {x, y, arena})
    free(buffer);
}

TEST_F(OrderOfLaunches, LaunchesSeeWhatWasQueuedBeforeThem) {
  std::vector<float> values = {1, 2, 3, 4}, between(4), after(4);
  ltc_buffer *x = allocate(16);
  write(x, values);
  submitStep(x);
  read(x, between);
  for (int i = 0; i < 10; ++i)
    submitStep(x);
  read(x, after);
  EXPECT_EQ(await(record()).code, LTC_OK);
  EXPECT_EQ(between, (std::vector<float>{11, 12, 13, 14}));
  EXPECT_EQ(after, (std::vector<float>{111, 112, 113, 114}));
  free(x);
}

TEST_F(OrderOfLaunches, BehindAFailureLaunchesAreSkippedUntilItResumes) {
  ltc_buffer *x = upload(std::vector<float>{1, 2, 3, 4});
  ltc_buffer *y = upload(std::vector<float>{0, 0, 0, 0});
  ltc_buffer *z = allocate(16);
  ltc_buffer *bad = upload(std::vector<int64_t>{0, 1, 4, 0});
  std::vector<float> written = {5, 5, 5, 5}, found(4);
  submitGather(x, bad, y);
  ltc_fence *failed = record();
  submitStep(x);
  ltc_fence *skipped = record();
  write(z, written); // never skipped
  read(z, found);
  ltc_fence *copied = record();
  Failure failure = await(failed);
  EXPECT_EQ(failure.code, LTC_OUT_OF_RANGE) << failure.message;
  EXPECT_EQ(failure.site, 1);
  EXPECT_EQ(await(skipped).code, LTC_SKIPPED);
  EXPECT_EQ(await(copied).code, LTC_OK);
  EXPECT_EQ(found, written);
  EXPECT_EQ(download<float>(x, 4), (std::vector<float>{1, 2, 3, 4}));
  // Still skipped, and again once it has resumed not.
  submitStep(x);
  EXPECT_EQ(await(record()).code, LTC_SKIPPED);
  EXPECT_OK(driver().queue_resume(device, queue));
  submitStep(x);
  EXPECT_EQ(await(record()).code, LTC_OK);
  EXPECT_EQ(download<float>(x, 4), (std::vector<float>{11, 12, 13, 14}));
  for (ltc_buffer *buffer : {x, y, z, bad})
    free(buffer);
}

TEST_F(OrderOfLaunches, AFenceTellsOnlyOfWhatIsBehindTheOneBeforeIt) {
  ltc_buffer *x = upload(std::vector<float>{1, 2, 3, 4});
  ltc_buffer *y = allocate(16);
  ltc_buffer *bad = upload(std::vector<int64_t>{0, 1, 4, 0});
  submitGather(x, bad, y);
  ltc_fence *failed = record(), *next = record();
  for (int i = 0; i < 2; ++i) { // the same answer each time
    int32_t reached = 0;
    Failure failure = take(driver().fence_wait(device, failed, -1, &reached));
    EXPECT_EQ(failure.code, LTC_OUT_OF_RANGE);
    EXPECT_EQ(reached, 1);
  }
  EXPECT_EQ(await(next).code, LTC_OK);
  driver().fence_free(device, failed);
  EXPECT_OK(driver().queue_resume(device, queue));
  for (ltc_buffer *buffer : {x, y, bad})
    free(buffer);
}

} // namespace
