//===- process_test.cpp - A process without Python, from start to end -----===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "errors.h"

#include <ltc/ltc.h>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <fstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using torch::Tensor;

namespace {

class CppProcess : public testing::Test {
protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

bool isMapped(const std::string &library) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(library) != std::string::npos)
      return true;
  return false;
}

/// Outlives main(), and what ends at exit.
Tensor &outliving() {
  static Tensor tensor;
  return tensor;
}

void trainAndExit() {
  outliving(); // destroyed after the device has ended
  torch::nn::Sequential model(torch::nn::Conv2d(1, 2, 3), torch::nn::ReLU(),
                              torch::nn::Flatten(), torch::nn::Linear(8, 2));
  torch::Device device = ltc::device();
  ltc::to(*model, device);
  torch::optim::Adam adam(model->parameters());
  Tensor loss = model->forward(torch::ones({1, 1, 4, 4}, device)).sum();
  loss.backward();
  adam.step();
  ltc::mark_step();
  outliving() = loss.detach().mul(2);
  bool isWithoutPython = !isMapped("libpython") && !isMapped("torch_python") &&
                         isMapped("libltc_driver_cpu");
  exit(isWithoutPython ? 0 : 3);
}

TEST_F(CppProcess, TrainsWithoutPythonAndExitsWithPendingWork) {
  EXPECT_EXIT(trainAndExit(), testing::ExitedWithCode(0), "");
}

/// Exit status of a child that says what using the device came to.
int statusOfChild(const char *wanted) {
  pid_t child = fork();
  if (child == 0) {
    std::string error = errorOf([] {
      Tensor x = torch::ones({2}, ltc::device()).add(1).sum();
      if (x.item<float>() != 4)
        _exit(4);
    });
    _exit(error.find(wanted) == error.npos || error.empty() != !*wanted);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

void forkBeforeAndAfter() {
  int before = statusOfChild("");
  Tensor x = torch::ones({3}, ltc::device()).mul(2);
  ltc::synchronize();
  int after = statusOfChild("forked after its parent opened a lazy device");
  bool goesOn = x.add(1).sum().item<float>() == 9;
  exit(goesOn ? before | after : 3);
}

TEST_F(CppProcess, ForksAsLongAsTheDeviceIsNotOpen) {
  EXPECT_EXIT(forkBeforeAndAfter(), testing::ExitedWithCode(0), "");
}

void useInAThreadAndExit() {
  std::thread([] {
    outliving() = torch::ones({4}, ltc::device()).add(1);
    ltc::mark_step();
  }).join();
  exit(0);
}

TEST_F(CppProcess, ExitsWhereTheMainThreadNeverCalled) {
  EXPECT_EXIT(useInAThreadAndExit(), testing::ExitedWithCode(0), "");
}

void failAndExit() {
  outliving();
  Tensor index = torch::tensor({1, 30}).to(ltc::device());
  outliving() = torch::zeros({3}, ltc::device()).gather(0, index);
  ltc::mark_step();
  exit(0);
}

TEST_F(CppProcess, SaysAtExitWhatNobodySaw) {
  EXPECT_EXIT(failAndExit(), testing::ExitedWithCode(0),
              "a step that nobody waited for had failed.*out of range");
}

} // namespace
