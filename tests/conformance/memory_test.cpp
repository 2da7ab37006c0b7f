//===- memory_test.cpp - The table, devices and memory of a driver --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "driver.h"

#include <cstring>
#include <numeric>
#include <thread>

using namespace conformance;

namespace {

class Table : public DeviceTest {};
class Memory : public DeviceTest {};

TEST_F(Table, HasItsRequiredMembers) {
  const ltc_plugin &api = driver();
  EXPECT_GE(api.struct_size, LTC_PLUGIN_REQUIRED_SIZE);
  ASSERT_NE(api.name, nullptr);
  std::string name = api.name;
  ASSERT_FALSE(name.empty());
  EXPECT_TRUE(name[0] >= 'a' && name[0] <= 'z') << name;
  EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"),
            name.npos);
  // Every pointer after the name.
  auto words = reinterpret_cast<void *const *>(&api);
  for (size_t i = 2; i < LTC_PLUGIN_REQUIRED_SIZE / sizeof(void *); ++i)
    EXPECT_NE(words[i], nullptr) << "member " << i;
}

TEST_F(Table, HasQueuesWholeOrNotAtAll) {
  const ltc_plugin &api = driver();
  bool has = api.queue_create;
  EXPECT_EQ(has, api.queue_free != nullptr);
  EXPECT_EQ(has, api.queue_resume != nullptr);
  EXPECT_EQ(has, api.fence_record != nullptr);
  EXPECT_EQ(has, api.fence_wait != nullptr);
  EXPECT_EQ(has, api.fence_free != nullptr);
  EXPECT_EQ(api.host_alloc != nullptr, api.host_free != nullptr);
  EXPECT_EQ(api.trace_start != nullptr, api.trace_stop != nullptr);
}

TEST_F(Table, CountsDevicesAndOpensNoMore) {
  uint32_t count = 0;
  EXPECT_OK(driver().device_count(&count));
  ASSERT_GE(count, 1u);
  ltc_device *another = nullptr;
  Failure failure = take(driver().device_open(count, nullptr, 0, &another));
  EXPECT_EQ(failure.code, LTC_INVALID_ARGUMENT);
  EXPECT_NE(failure.message, "");
  EXPECT_EQ(failure.site, -1);
  EXPECT_EQ(another, nullptr);
}

TEST_F(Table, RefusesOptionsThatItDoesNotKnow) {
  for (ltc_property option : {ltc_property{"no_such_option", "1"},
                              ltc_property{"memory_limit", "a lot"}}) {
    ltc_device *another = nullptr;
    Failure failure = take(openDevice(&another, {option}));
    EXPECT_EQ(failure.code, LTC_INVALID_ARGUMENT) << option.name;
    EXPECT_NE(failure.message.find(option.name), failure.message.npos)
        << failure.message;
    EXPECT_EQ(another, nullptr);
  }
}

TEST_F(Table, NamesItsTarget) {
  std::string text = property("target");
  EXPECT_GE(std::count(text.begin(), text.end(), ':'), 3) << text;
  EXPECT_NE(text[0], ':');
}

TEST_F(Table, OpensTwice) {
  ltc_device *second = nullptr;
  Failure failure = take(openDevice(&second));
  if (failure.code != LTC_OK) {
    EXPECT_NE(failure.message, "");
    EXPECT_EQ(second, nullptr);
  } else {
    driver().device_close(second);
  }
  ltc_buffer *buffer = upload(std::vector<int>{1, 2, 3});
  EXPECT_EQ(download<int>(buffer, 3), (std::vector<int>{1, 2, 3}));
  free(buffer);
}

TEST_F(Memory, WritesAndReadsAtOffsets) {
  std::vector<uint8_t> bytes(1000);
  std::iota(bytes.begin(), bytes.end(), uint8_t(0));
  ltc_buffer *buffer = upload(bytes);
  const uint8_t patch[] = {200, 201, 202};
  EXPECT_OK(driver().buffer_write(device, nullptr, buffer, 997, {patch, 3}));
  std::copy(patch, patch + 3, bytes.end() - 3);
  EXPECT_EQ(download<uint8_t>(buffer, 1000), bytes);
  uint8_t part[2] = {};
  EXPECT_OK(driver().buffer_read(device, nullptr, buffer, 10, part, 2));
  EXPECT_EQ(part[0], 10);
  EXPECT_EQ(part[1], 11);
  free(buffer);
}

TEST_F(Memory, RefusesTransfersOutsideOfABuffer) {
  ltc_buffer *buffer = upload(std::vector<uint8_t>(64, 7));
  uint8_t bytes[65] = {};
  for (auto [offset, size] : {std::pair<size_t, size_t>{0, 65},
                              {64, 1},
                              {65, 0},
                              {SIZE_MAX, 2},
                              {1, SIZE_MAX}}) {
    Failure write = take(
        driver().buffer_write(device, nullptr, buffer, offset, {bytes, size}));
    EXPECT_EQ(write.code, LTC_INVALID_ARGUMENT) << offset << " " << size;
    Failure read = take(
        driver().buffer_read(device, nullptr, buffer, offset, bytes, size));
    EXPECT_EQ(read.code, LTC_INVALID_ARGUMENT) << offset << " " << size;
  }
  EXPECT_EQ(download<uint8_t>(buffer, 64), std::vector<uint8_t>(64, 7));
  free(buffer);
}

TEST_F(Memory, ServesEmptyBuffers) {
  ltc_buffer *buffer = allocate(0);
  ASSERT_NE(buffer, nullptr);
  EXPECT_OK(driver().buffer_write(device, nullptr, buffer, 0, {nullptr, 0}));
  EXPECT_OK(driver().buffer_read(device, nullptr, buffer, 0, nullptr, 0));
  free(buffer);
}

TEST_F(Memory, WritesZeros) {
  for (size_t bytes : {100, 200 * 1000, 5 * 1000 * 1000}) {
    ltc_buffer *buffer = upload(std::vector<uint8_t>(bytes, 7));
    ltc_buffer *other = upload(std::vector<uint8_t>(bytes, 8));
    EXPECT_OK(driver().buffer_write(device, nullptr, buffer, 10, {nullptr, 5}));
    std::vector<uint8_t> wanted(bytes, 7);
    std::fill_n(wanted.begin() + 10, 5, 0);
    EXPECT_EQ(download<uint8_t>(buffer, bytes), wanted);
    EXPECT_OK(
        driver().buffer_write(device, nullptr, buffer, 0, {nullptr, bytes}));
    EXPECT_EQ(download<uint8_t>(buffer, bytes), std::vector<uint8_t>(bytes));
    EXPECT_EQ(download<uint8_t>(other, bytes), std::vector<uint8_t>(bytes, 8));
    free(buffer);
    free(other);
  }
}

TEST_F(Memory, HostPointerIsTheMemory) {
  if (!driver().buffer_host_pointer)
    GTEST_SKIP() << "the host does not reach its memory";
  ltc_buffer *buffer = upload(std::vector<int>{1, 2, 3});
  if (void *host = driver().buffer_host_pointer(device, buffer)) {
    EXPECT_EQ(static_cast<int *>(host)[2], 3);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(host) % 64, 0u);
  }
  free(buffer);
}

TEST_F(Memory, CopiesBetweenBuffers) {
  if (!driver().buffer_copy)
    GTEST_SKIP() << "the device does not copy";
  std::vector<uint8_t> bytes(100);
  std::iota(bytes.begin(), bytes.end(), uint8_t(0));
  ltc_buffer *from = upload(bytes);
  ltc_buffer *to = upload(std::vector<uint8_t>(50, 7));
  EXPECT_OK(driver().buffer_copy(device, nullptr, to, 3, from, 60, 40));
  std::vector<uint8_t> wanted(50, 7);
  std::copy_n(bytes.begin() + 60, 40, wanted.begin() + 3);
  EXPECT_EQ(download<uint8_t>(to, 50), wanted);
  EXPECT_OK(driver().buffer_copy(device, nullptr, from, 50, from, 0, 50));
  EXPECT_EQ(download<uint8_t>(from, 100)[99], 49);
  EXPECT_EQ(
      take(driver().buffer_copy(device, nullptr, to, 11, from, 0, 40)).code,
      LTC_INVALID_ARGUMENT);
  EXPECT_EQ(
      take(driver().buffer_copy(device, nullptr, to, 0, from, 61, 40)).code,
      LTC_INVALID_ARGUMENT);
  free(from);
  free(to);
}

TEST_F(Memory, CopiesBetweenDevices) {
  uint32_t count = 0;
  EXPECT_OK(driver().device_count(&count));
  if (!driver().buffer_copy_between || count < 2)
    GTEST_SKIP() << "the plugin copies between no two devices";
  ltc_device *other = nullptr;
  ASSERT_EQ(take(openDevice(&other, {}, 1)).code, LTC_OK);
  std::vector<uint8_t> bytes(100);
  std::iota(bytes.begin(), bytes.end(), uint8_t(0));
  std::swap(device, other);
  ltc_buffer *from = upload(bytes);
  std::swap(device, other);
  ltc_buffer *to = upload(std::vector<uint8_t>(50, 7));
  auto copy = [&](size_t at, size_t begin) {
    return take(driver().buffer_copy_between(device, nullptr, to, at, other,
                                             from, begin, 40))
        .code;
  };
  EXPECT_EQ(copy(3, 60), LTC_OK);
  std::vector<uint8_t> wanted(50, 7);
  std::copy_n(bytes.begin() + 60, 40, wanted.begin() + 3);
  EXPECT_EQ(download<uint8_t>(to, 50), wanted);
  EXPECT_EQ(copy(11, 0), LTC_INVALID_ARGUMENT);
  EXPECT_EQ(copy(0, 61), LTC_INVALID_ARGUMENT);
  EXPECT_EQ(download<uint8_t>(to, 50), wanted);
  free(to);
  driver().buffer_free(other, from);
  driver().device_close(other);
}

TEST_F(Memory, LendsHostMemory) {
  if (!driver().host_alloc)
    GTEST_SKIP() << "the device lends no host memory";
  void *data = nullptr;
  EXPECT_OK(driver().host_alloc(device, 1000, &data));
  ASSERT_NE(data, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
  std::memset(data, 5, 1000);
  ltc_buffer *buffer = allocate(1000);
  EXPECT_OK(driver().buffer_write(device, nullptr, buffer, 0, {data, 1000}));
  std::memset(data, 0, 1000);
  EXPECT_OK(driver().buffer_read(device, nullptr, buffer, 0, data, 1000));
  EXPECT_EQ(static_cast<uint8_t *>(data)[999], 5);
  free(buffer);
  driver().host_free(device, data);
}

TEST_F(Memory, ImportsHostMemory) {
  if (!driver().buffer_import)
    GTEST_SKIP() << "the device imports no memory";
  alignas(64) uint8_t own[256] = {1, 2, 3};
  ltc_buffer *buffer = nullptr;
  Failure failure =
      take(driver().buffer_import(device, own, sizeof(own), &buffer));
  if (failure.code == LTC_UNSUPPORTED)
    GTEST_SKIP() << failure.message;
  ASSERT_EQ(failure.code, LTC_OK) << failure.message;
  EXPECT_EQ(download<uint8_t>(buffer, 3), (std::vector<uint8_t>{1, 2, 3}));
  const uint8_t patch[] = {9, 8};
  EXPECT_OK(driver().buffer_write(device, nullptr, buffer, 200, {patch, 2}));
  EXPECT_EQ(own[201], 8);
  EXPECT_EQ(memory().allocated, 0u);
  free(buffer);
  EXPECT_EQ(own[0], 1);
}

TEST_F(Memory, BuffersDoNotOverlap) {
  std::vector<ltc_buffer *> buffers;
  for (int i = 0; i < 200; ++i)
    buffers.push_back(upload(std::vector<int>(size_t(1 + i * 37 % 4000), i)));
  for (int i = 0; i < 200; i += 2)
    free(buffers[size_t(i)]);
  for (int i = 0; i < 200; i += 2)
    buffers[size_t(i)] =
        upload(std::vector<int>(size_t(1 + i * 53 % 4000), -i));
  for (int i = 0; i < 200; ++i) {
    size_t count = size_t(1 + i * (i % 2 ? 37 : 53) % 4000);
    EXPECT_EQ(download<int>(buffers[size_t(i)], count),
              std::vector<int>(count, i % 2 ? i : -i));
    free(buffers[size_t(i)]);
  }
  EXPECT_EQ(memory().allocated, 0u);
}

TEST_F(Memory, CountsItsMemory) {
  ltc_memory before = memory();
  EXPECT_EQ(before.allocated, 0u);
  ltc_buffer *large = allocate(5 << 20);
  ltc_buffer *small = allocate(100);
  ltc_memory both = memory();
  EXPECT_GE(both.allocated, (5u << 20) + 100);
  EXPECT_LE(both.allocated, (6u << 20));
  EXPECT_GE(both.reserved, both.allocated);
  free(large);
  ltc_memory after = memory();
  EXPECT_LT(after.allocated, 5u << 20);
  EXPECT_EQ(after.max_allocated, both.allocated);
  EXPECT_EQ(memory(true).max_allocated, after.allocated);
  free(small);
  EXPECT_EQ(memory().allocated, 0u);
}

TEST_F(Memory, OutOfMemoryLeavesItUsable) {
  for (size_t bytes :
       {size_t(1) << 60, SIZE_MAX, SIZE_MAX / 2, SIZE_MAX - 63}) {
    ltc_buffer *buffer = nullptr;
    Failure failure = take(driver().buffer_alloc(device, bytes, &buffer));
    EXPECT_EQ(failure.code, LTC_OUT_OF_MEMORY) << bytes;
    EXPECT_NE(failure.message, "");
    EXPECT_EQ(buffer, nullptr);
  }
  EXPECT_EQ(memory().allocated, 0u);
  ltc_buffer *buffer = upload(std::vector<int>{4, 5});
  EXPECT_EQ(download<int>(buffer, 2), (std::vector<int>{4, 5}));
  free(buffer);
}

TEST_F(Memory, HonoursItsLimit) {
  constexpr size_t limit = 8 << 20;
  std::string digits = std::to_string(limit);
  ltc_device *bounded = nullptr;
  ASSERT_EQ(take(openDevice(&bounded, {{"memory_limit", digits.c_str()}})).code,
            LTC_OK);
  std::swap(device, bounded);
  ltc_buffer *first = allocate(5 << 20), *second = nullptr;
  Failure failure = take(driver().buffer_alloc(device, 5 << 20, &second));
  EXPECT_EQ(failure.code, LTC_OUT_OF_MEMORY);
  EXPECT_EQ(second, nullptr);
  // What was freed must not stand in the way of a block of another size.
  free(first);
  EXPECT_OK(driver().buffer_alloc(device, 7 << 20, &second));
  ASSERT_NE(second, nullptr);
  EXPECT_LE(memory().reserved, limit);
  free(second);
  std::swap(device, bounded);
  driver().device_close(bounded);
}

TEST_F(Memory, AllocatesFromManyThreads) {
  auto work = [&] {
    for (int i = 1; i < 300; ++i) {
      ltc_buffer *buffer = nullptr;
      Failure failure = take(
          driver().buffer_alloc(device, size_t(i) * 977 % 300000, &buffer));
      ASSERT_EQ(failure.code, LTC_OK);
      driver().buffer_free(device, buffer);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back(work);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(memory().allocated, 0u);
}

} // namespace
