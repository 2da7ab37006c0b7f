//===- driver.h - The driver under test -------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/artifact.h"
#include "ltc/plugin.h"

#include <gtest/gtest.h>

#include <optional>

namespace conformance {

/// The table of the library named on the command line, as long as the header's.
const ltc_plugin &driver();
/// The `count` options that the command line names for each device.
std::vector<ltc_property> options();

struct Failure {
  ltc_error_code code = LTC_OK;
  std::string message;
  int64_t site = -1;
};
/// Reads and frees; an LTC_OK Failure for NULL.
Failure take(ltc_error *error);

/// Fails the test unless the call succeeded.
#define EXPECT_OK(call)                                                        \
  do {                                                                         \
    conformance::Failure failure_ = conformance::take(call);                   \
    EXPECT_EQ(failure_.code, LTC_OK) << failure_.message;                      \
  } while (false)

/// Opens a device with the command line's options and these.
ltc_error *openDevice(ltc_device **device, std::vector<ltc_property> more = {},
                      uint32_t ordinal = 0);

/// An open device for each test, with a queue if it has any.
class DeviceTest : public ::testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  bool isAsynchronous() const { return queue; }
  std::string property(std::string_view name) const;
  /// Kernels for the device: program.c as an object file for this machine's
  /// CPU, or program.ptx for a GPU of NVIDIA's. Empty: there are none.
  ltc::Artifact::Blob programCode() const;
  /// Whether it runs those, and gives their values.
  bool runsCode() const {
    return !programCode().bytes.empty() && !computesNothing();
  }
  /// Whether it gives zeros for every result.
  bool computesNothing() const { return property("computes") == "nothing"; }
  bool takesCalls() const { return property("calls") == "all"; }

  ltc_buffer *allocate(size_t bytes);
  void free(ltc_buffer *buffer) { driver().buffer_free(device, buffer); }
  template <typename T> ltc_buffer *upload(const std::vector<T> &values) {
    ltc_buffer *buffer = allocate(values.size() * sizeof(T));
    EXPECT_OK(
        driver().buffer_write(device, nullptr, buffer, 0,
                              {values.data(), values.size() * sizeof(T)}));
    return buffer;
  }
  template <typename T>
  std::vector<T> download(ltc_buffer *buffer, size_t count) {
    std::vector<T> values(count);
    EXPECT_OK(driver().buffer_read(device, nullptr, buffer, 0, values.data(),
                                   count * sizeof(T)));
    return values;
  }
  ltc_memory memory(bool resetPeak = false);

  ltc_fence *record(ltc_queue *in = nullptr);
  /// Waits for it and frees it: what it says.
  Failure await(ltc_fence *fence);
  /// What all that was queued came to, since the last time; none is skipped
  /// afterwards.
  Failure settle();

  ltc_device *device = nullptr;
  ltc_queue *queue = nullptr;
};

/// What needs queues.
class QueueTest : public DeviceTest {
protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!queue)
      GTEST_SKIP() << "the device has no queues";
  }
};

} // namespace conformance
