//===- trace_test.cpp - What a device tells a profile ---------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "driver.h"

#include <algorithm>
#include <chrono>
#include <map>

using namespace conformance;

namespace {

class OrderOfSpans : public DeviceTest {
protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!driver().trace_start)
      GTEST_SKIP() << "the device tells nothing of what it does";
  }

  struct Trace {
    std::vector<ltc_span> spans;
    int64_t now = 0;
  };
  Trace stop() {
    Trace trace;
    size_t count = 0;
    const ltc_span *all = driver().trace_stop(device, &count, &trace.now);
    trace.spans.assign(all, all + count);
    return trace;
  }
  /// Copies, in the queue if there is one, that are done.
  void work(size_t times) {
    std::vector<uint8_t> bytes(1 << 16, 3);
    ltc_buffer *buffer = allocate(bytes.size());
    for (size_t i = 0; i < times; ++i)
      EXPECT_OK(driver().buffer_write(device, queue, buffer, 0,
                                      {bytes.data(), bytes.size()}));
    EXPECT_EQ(settle().code, LTC_OK);
    free(buffer);
  }
};

TEST_F(OrderOfSpans, AreOfTheTimeThatWasTraced) {
  auto begin = std::chrono::steady_clock::now();
  EXPECT_OK(driver().trace_start(device));
  work(10);
  Trace trace = stop();
  std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
  if (isAsynchronous())
    EXPECT_FALSE(trace.spans.empty());
  for (const ltc_span &span : trace.spans) {
    ASSERT_NE(span.name, nullptr);
    EXPECT_NE(span.name, std::string());
    EXPECT_LE(span.start, span.end) << span.name;
    EXPECT_LE(span.end, trace.now) << span.name;
    // Clocks go alike to one in a hundred.
    EXPECT_GE(span.start, trace.now - took.count() * 101 / 100 - 1000)
        << span.name;
  }
}

TEST_F(OrderOfSpans, OfALaneLieBesideOrInOneAnother) {
  EXPECT_OK(driver().trace_start(device));
  work(20);
  std::map<uint32_t, std::vector<ltc_span>> lanes;
  for (const ltc_span &span : stop().spans)
    lanes[span.lane].push_back(span);
  for (auto &[lane, spans] : lanes) {
    std::ranges::sort(spans, [](const ltc_span &a, const ltc_span &b) {
      return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
    std::vector<int64_t> open; // ends of what a span lies in
    for (const ltc_span &span : spans) {
      while (!open.empty() && open.back() <= span.start)
        open.pop_back();
      if (!open.empty())
        EXPECT_LE(span.end, open.back()) << span.name << " in lane " << lane;
      open.push_back(span.end);
    }
  }
}

TEST_F(OrderOfSpans, BeginAnewEachTime) {
  EXPECT_OK(driver().trace_start(device));
  work(10);
  size_t first = stop().spans.size();
  work(10); // of which nobody asks
  EXPECT_OK(driver().trace_start(device));
  EXPECT_EQ(stop().spans.size(), 0u);
  EXPECT_OK(driver().trace_start(device));
  work(10);
  EXPECT_EQ(stop().spans.size(), first);
}

} // namespace
