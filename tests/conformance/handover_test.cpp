//===- handover_test.cpp - What a device is handed of a graph -------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Graphs whose ops the device, its compiler and the host share, as
// docs/hand-over.md says. Results are the reference's whoever does what.
//
//===----------------------------------------------------------------------===//
#include "real_host.h"

#include "ltc/metrics.h"

#include <thread>

using namespace conformance;
using namespace ltc;

namespace {

class Handover : public RealHost {};

/// A device with a compiler of its own.
class HandoverOfParts : public RealHost {
protected:
  void SetUp() override {
    RealHost::SetUp();
    if (IsSkipped())
      return;
    std::string target = property("target");
    std::string kind = target.substr(0, target.find(':'));
    if (kind == "linalg")
      form = LoweredForm::Text;
    else if (kind == "bytecode")
      form = LoweredForm::Bytecode;
    else if (kind == "graph")
      form = LoweredForm::Graph;
    else if (kind == "stablehlo")
      form = LoweredForm::StableHloPart;
    else
      GTEST_SKIP() << "the device has no compiler of its own";
  }

  /// What the device is handed of it.
  std::string lowered(std::string_view graph) {
    Result<std::string> text = compiler()->lower(parse(graph), form);
    EXPECT_TRUE(text) << text.error().message;
    return *text;
  }
  /// The code of a part, or why there is none.
  Failure compile(std::string_view part, std::string &code) {
    ltc_bytes made = {};
    Failure failure =
        take(driver().part_compile(device, {part.data(), part.size()}, &made));
    if (failure.code != LTC_OK)
      return failure;
    code.assign(static_cast<const char *>(made.data), made.size);
    driver().part_free(device, made);
    return failure;
  }

  LoweredForm form = LoweredForm::Text;
};

constexpr std::string_view kProduct = R"(graph {
  %0 = input f32[5, 7]
  %1 = input f32[7, 3]
  %2 = aten::mm(self=%0, mat2=%1) : f32[5, 3]
  output %2
})";

constexpr std::string_view kLayer = R"(graph {
  %0 = input f32[5, 7]
  %1 = input f32[7, 3]
  %2 = input f32[3]
  %3 = aten::addmm(self=%2, mat1=%0, mat2=%1, beta=1, alpha=1) : f32[5, 3]
  %4 = aten::relu(self=%3) : f32[5, 3]
  %5 = aten::sum.dim_IntList(self=%4, dim=[1], keepdim=false, dtype=none) : f32[5]
  output %4
  output %5
})";

// What most devices leave stands between what most take, and both use a value.
constexpr std::string_view kMixed = R"(graph {
  %0 = input f32[6, 6]
  %1 = input f32[6, 6]
  %2 = input f32[1, 1, 3, 3]
  %3 = aten::mm(self=%0, mat2=%1) : f32[6, 6]
  %4 = aten::view_copy(self=%3, size=[1, 1, 6, 6]) : f32[1, 1, 6, 6]
  %5 = aten::convolution(input=%4, weight=%2, bias=none, stride=[1, 1], padding=[1, 1], dilation=[1, 1], transposed=false, output_padding=[0, 0], groups=1) : f32[1, 1, 6, 6]
  %6 = aten::view_copy(self=%5, size=[6, 6]) : f32[6, 6]
  %7 = aten::mul.Tensor(self=%6, other=%3) : f32[6, 6]
  %8 = aten::t_copy(self=%7) : f32[6, 6]
  %9 = aten::mm(self=%8, mat2=%3) : f32[6, 6]
  %10 = aten::_softmax(self=%9, dim=0, half_to_float=false) : f32[6, 6]
  output %10
  output %6
})";

constexpr std::string_view kDoubles = R"(graph {
  %0 = input f64[4, 9]
  %1 = input f64[9, 4]
  %2 = aten::mm(self=%0, mat2=%1) : f64[4, 4]
  %3 = aten::tanh(self=%2) : f64[4, 4]
  output %3
})";

constexpr std::string_view kDonated = R"(graph {
  %0 = input f32[8, 8]
  %1 = input f32[8, 8]
  %2 = aten::mm(self=%0, mat2=%1) : f32[8, 8]
  %3 = aten::add.Tensor(self=%0, other=%2, alpha=1) : f32[8, 8]
  %4 = aten::mm(self=%2, mat2=%3) : f32[8, 8]
  output %3 donates %0
  output %4
})";

TEST_F(Handover, AProductHasItsValues) { expectEqual(kProduct); }
TEST_F(Handover, ALayerHasItsValues) { expectEqual(kLayer); }
TEST_F(Handover, WorkOfSeveralHandsHasItsValues) { expectEqual(kMixed, 1e-4); }
TEST_F(Handover, DoublesAreNotRounded) { expectEqual(kDoubles, 1e-12); }
TEST_F(Handover, DonatedMemoryIsReadBeforeItIsWritten) {
  expectEqual(kDonated, 1e-4);
}

TEST_F(Handover, AGraphRunsAgainAndAgain) {
  for (int i = 0; i < 5; ++i)
    expectEqual(kMixed, 1e-4);
}

TEST_F(Handover, CallsAreTakenAlikeEachTime) {
  if (!driver().call_taken || takesCalls())
    GTEST_SKIP() << "the device is not asked";
  for (std::string call :
       {std::string(kProduct), std::string(kDoubles), std::string("garbage"),
        std::string(),
        std::string("graph {\n  %0 = input f32[2]\n  %1 = "
                    "no::such(x=%0) : f32[2]\n  output %1\n}")}) {
    auto ask = [&] {
      return driver().call_taken(device, {call.data(), call.size()}) != 0;
    };
    bool first = ask();
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(ask(), first) << call;
  }
}

TEST_F(HandoverOfParts, WhatItTakesIsInParts) {
  auto parts = [] {
    return counter("codegen.parts").get() +
           counter("codegen.parts_refused").get();
  };
  // One that no other test has had compiled.
  std::string call = R"(graph {
  %0 = input f32[6, 5]
  %1 = input f32[5, 4]
  %2 = aten::mm(self=%0, mat2=%1) : f32[6, 4]
  output %2
})";
  if (!driver().call_taken ||
      !driver().call_taken(device, {call.data(), call.size()}))
    GTEST_SKIP() << "the device does not take it";
  int64_t before = parts();
  expectEqual(call);
  EXPECT_GT(parts(), before);
}

TEST_F(HandoverOfParts, RefusesWhatIsNoPart) {
  std::string good = lowered(kProduct);
  for (std::string part : {std::string(), std::string("garbage"),
                           good.substr(0, good.size() / 2)}) {
    std::string code;
    Failure failure = compile(part, code);
    EXPECT_NE(failure.code, LTC_OK) << part;
    EXPECT_NE(failure.message, "");
  }
  // It is as usable as before.
  expectEqual(kProduct);
}

TEST_F(HandoverOfParts, CompilesFromManyThreads) {
  std::string part = lowered(kLayer);
  std::string alone;
  Failure failure = compile(part, alone);
  if (failure.code == LTC_UNSUPPORTED)
    GTEST_SKIP() << failure.message;
  ASSERT_EQ(failure.code, LTC_OK) << failure.message;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 20; ++n) {
        std::string code;
        EXPECT_EQ(compile(part, code).code, LTC_OK);
        EXPECT_EQ(code.size(), alone.size());
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace
