//===- driver.cpp - The driver under test, and a host for it --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "driver.h"

#include <cstring>

namespace conformance {

extern "C" const char conformance_program_begin[], conformance_program_end[],
    conformance_ptx_begin[], conformance_ptx_end[];

Failure take(ltc_error *error) {
  if (!error)
    return {};
  ltc_error_info info = {};
  info.struct_size = sizeof(info);
  info.site = -1;
  driver().error_read(error, &info);
  Failure failure{info.code, info.message ? info.message : "", info.site};
  driver().error_free(error);
  return failure;
}

ltc_error *openDevice(ltc_device **device, std::vector<ltc_property> more,
                      uint32_t ordinal) {
  for (const ltc_property &option : options())
    more.push_back(option);
  return driver().device_open(ordinal, more.data(), more.size(), device);
}

void DeviceTest::SetUp() {
  EXPECT_OK(openDevice(&device));
  ASSERT_NE(device, nullptr);
  if (driver().queue_create)
    EXPECT_OK(driver().queue_create(device, &queue));
}

void DeviceTest::TearDown() {
  if (queue)
    driver().queue_free(device, queue);
  if (device)
    driver().device_close(device);
}

std::string DeviceTest::property(std::string_view name) const {
  size_t count = 0;
  const ltc_property *all = driver().properties(device, &count);
  for (size_t i = 0; i < count; ++i)
    if (name == all[i].name)
      return all[i].value;
  return "";
}

ltc::Artifact::Blob DeviceTest::programCode() const {
  std::string target = property("target");
  if (target.starts_with("nvptx:"))
    return {"ptx", {conformance_ptx_begin, conformance_ptx_end}};
#ifdef __x86_64__
  if (target.starts_with("cpu:"))
    return {"elf", {conformance_program_begin, conformance_program_end}};
#endif
  return {"elf", ""};
}

ltc_buffer *DeviceTest::allocate(size_t bytes) {
  ltc_buffer *buffer = nullptr;
  EXPECT_OK(driver().buffer_alloc(device, bytes, &buffer));
  return buffer;
}

ltc_memory DeviceTest::memory(bool resetPeak) {
  ltc_memory stats = {};
  stats.struct_size = sizeof(stats);
  driver().memory(device, &stats, resetPeak);
  return stats;
}

ltc_fence *DeviceTest::record(ltc_queue *in) {
  ltc_fence *fence = nullptr;
  EXPECT_OK(driver().fence_record(device, in ? in : queue, &fence));
  return fence;
}

Failure DeviceTest::await(ltc_fence *fence) {
  int32_t reached = 0;
  Failure failure = take(driver().fence_wait(device, fence, -1, &reached));
  EXPECT_EQ(reached, 1);
  driver().fence_free(device, fence);
  return failure;
}

Failure DeviceTest::settle() {
  if (!queue)
    return {};
  Failure failure = await(record());
  if (failure.code != LTC_OK)
    EXPECT_OK(driver().queue_resume(device, queue));
  return failure;
}

} // namespace conformance
