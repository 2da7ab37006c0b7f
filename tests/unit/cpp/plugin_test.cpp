//===- plugin_test.cpp - The device in a plugin of a program --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The program itself knows neither PyTorch nor the device.
//
//===----------------------------------------------------------------------===//
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <thread>

namespace {

float sumInPlugin(int count) {
  void *plugin = dlopen(LTC_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(plugin, nullptr) << dlerror();
  if (!plugin)
    return 0;
  auto *sum = reinterpret_cast<float (*)(int)>(dlsym(plugin, "sumOfThrees"));
  float result = sum(count);
  EXPECT_EQ(dlclose(plugin), 0);
  return result;
}

TEST(Plugin, MayComeAndGo) {
  EXPECT_EQ(sumInPlugin(2), 6);
  EXPECT_EQ(sumInPlugin(3), 9);
  EXPECT_EQ(sumInPlugin(4), 12);
}

TEST(Plugin, MayComeAndGoInAThread) {
  std::thread([] { EXPECT_EQ(sumInPlugin(5), 15); }).join();
  std::thread([] { EXPECT_EQ(sumInPlugin(6), 18); }).join();
}

// Whose first use of the device was in a thread that has ended.
TEST(Plugin, LeavesAProgramThatEndsWell) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        std::thread([] { sumInPlugin(5); }).join();
        exit(0);
      },
      testing::ExitedWithCode(0), "");
}

} // namespace
