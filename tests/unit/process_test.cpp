//===- process_test.cpp - The devices of a process, by the null driver ----===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/devices.h"

#include "ltc/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

using namespace ltc;

namespace {

class ProcessTest : public ::testing::Test {
protected:
  void SetUp() override { ASSERT_TRUE(set("device", "null")); }
  void TearDown() override { shutdown(); }

  static Engine *open(uint32_t ordinal = 0) {
    Result<Engine *> engine = engineFor(ordinal);
    EXPECT_TRUE(engine) << (engine ? "" : engine.error().str());
    return engine ? *engine : nullptr;
  }
  static std::string openError(uint32_t ordinal = 0) {
    Result<Engine *> engine = engineFor(ordinal);
    return engine ? "opened" : engine.error().message;
  }
  static BufferPtr upload(Engine *engine, float value) {
    return *engine->upload({DType::F32, {1}}, &value);
  }
};

TEST_F(ProcessTest, OpensEachDeviceOnce) {
  Result<uint32_t> count = deviceCount();
  ASSERT_TRUE(count);
  EXPECT_EQ(*count, 2u);
  EXPECT_EQ(open(0), open(0));
  EXPECT_NE(open(0), open(1));
  EXPECT_EQ(openError(9),
            "there is no device lazy:9: driver null has 2 devices");
}

/// The driver cpu beside null; a build without LLVM has none.
class TwoDriversTest : public ProcessTest {
protected:
  void SetUp() override {
    ProcessTest::SetUp();
    ASSERT_TRUE(set("device", "cpu"));
    if (!deviceCount())
      GTEST_SKIP() << "there is no driver cpu";
    ASSERT_TRUE(set("device", "null,cpu"));
  }
};

TEST_F(TwoDriversTest, DevicesOfSeveralDriversAreNumberedInTheirOrder) {
  ASSERT_TRUE(set("device", "cpu,null"));
  EXPECT_EQ(*deviceCount(), 3u);
  const char *drivers[] = {"cpu", "null", "null"};
  const uint32_t ordinals[] = {0, 0, 1};
  for (uint32_t i = 0; i < 3; ++i) {
    Result<DeviceInfo> info = deviceInfo(i);
    ASSERT_TRUE(info) << info.error().message;
    EXPECT_EQ(info->driver, drivers[i]);
    EXPECT_EQ(info->ordinal, ordinals[i]);
  }
  EXPECT_EQ(openError(3),
            "there is no device lazy:3: drivers cpu, null have 3 devices");
}

TEST_F(ProcessTest, ADriverThatCannotBeUsedIsLeftOut) {
  ASSERT_TRUE(set("device", "nosuch,null"));
  EXPECT_EQ(*deviceCount(), 2u);
  EXPECT_EQ(deviceInfo(0)->driver, "null");
  ASSERT_TRUE(set("device", "nosuch,neither"));
  EXPECT_NE(openError(7).find("libltc_driver_nosuch.so"), std::string::npos);
}

TEST_F(TwoDriversTest, AnOptionMayBeOfOneDriver) {
  ASSERT_TRUE(set("device_options", "null.memory_limit=1000"));
  std::vector<float> values(500);
  EXPECT_FALSE(open(0)->upload({DType::F32, {500}}, values.data()));
  EXPECT_TRUE(open(2)->upload({DType::F32, {500}}, values.data()));
  shutdown();
  ASSERT_TRUE(set("device_options", "memory_limit"));
  EXPECT_EQ(openError(), "'memory_limit' is no option of a device");
  ASSERT_TRUE(set("device_options", ""));
}

TEST_F(TwoDriversTest, BuffersAreCopiedBetweenDevices) {
  BufferPtr first = upload(open(0), 5);
  Result<BufferPtr> second = copyToDevice(2, first);
  ASSERT_TRUE(second) << second.error().message;
  Result<BufferPtr> third = copyToDevice(1, *second);
  ASSERT_TRUE(third) << third.error().message;
  float value = 0;
  EXPECT_TRUE(open(1)->download(*third, &value));
  EXPECT_EQ(value, 5);
  EXPECT_FALSE(copyToDevice(9, first));
}

TEST_F(ProcessTest, DataGoesThereAndBack) {
  Engine *engine = open();
  std::vector<int64_t> values = {1, -2, 3}, found(3);
  auto buffer = engine->upload({DType::I64, {3}}, values.data());
  ASSERT_TRUE(buffer);
  values.assign(3, 0); // upload() has copied
  EXPECT_TRUE(engine->download(*buffer, found.data()));
  EXPECT_EQ(found, (std::vector<int64_t>{1, -2, 3}));
  EXPECT_EQ(engine->memory().allocated, 3 * sizeof(int64_t));
  buffer->reset();
  EXPECT_TRUE(engine->synchronize());
  EXPECT_EQ(engine->memory().allocated, 0u);
  EXPECT_EQ(engine->memory().maxAllocated, 3 * sizeof(int64_t));
  engine->resetPeakMemory();
  EXPECT_EQ(engine->memory().maxAllocated, 0u);
}

TEST_F(ProcessTest, BuffersStayOnTheirDevice) {
  BufferPtr buffer = upload(open(0), 1);
  float value;
  Status status = open(1)->download(buffer, &value);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "the buffer belongs to another device");
}

TEST_F(ProcessTest, UnknownDriversAreNamed) {
  ASSERT_TRUE(set("device", "nosuch"));
  std::string message = openError();
  EXPECT_NE(message.find("libltc_driver_nosuch.so"), message.npos) << message;
  EXPECT_FALSE(deviceCount());

  Dl_info info;
  ASSERT_TRUE(dladdr(reinterpret_cast<void *>(&deviceCount), &info));
  ASSERT_TRUE(set("device", info.dli_fname));
  message = openError();
  EXPECT_NE(message.find("it has no symbol ltc_plugin_query"), message.npos)
      << message;

  std::string path = info.dli_fname;
  path = path.substr(0, path.rfind('/')) + "/libltc_driver_null.so";
  ASSERT_TRUE(set("device", path));
  EXPECT_NE(open(), nullptr);
}

TEST_F(ProcessTest, TheMemoryLimitIsTheDrivers) {
  ASSERT_TRUE(set("memory_limit_bytes", "1000"));
  Engine *engine = open();
  ASSERT_TRUE(set("memory_limit_bytes", "0"));
  std::vector<float> values(500);
  auto buffer = engine->upload({DType::F32, {500}}, values.data());
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().code, ErrorCode::OutOfMemory);
  EXPECT_TRUE(engine->upload({DType::F32, {100}}, values.data()));
}

TEST_F(ProcessTest, ShutdownIsIdempotentAndLeavesNoDanglingEngine) {
  Engine *engine = open();
  BufferPtr buffer = upload(engine, 3);
  shutdown();
  shutdown();
  float value = 0;
  auto refused = engine->upload({DType::F32, {1}}, &value);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the device was shut down");
  EXPECT_TRUE(engine->synchronize());
  EXPECT_TRUE(engine->download(buffer, &value));
  EXPECT_EQ(value, 3);
  Engine *next = open();
  EXPECT_NE(next, engine);
  EXPECT_TRUE(next->upload({DType::F32, {1}}, &value));
}

/// Exit status of a child that runs `body`.
int inChild(const std::function<int()> &body) {
  pid_t child = fork();
  if (child == 0)
    _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

TEST_F(ProcessTest, AForkedChildGetsErrorsAndNeverHangs) {
  Engine *engine = open();
  BufferPtr buffer = upload(engine, 3);
  EXPECT_TRUE(engine->synchronize());
  int status = inChild([&] {
    alarm(20);
    float value = 0;
    int errors = 0;
    errors += !engineFor(0);
    errors += !deviceCount();
    errors += !engine->upload({DType::F32, {1}}, &value);
    errors += !engine->download(buffer, &value);
    errors += !engine->synchronize();
    errors += !engine->compile(Graph());
    errors += !engine->launch(nullptr, {});
    errors += engine->lookup({}) == nullptr;
    errors += engine->memory().allocated == 0;
    engine->resetPeakMemory();
    buffer.reset();
    shutdown();
    std::string message = engineFor(0).error().message;
    return errors == 9 && message.find("forked") != message.npos ? 0 : errors;
  });
  EXPECT_EQ(status, 0);
  // The parent goes on.
  float value = 0;
  EXPECT_TRUE(engine->download(buffer, &value));
  EXPECT_EQ(value, 3);
}

TEST(ProcessDeathTest, ExitDrainsWhatIsPending) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        (void)set("device", "null");
        Engine *engine = *engineFor(0);
        static std::vector<BufferPtr> kept; // destroyed after the engine
        std::vector<char> data(1 << 20);
        for (int i = 0; i < 50; ++i)
          kept.push_back(*engine->upload({DType::I8, {1 << 20}}, data.data()));
        exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

/// What compile_probe says where libltc_runtime.so lies in a directory of its
/// own, with a copy of `compiler` as the compiler, or none if empty.
std::string compileBeside(const std::string &compiler) {
  namespace fs = std::filesystem;
  Dl_info info;
  EXPECT_TRUE(dladdr(reinterpret_cast<void *>(&deviceCount), &info));
  fs::path real = fs::canonical(info.dli_fname).parent_path();
  fs::path directory = fs::temp_directory_path() /
                       ("ltc_process_test_" + std::to_string(getpid()));
  fs::create_directories(directory);
  for (std::string name : {"libltc_runtime.so", "libltc_driver_null.so"})
    fs::copy_file(real / name, directory / name);
  if (!compiler.empty())
    fs::copy_file(real / compiler, directory / "libltc_compiler.so");
  std::string command =
      "LD_LIBRARY_PATH=" + directory.string() + " " LTC_COMPILE_PROBE;
  FILE *pipe = popen(command.c_str(), "r");
  std::string text;
  for (int c; (c = fgetc(pipe)) != EOF;)
    text += char(c);
  EXPECT_EQ(pclose(pipe), 0);
  fs::remove_all(directory);
  return text;
}

TEST(Compiler, MissingIsAnErrorWithAHint) {
  std::string text = compileBeside("");
  EXPECT_TRUE(text.starts_with("cannot load the compiler: ")) << text;
  EXPECT_NE(text.find("try          build the target ltc_compiler"), text.npos)
      << text;
}

TEST(Compiler, AnotherLibraryInItsPlaceIsAnError) {
  std::string text = compileBeside("libltc_driver_null.so");
  EXPECT_NE(text.find("it has no symbol ltc_compiler_get"), text.npos) << text;
}

TEST(ProcessDeathTest, AForkBeforeTheFirstDeviceIsHarmless) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        (void)set("device", "null");
        pid_t child = fork();
        if (child == 0)
          _exit(!isForked() && engineFor(0) ? 0 : 1);
        int status = 1;
        waitpid(child, &status, 0);
        exit(status == 0 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

} // namespace
