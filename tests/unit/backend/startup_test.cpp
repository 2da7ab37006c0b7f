//===- startup_test.cpp - A C++ program with the lazy device --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each test is a process of its own: a device starts once in each.
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/startup.h"

#include "ltc/engine.h"
#include "ltc/metrics.h"
#include "ltc/settings.h"
#include "ltc_backend/backend.h"

#include <ATen/ATen.h>
#include <c10/util/env.h>
#include <torch/csrc/lazy/ts_backend/ts_backend_impl.h>

#include <gtest/gtest.h>

#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace ltc;

namespace {

class StartupTest : public ::testing::Test {
protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

/// Two of them, recorded on the device.
at::Tensor twos() {
  return at::ones({2}, at::TensorOptions(c10::kLazy)).add(1);
}

bool isMapped(const std::string &library) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(library) != std::string::npos)
      return true;
  return false;
}

std::string errorOf(const std::function<void()> &call) {
  try {
    call();
  } catch (const std::exception &error) {
    return error.what();
  }
  return "";
}

#define CHECK_IN_CHILD(condition)                                              \
  if (!(condition)) {                                                          \
    fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                    \
    _exit(1);                                                                  \
  }

void compute() {
  CHECK_IN_CHILD(!errorOf([] { twos(); }).empty());
  backend::initialize();
  backend::initialize(); // does nothing
  at::Tensor x = twos();
  CHECK_IN_CHILD(x.device().type() == c10::kLazy);
  CHECK_IN_CHILD(counter("execute.launches").get() == 0);
  CHECK_IN_CHILD(x.cpu().equal(at::full({2}, 2.0f)));
  CHECK_IN_CHILD(x.sum().item<float>() == 4);
  CHECK_IN_CHILD(counter("execute.launches").get() > 0);
  CHECK_IN_CHILD(!isMapped("libpython") && isMapped("libltc_backend"));
  // What PyTorch's generated kernels ask.
  CHECK_IN_CHILD(c10::utils::check_env(
                     "TORCH_DISABLE_FUNCTIONALIZATION_META_REFERENCE") == true);
  exit(0);
}

TEST_F(StartupTest, ComputesWithoutPython) {
  EXPECT_EXIT(compute(), ::testing::ExitedWithCode(0), "");
}

void endSteps() {
  backend::initialize();
  auto launches = [] {
    backend::synchronize(0);
    return counter("execute.launches").get();
  };
  at::Tensor x = twos();
  CHECK_IN_CHILD(set("auto_step", "false"));
  backend::autoStep(0, /*hasStepped=*/true);
  CHECK_IN_CHILD(backend::pendingGraphText(0).find("aten::add") !=
                 std::string::npos);
  CHECK_IN_CHILD(set("auto_step", "true"));
  backend::autoStep(0, /*hasStepped=*/true);
  CHECK_IN_CHILD(backend::pendingGraphText(0).find("aten::add") ==
                 std::string::npos);
  CHECK_IN_CHILD(launches() == 1);
  exit(0);
}

TEST_F(StartupTest, EndsStepsAsTheSettingSays) {
  EXPECT_EXIT(endSteps(), ::testing::ExitedWithCode(0), "");
}

void failTwice() {
  torch::lazy::InitTorchScriptBackend();
  std::string first = errorOf([] { backend::initialize(); });
  CHECK_IN_CHILD(first.find("another torch::lazy backend is registered") !=
                 std::string::npos);
  CHECK_IN_CHILD(errorOf([] { backend::initialize(); }) == first);
  exit(0);
}

TEST_F(StartupTest, FailsForGood) {
  EXPECT_EXIT(failTwice(), ::testing::ExitedWithCode(0), "");
}

/// The child's status, or -1.
int inFork(const std::function<void()> &child) {
  pid_t id = fork();
  if (id == 0) {
    child();
    _exit(0);
  }
  int status = -1;
  waitpid(id, &status, 0);
  return status;
}

void forkTwice() {
  backend::initialize();
  // No device is open: the child may open its own.
  CHECK_IN_CHILD(0 == inFork([] {
                   CHECK_IN_CHILD(!isForked() &&
                                  twos().sum().item<float>() == 4);
                 }));
  at::Tensor x = twos();
  x.cpu();
  CHECK_IN_CHILD(0 == inFork([&] {
                   CHECK_IN_CHILD(isForked());
                   std::string error = errorOf([&] { x.add(1).cpu(); });
                   CHECK_IN_CHILD(error.find("was forked after") !=
                                  std::string::npos);
                   backend::shutdown(); // of the parent's device, nothing
                 }));
  CHECK_IN_CHILD(!isForked() && x.sum().item<float>() == 4);
  exit(0);
}

TEST_F(StartupTest, SaysThatAForkedChildCannotUseItsParentsDevice) {
  EXPECT_EXIT(forkTwice(), ::testing::ExitedWithCode(0), "");
}

void shutDown() {
  backend::initialize();
  at::Tensor index = at::tensor({1, 30}, at::kLong).to(c10::kLazy);
  at::Tensor y = at::zeros(3, at::TensorOptions(c10::kLazy)).gather(0, index);
  backend::markStep(0, /*wait=*/false); // nobody reads y
  backend::shutdown();
  CHECK_IN_CHILD(twos().sum().item<float>() == 4); // it opens again
  exit(0);
}

TEST_F(StartupTest, SaysAtShutdownWhatNobodySaw) {
  EXPECT_EXIT(shutDown(), ::testing::ExitedWithCode(0),
              "a step that nobody waited for had failed.*out of range");
}

} // namespace
