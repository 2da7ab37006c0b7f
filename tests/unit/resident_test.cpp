//===- resident_test.cpp - Memory that need not stay resident -------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/resident.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

using namespace ltc::runtime;

namespace {

/// Three pages, all ones.
class Resident : public ::testing::Test {
protected:
  const size_t page = size_t(sysconf(_SC_PAGESIZE));
  char *memory =
      static_cast<char *>(mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  void SetUp() override {
    ASSERT_NE(memory, MAP_FAILED);
    std::fill(memory, memory + 3 * page, 1);
  }
  void TearDown() override { munmap(memory, 3 * page); }

  bool isResident(size_t number) {
    unsigned char answer = 0;
    EXPECT_EQ(mincore(memory + number * page, page, &answer), 0);
    return answer & 1;
  }
};

TEST_F(Resident, OnlyWholePagesAreDiscarded) {
  discardContents(memory + 8, 3 * page - 16);
  EXPECT_TRUE(isResident(0));
  EXPECT_FALSE(isResident(1));
  EXPECT_TRUE(isResident(2));
  for (size_t i = 0; i < 3 * page; ++i)
    ASSERT_EQ(memory[i], i / page == 1 ? 0 : 1) << i;
}

TEST_F(Resident, LessThanAPageIsKept) {
  discardContents(memory + 8, page);
  discardContents(memory, 0);
  discardContents(memory + page, page - 1);
  for (size_t i = 0; i < 3 * page; ++i)
    ASSERT_EQ(memory[i], 1) << i;
}

TEST(ThreadHeap, KeepsNoFreePages) {
#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__) ||                    \
    defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "this is about glibc's heap, and the program has another: "
                  "a sanitizer's or that of another C library";
#endif
  keepFreedHeap();
  std::thread([] {
    auto page = uintptr_t(sysconf(_SC_PAGESIZE));
    size_t size = 64 * page;
    auto *block = static_cast<char *>(std::malloc(size));
    std::fill(block, block + size, 1);
    void *inside = block + size / 2 - uintptr_t(block) % page;
    auto isResident = [&] {
      unsigned char answer = 0;
      EXPECT_EQ(mincore(inside, page, &answer), 0);
      return bool(answer & 1);
    };
    std::free(block);
    EXPECT_TRUE(isResident());
    discardFreeEndOfHeap();
    EXPECT_FALSE(isResident());
  }).join();
}

} // namespace
