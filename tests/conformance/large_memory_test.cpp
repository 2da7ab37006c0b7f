//===- large_memory_test.cpp - Transfers beyond 4 GiB ---------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Offsets and sizes that 32 bits do not hold, without memory of that size: of a
// large buffer a few bytes are touched, and a size that is cut is one that fits
// a small buffer.
//
//===----------------------------------------------------------------------===//
#include "driver.h"

using namespace conformance;

namespace {

constexpr size_t kFourGiB = size_t(1) << 32;

class MemoryBeyond4GiB : public DeviceTest {
protected:
  std::vector<uint8_t> read(ltc_buffer *buffer, size_t offset, size_t bytes) {
    std::vector<uint8_t> found(bytes);
    EXPECT_OK(driver().buffer_read(device, nullptr, buffer, offset,
                                   found.data(), bytes));
    return found;
  }
  void write(ltc_buffer *buffer, size_t offset,
             const std::vector<uint8_t> &bytes) {
    EXPECT_OK(driver().buffer_write(device, nullptr, buffer, offset,
                                    {bytes.data(), bytes.size()}));
  }
};

TEST_F(MemoryBeyond4GiB, OffsetsAreNotCut) {
  ltc_buffer *large = nullptr;
  Failure failure =
      take(driver().buffer_alloc(device, kFourGiB + 4096, &large));
  if (failure.code == LTC_OUT_OF_MEMORY)
    GTEST_SKIP() << failure.message;
  ASSERT_EQ(failure.code, LTC_OK) << failure.message;
  const std::vector<uint8_t> near = {1, 2, 3, 4}, far = {5, 6, 7, 8};
  write(large, 8, near);
  write(large, kFourGiB + 8, far);
  EXPECT_EQ(read(large, 8, 4), near);
  EXPECT_EQ(read(large, kFourGiB + 8, 4), far);
  if (driver().buffer_copy) {
    EXPECT_OK(driver().buffer_copy(device, nullptr, large, kFourGiB + 64, large,
                                   8, 4));
    EXPECT_EQ(read(large, kFourGiB + 64, 4), near);
    EXPECT_OK(driver().buffer_copy(device, nullptr, large, 128, large,
                                   kFourGiB + 8, 4));
    EXPECT_EQ(read(large, 128, 4), far);
  }
  uint8_t byte = 0;
  EXPECT_EQ(take(driver().buffer_read(device, nullptr, large, kFourGiB + 4096,
                                      &byte, 1))
                .code,
            LTC_INVALID_ARGUMENT);
  free(large);
}

TEST_F(MemoryBeyond4GiB, SizesAreChecked) {
  ltc_buffer *small = upload(std::vector<uint8_t>(64, 7));
  uint8_t bytes[64] = {};
  for (size_t size : {kFourGiB, kFourGiB + 64, kFourGiB * 3 + 1}) {
    EXPECT_EQ(
        take(driver().buffer_write(device, nullptr, small, 0, {bytes, size}))
            .code,
        LTC_INVALID_ARGUMENT)
        << size;
    EXPECT_EQ(
        take(driver().buffer_read(device, nullptr, small, 0, bytes, size)).code,
        LTC_INVALID_ARGUMENT)
        << size;
  }
  EXPECT_EQ(read(small, 0, 64), std::vector<uint8_t>(64, 7));
  free(small);
}

} // namespace
