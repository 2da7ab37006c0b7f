//===- api_test.cpp - What C++ programs call ------------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "errors.h"

#include <ltc/ltc.h>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <thread>

using torch::Tensor;

int64_t launchesIn17();

namespace {

int64_t count(const std::string &name) { return ltc::metrics()[name]; }

/// Recorded, and not yet computed.
Tensor recorded() { return torch::full({3}, 2., ltc::device()).mul(3); }

TEST(CppApi, GivesTheDevice) {
  torch::Device device = ltc::device(0);
  EXPECT_EQ(device.str(), "lazy:0");
  EXPECT_SAYS(errorOf([] { ltc::device(99); }), "there is no device lazy:99");
}

TEST(CppApi, SetsSettings) {
  ltc::initialize({{"max_pending_ops", "1000"}});
  EXPECT_SAYS(errorOf([] { ltc::initialize({{"max_pending_opps", "1"}}); }),
              "max_pending_ops");
  EXPECT_SAYS(errorOf([] { ltc::initialize({{"max_pending_ops", "many"}}); }),
              "many");
}

TEST(CppApi, MarksSteps) {
  ltc::initialize({{"tiers", "off"}});
  ltc::synchronize();
  int64_t before = count("execute.launches");
  Tensor x = recorded();
  EXPECT_EQ(count("execute.launches"), before);
  ltc::mark_step();
  ltc::synchronize();
  EXPECT_EQ(count("execute.launches"), before + 1);
  EXPECT_TRUE(x.cpu().equal(torch::full({3}, 6.)));
  EXPECT_EQ(count("execute.launches"), before + 1);
  Tensor y = recorded();
  ltc::mark_step(/*wait=*/true, ltc::device(0));
  EXPECT_EQ(launchesIn17(), before + 2);
}

TEST(CppApi, RefusesOtherDevices) {
  for (auto call : {+[] { ltc::mark_step(false, torch::kCPU); },
                    +[] { ltc::synchronize(torch::kCPU); },
                    +[] { ltc::memory_allocated(torch::kCPU); }})
    EXPECT_SAYS(errorOf(call), "the device is cpu, and must be lazy");
}

TEST(CppApi, SeedsRandomNumbers) {
  auto draw = [](auto seed) {
    seed(7);
    return torch::rand({8}, ltc::device()).cpu();
  };
  Tensor first = draw(ltc::manual_seed);
  EXPECT_FALSE(torch::rand({8}, ltc::device()).cpu().equal(first));
  EXPECT_TRUE(draw(ltc::manual_seed).equal(first));
  EXPECT_TRUE(draw([](uint64_t n) { torch::manual_seed(n); }).equal(first));
}

TEST(CppApi, CountsMemory) {
  ltc::synchronize();
  ltc::reset_peak_memory_stats();
  size_t before = ltc::memory_allocated();
  {
    Tensor x = torch::ones({1 << 20}, ltc::device()).add(1);
    ltc::synchronize();
    EXPECT_GE(ltc::memory_allocated(), before + (4 << 20));
  }
  EXPECT_LT(ltc::memory_allocated(), before + (4 << 20));
  EXPECT_GE(ltc::max_memory_allocated(), before + (4 << 20));
  EXPECT_GE(ltc::memory_reserved(), ltc::memory_allocated());
}

TEST(CppApi, ExplainsCompiles) {
  Tensor x = torch::ones({5}, ltc::device()).asinh().sum();
  ltc::initialize({{"tiers", "off"}});
  x.item<float>();
  EXPECT_SAYS(ltc::explain(), " graphs compiled, 0 loaded from disk");
  EXPECT_SAYS(ltc::explain(), "first_use");
}

TEST(CppApi, ExplainsWhatIsNotCompiled) {
  ltc::initialize({{"tiers", "auto"}});
  for (int i = 0; i < 3; ++i)
    torch::ones({70, 70}, ltc::device()).acos().cos().sum().item<float>();
  ltc::initialize({{"tiers", "off"}});
  EXPECT_SAYS(ltc::explain(), "graphs not compiled");
  EXPECT_SAYS(ltc::explain(), " runs call by call, at an unknown line");
}

TEST(CppApi, ThrowsAtTheOp) {
  Tensor a = torch::ones({2, 3}, ltc::device());
  std::string error = errorOf([&] { a.matmul(a); });
  EXPECT_SAYS(error, "2x3 and 2x3");
  EXPECT_EQ(error, errorOf([&] { a.cpu().matmul(a.cpu()); }));
}

TEST(CppApi, ThrowsWhereAValueIsRead) {
  Tensor index = torch::tensor({1, 30}).to(ltc::device());
  Tensor x = torch::zeros({3}, ltc::device()).gather(0, index);
  ltc::mark_step();
  EXPECT_SAYS(errorOf([&] { x.cpu(); }), "aten::gather");
  EXPECT_TRUE(recorded().cpu().equal(torch::full({3}, 6.)));
}

TEST(CppApi, NamesTheLineOfAFailure) {
  Tensor index = torch::tensor({1, 30, 2}).to(ltc::device());
  LTC_SOURCE_HERE();
  Tensor x = torch::zeros({4}, ltc::device()).gather(0, index);
  std::string line = "api_test.cpp:" + std::to_string(__LINE__ - 2);
  ltc::set_source(0);
  ltc::mark_step();
  EXPECT_SAYS(errorOf([&] { x.cpu(); }), line);
}

TEST(CppApi, MarksDimensions) {
  auto compiled = [](auto mark) {
    int64_t before = count("codegen.graphs");
    for (int64_t size : {21, 22, 23}) {
      Tensor x = torch::ones({size, 3}).to(ltc::device());
      mark(x);
      EXPECT_EQ(x.acosh().sum().item<float>(), 0);
    }
    return count("codegen.graphs") - before;
  };
  EXPECT_LE(compiled([](Tensor &x) { ltc::mark_dynamic(x, 0); }), 1);
  EXPECT_SAYS(errorOf([] { ltc::mark_static(torch::ones({2}), 0); }), "lazy");
}

TEST(CppApi, ServesThreads) {
  std::vector<Tensor> sums(4);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&sums, i] {
      Tensor x = torch::zeros({16}, ltc::device());
      for (int step = 0; step < 25; ++step) {
        x = x + i;
        ltc::mark_step();
      }
      sums[i] = x.sum().cpu();
    });
  for (std::thread &thread : threads)
    thread.join();
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(sums[i].item<float>(), 16 * 25 * i);
}

} // namespace
