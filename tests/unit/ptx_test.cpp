//===- ptx_test.cpp - The interpreter of the fake GPU ---------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "fake_cuda/ptx.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace fake_cuda;

namespace {

/// Kernels get the address of 64 integers, which lie at kMemory.
class Ptx : public ::testing::Test {
protected:
  static constexpr uint64_t kMemory = 4096;

  /// What is wrong with a kernel's lines, or with running them, or "".
  std::string run(const std::string &lines, uint32_t threads) {
    std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n"
                       ".visible .entry k(.param .align 8 .b8 words[8])\n{\n"
                       ".shared .align 4 .b8 place[128];\n"
                       "ld.param.b64 %memory, [words];\n"
                       "mov.u32 %thread, %tid.x;\n"
                       "mul.wide.u32 %at, %thread, 4;\n"
                       "mov.b64 %shared, place;\n"
                       "add.s64 %shared, %shared, %at;\n"
                       "add.s64 %mine, %memory, %at;\n" +
                       lines + "\nret;\n}\n";
    Module module;
    if (auto wrong = parse(text, [](size_t) { return 0; }, module))
      return *wrong;
    uint64_t words[] = {kMemory};
    auto fault = fake_cuda::run(
        module, module.functions.at("k"), "k", 1, threads,
        reinterpret_cast<const char *>(words),
        [&](uint64_t address, size_t bytes) -> char * {
          bool fits =
              address >= kMemory && address + bytes <= kMemory + sizeof(memory);
          return fits ? reinterpret_cast<char *>(memory) + (address - kMemory)
                      : nullptr;
        });
    return fault.value_or("");
  }

  int32_t memory[64] = {};
};

TEST_F(Ptx, ShufflesAddUpAWarp) {
  std::iota(memory, memory + 32, 1);
  std::string lines = "ld.global.b32 %x, [%mine];\n";
  for (int distance : {16, 8, 4, 2, 1})
    lines += "shfl.sync.bfly.b32 %y, %x, " + std::to_string(distance) +
             ", 31, -1;\nadd.s32 %x, %x, %y;\n";
  EXPECT_EQ(run(lines + "st.global.b32 [%mine], %x;", 32), "");
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(memory[i], 32 * 33 / 2);
}

TEST_F(Ptx, ABarrierComesBetweenWritesAndReads) {
  // Each thread reads what the one that counts from the end has written.
  std::string lines = "st.shared.b32 [%shared], %thread;\nbar.sync 0;\n"
                      "sub.s32 %other, 31, %thread;\n"
                      "mul.wide.u32 %at, %other, 4;\nmov.b64 %from, place;\n"
                      "add.s64 %from, %from, %at;\n"
                      "ld.shared.b32 %x, [%from];\nst.global.b32 [%mine], %x;";
  EXPECT_EQ(run(lines, 32), "");
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(memory[i], 31 - i);
}

TEST_F(Ptx, ABarrierThatSomeNeverReachIsAFault) {
  std::string lines = "setp.gt.u32 %p, %thread, 7;\n@%p bra END;\nbar.sync 0;\n"
                      "END:";
  EXPECT_NE(run(lines, 32).find("that others never reach"), std::string::npos);
}

TEST_F(Ptx, AddressesOfNobodyAndBetweenElementsAreFaults) {
  EXPECT_NE(run("ld.global.b32 %x, [%mine+256];", 32).find("of no memory"),
            std::string::npos);
  EXPECT_NE(run("ld.global.b32 %x, [%mine+2];", 1).find("misaligned"),
            std::string::npos);
  EXPECT_NE(run("ld.shared.b32 %x, [%shared+128];", 1).find("of no memory"),
            std::string::npos);
}

TEST_F(Ptx, ConversionsClampAndRound) {
  // -1.5 to the nearest even integer, 3e9 to the largest of 32 bits.
  EXPECT_EQ(run("cvt.rni.s32.f32 %x, 0fBFC00000;\nst.global.b32 [%mine], %x;\n"
                "cvt.rzi.s32.f32 %x, 0f4F32D05E;\n"
                "st.global.b32 [%mine+4], %x;\n"
                "cvt.rn.f16.f32 %h, 0f477FF000;\n"
                "st.global.b16 [%mine+8], %h;",
                1),
            "");
  EXPECT_EQ(memory[0], -2);
  EXPECT_EQ(memory[1], INT32_MAX);
  EXPECT_EQ(memory[2], 0x7c00); // 65520 is beyond a half
}

TEST_F(Ptx, PairsOfHalvesAreComparedEach) {
  // (2, 1) < (1, 2), the first in the lower half.
  EXPECT_EQ(run("setp.lt.f16x2 %p|%q, 0x3C004000, 0x40003C00;\n"
                "selp.b32 %x, 5, 6, %p;\nst.global.b32 [%mine], %x;\n"
                "selp.b32 %x, 5, 6, %q;\nst.global.b32 [%mine+4], %x;\n"
                "max.u16x2 %x, 0x00050009, 0x00070001;\n"
                "st.global.b32 [%mine+8], %x;",
                1),
            "");
  EXPECT_EQ(memory[0], 6);
  EXPECT_EQ(memory[1], 5);
  EXPECT_EQ(memory[2], 0x00070009);
}

TEST_F(Ptx, WhatItDoesNotKnowIsNamed) {
  EXPECT_NE(run("tanh.approx.f32 %x, %y;", 1).find("tanh.approx.f32"),
            std::string::npos);
  EXPECT_NE(run("bra NOWHERE;", 1).find("NOWHERE"), std::string::npos);
  EXPECT_NE(run(".shared .b8 large[50000];", 1).find("shared"),
            std::string::npos);
}

} // namespace
