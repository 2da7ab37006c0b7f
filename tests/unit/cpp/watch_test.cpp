//===- watch_test.cpp - Guards and profiles -------------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "errors.h"

#include <ltc/ltc.h>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

using torch::Tensor;
namespace fs = std::filesystem;

namespace {

/// A graph that no other has.
Tensor newGraph(int64_t size) {
  return torch::ones({size, 3}, ltc::device()).atan().mul(size).sum();
}

TEST(CompileGuard, RaisesAtTheGraphTooMany) {
  ltc::device();
  ltc::CompileGuard guard(1);
  Tensor first = newGraph(41), second;
  ltc::mark_step();
  EXPECT_EQ(guard.compiled(), 1u);
  second = newGraph(42).exp();
  EXPECT_SAYS(errorOf([] { ltc::mark_step(); }),
              "2 graphs were compiled where at most 1 may be");
  EXPECT_EQ(guard.compiled(), 2u);
  EXPECT_GT(second.item<float>(), 0);
}

TEST(CompileGuard, CountsItsThreadWhileItLives) {
  ltc::device();
  {
    ltc::CompileGuard guard;
    std::thread([] { newGraph(51).log().item<float>(); }).join();
    EXPECT_EQ(guard.compiled(), 0u);
    EXPECT_SAYS(errorOf([] { newGraph(52).exp2().item<float>(); }),
                "a graph was compiled where none may be");
  }
  EXPECT_EQ(errorOf([] { newGraph(53).cos().item<float>(); }), "");
}

class Profile : public testing::Test {
protected:
  ~Profile() override { fs::remove_all(directory); }

  std::string read(const char *name) const {
    std::ifstream file(directory / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const fs::path directory =
      fs::temp_directory_path() / ("ltc_profile_" + std::to_string(getpid()));
};

TEST_F(Profile, WritesStepsSyncsAndRuns) {
  ltc::profile_start();
  for (int step = 0; step < 3; ++step) {
    LTC_SOURCE_HERE();
    Tensor x = newGraph(61);
    ltc::mark_step();
    x.item<float>();
  }
  ltc::set_source(0);
  ltc::profile_stop(directory);
  std::string profile = read("profile.json"), trace = read("trace.json");
  EXPECT_SAYS(profile, R"("format": "torch_ltc.profile")");
  EXPECT_SAYS(profile, R"("number": 3)");
  EXPECT_SAYS(profile, R"("cause": "mark_step")");
  EXPECT_SAYS(profile, "watch_test.cpp");
  EXPECT_SAYS(trace, R"("name": "step 3")");
  EXPECT_SAYS(trace, R"("name": "item")");
}

TEST_F(Profile, IsRefusedWhereOneIsOnOrNoneIs) {
  EXPECT_SAYS(errorOf([&] { ltc::profile_stop(directory); }),
              "no profile is on");
  ltc::profile_start();
  EXPECT_SAYS(errorOf([] { ltc::profile_start(); }), "a profile is on already");
  EXPECT_SAYS(errorOf([] { ltc::profile_stop("/proc/no/such"); }),
              "the profile cannot be written into /proc/no/such");
  // It has ended all the same.
  EXPECT_SAYS(errorOf([&] { ltc::profile_stop(directory); }),
              "no profile is on");
}

} // namespace
