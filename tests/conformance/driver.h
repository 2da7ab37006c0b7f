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

namespace conformance {

/// The table of the library named on the command line.
const ltc_plugin &driver();
/// The object file named on the command line; empty: skip what runs code.
const std::string &programCode();
/// A host whose loops really run on several threads.
const ltc_host &host();

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

/// An open device for each test.
class DeviceTest : public ::testing::Test {
protected:
  void SetUp() override {
    EXPECT_OK(driver().device_open(0, &host(), 0, &device));
    ASSERT_NE(device, nullptr);
  }
  void TearDown() override {
    if (device)
      driver().device_close(device);
  }
  ltc_buffer *allocate(size_t bytes) {
    ltc_buffer *buffer = nullptr;
    EXPECT_OK(driver().buffer_alloc(device, bytes, &buffer));
    return buffer;
  }
  void free(ltc_buffer *buffer) { driver().buffer_free(device, buffer); }

  template <typename T> ltc_buffer *upload(const std::vector<T> &values) {
    ltc_buffer *buffer = allocate(values.size() * sizeof(T));
    EXPECT_OK(driver().buffer_write(
        device, buffer, 0, {values.data(), values.size() * sizeof(T)}));
    return buffer;
  }
  template <typename T>
  std::vector<T> download(ltc_buffer *buffer, size_t count) {
    std::vector<T> values(count);
    EXPECT_OK(driver().buffer_read(device, buffer, 0, values.data(),
                                   count * sizeof(T)));
    return values;
  }
  ltc_memory memory(bool resetPeak = false) {
    ltc_memory stats = {};
    driver().memory(device, &stats, resetPeak);
    return stats;
  }

  ltc_device *device = nullptr;
};

} // namespace conformance
