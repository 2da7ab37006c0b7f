//===- code_memory_test.cpp - Code of many programs in few maps -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "drivers/cpu/code_memory.h"
#include "memory_maps.h"

#include <algorithm>
#include <cerrno>
#include <random>
#include <thread>
#include <utility>

using ltc::cpu::CodeMemory;

namespace {

constexpr size_t KiB = 1024;

/// A block full of `what`, which could be run.
CodeMemory::Block write(CodeMemory &memory, size_t bytes, char what) {
  CodeMemory::Block block = memory.allocate(bytes);
  EXPECT_NE(block.data, nullptr);
  if (!block.data)
    return block;
  // Nothing is left of whoever had it before.
  EXPECT_EQ(std::count(block.data, block.data + block.bytes, 0),
            ptrdiff_t(block.bytes));
  std::fill_n(block.data, bytes, what);
  EXPECT_TRUE(CodeMemory::seal(block, block.bytes));
  return block;
}

TEST(CodeMemory, IsWrittenFirstAndRunThen) {
  CodeMemory memory;
  CodeMemory::Block block = memory.allocate(5000);
  ASSERT_NE(block.data, nullptr);
  EXPECT_EQ(block.bytes % CodeMemory::pageBytes(), 0u);
  EXPECT_GE(block.bytes, 5000u);
  EXPECT_EQ(maps::accessOf(block.data), "rw-");
  ASSERT_TRUE(CodeMemory::seal(block, block.bytes));
  EXPECT_EQ(maps::accessOf(block.data), "r-x");
  EXPECT_EQ(maps::accessOf(block.data + block.bytes), "---");
  memory.release(block);
}

TEST(CodeMemory, WhatIsWrittenToLaterIsNeverRun) {
  CodeMemory memory;
  size_t page = CodeMemory::pageBytes();
  CodeMemory::Block block = memory.allocate(3 * page);
  ASSERT_TRUE(CodeMemory::seal(block, page));
  EXPECT_EQ(maps::accessOf(block.data), "r-x");
  EXPECT_EQ(maps::accessOf(block.data + page), "rw-");
  memory.release(block);
  EXPECT_EQ(maps::accessOf(block.data + page), "r-x"); // one map again
}

TEST(CodeMemory, ManyProgramsAreAFewMaps) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer maps memory of its own meanwhile";
#endif
  CodeMemory memory;
  size_t before = maps::all().size();
  std::vector<CodeMemory::Block> blocks;
  for (int i = 0; i < 20'000; ++i)
    blocks.push_back(write(memory, 100 + size_t(i) * 37 % 9000, char(i)));
  EXPECT_LT(maps::all().size(), before + 150);
  // So they are when every other one is gone, and when others came.
  for (size_t i = 0; i < blocks.size(); i += 2)
    memory.release(std::exchange(blocks[i], {}));
  EXPECT_LT(maps::all().size(), before + 150);
  size_t reserved = memory.reserved();
  for (size_t i = 0; i < blocks.size(); i += 2)
    blocks[i] = write(memory, 100 + i * 37 % 4000, char(i));
  EXPECT_EQ(memory.reserved(), reserved); // what was freed is used first
  for (size_t i = 0; i < blocks.size(); ++i)
    EXPECT_EQ(*blocks[i].data, char(i)) << i;
  for (CodeMemory::Block block : blocks)
    memory.release(block);
  EXPECT_LT(maps::all().size(), before + 5);
  EXPECT_LE(memory.reserved(), 4096 * KiB);
}

TEST(CodeMemory, ALargeProgramHasARegionOfItsOwn) {
  CodeMemory memory;
  CodeMemory::Block small = write(memory, 100, 'a');
  CodeMemory::Block large = write(memory, 9000 * KiB, 'b');
  EXPECT_EQ(large.data[9000 * KiB - 1], 'b');
  EXPECT_GE(memory.reserved(), 13000 * KiB);
  memory.release(large);
  memory.release(small);
  EXPECT_LE(memory.reserved(), 9000 * KiB); // one of the two
}

TEST(CodeMemory, AddressSpaceThatCannotBeHadIsNoCrash) {
  CodeMemory memory;
  errno = 0;
  CodeMemory::Block block = memory.allocate(size_t(1) << 62);
  EXPECT_EQ(block.data, nullptr);
  EXPECT_EQ(errno, ENOMEM);
  memory.release(write(memory, 10, 'a'));
}

TEST(CodeMemory, TellsOnceThatMapsRunOut) {
  if (!maps::limit())
    GTEST_SKIP() << "this system allows very many memory maps";
  auto grow = [](const char *when) {
    CodeMemory memory;
    ::testing::internal::CaptureStderr();
    CodeMemory::Block block = memory.allocate(100);
    std::string told = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(block.data, nullptr) << when;
    memory.release(block);
    return told;
  };
  EXPECT_EQ(grow("with many left"), "");
  maps::Filler filler(/*left=*/maps::limit() / 16);
  std::string told = grow("with few left");
  EXPECT_NE(told.find("[ltc warn execute] memory will soon be refused; the "
                      "process has "),
            told.npos)
      << told;
  EXPECT_NE(told.find("sysctl -w vm.max_map_count="), told.npos) << told;
  EXPECT_EQ(grow("again"), "");
}

TEST(CodeMemory, BlocksOfSeveralThreadsDoNotMeet) {
  CodeMemory memory;
  auto work = [&](char mine) {
    std::minstd_rand random{unsigned(mine)};
    std::vector<CodeMemory::Block> blocks;
    for (int i = 0; i < 2000; ++i) {
      blocks.push_back(write(memory, 1 + random() % 20'000, mine));
      if (random() % 2) {
        std::swap(blocks[random() % blocks.size()], blocks.back());
        EXPECT_EQ(*blocks.back().data, mine);
        memory.release(blocks.back());
        blocks.pop_back();
      }
    }
    for (CodeMemory::Block block : blocks) {
      EXPECT_EQ(*block.data, mine);
      memory.release(block);
    }
  };
  std::vector<std::thread> threads;
  for (char mine : {'a', 'b', 'c'})
    threads.emplace_back(work, mine);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_LE(memory.reserved(), 4096 * KiB);
}

} // namespace
