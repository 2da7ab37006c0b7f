//===- copy_kernels_test.cpp - Copies of memory as kernels ----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On the GPU of tests/fake_cuda, which interprets them: it ends the context for
// an address that is not aligned or outside of an allocation.
//
//===----------------------------------------------------------------------===//
#include "drivers/cuda/copy_kernels.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

using namespace ltc::cuda;

namespace {

class CopyKernelsTest : public ::testing::Test {
protected:
  static constexpr size_t kBytes = 40000;

  void SetUp() override {
    ASSERT_FALSE(start());
    ASSERT_EQ(api().cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(api().cuCtxPushCurrent(context), CUDA_SUCCESS);
    ASSERT_EQ(api().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
              CUDA_SUCCESS);
    ASSERT_EQ(api().cuMemAlloc(&memory, kBytes), CUDA_SUCCESS);
    std::iota(before.begin(), before.end(), 0);
    for (size_t i = 0; i < kBytes; ++i)
      before[i] = char(before[i] ^ (i >> 8));
    ASSERT_FALSE(CopyKernels::load(kernels));
  }

  void TearDown() override {
    kernels.reset();
    api().cuMemFree(memory);
    api().cuStreamDestroy(stream);
    CUcontext ours;
    api().cuCtxPopCurrent(&ours);
    api().cuDevicePrimaryCtxRelease(0);
  }

  /// All of the memory behind a copy within it.
  std::vector<char> copied(size_t to, size_t from, size_t bytes) {
    std::vector<char> after(kBytes);
    int64_t words[] = {int64_t(memory + to), int64_t(memory + from),
                       int64_t(bytes)};
    void *parameters[] = {words};
    CopyLaunch copy = kernels->launch(memory + to, memory + from, bytes);
    EXPECT_EQ(api().cuMemcpyHtoDAsync(memory, before.data(), kBytes, stream),
              CUDA_SUCCESS);
    EXPECT_EQ(api().cuLaunchKernel(copy.function, copy.blocks, 1, 1,
                                   copy.threads, 1, 1, 0, stream, parameters,
                                   nullptr),
              CUDA_SUCCESS);
    EXPECT_EQ(api().cuMemcpyDtoHAsync(after.data(), memory, kBytes, stream),
              CUDA_SUCCESS);
    EXPECT_EQ(api().cuStreamSynchronize(stream), CUDA_SUCCESS);
    return after;
  }

  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;
  std::vector<char> before = std::vector<char>(kBytes);
  std::unique_ptr<CopyKernels> kernels;
};

TEST_F(CopyKernelsTest, MoveWhatMemmoveMoves) {
  struct {
    size_t to, from, bytes;
  } copies[] = {
      {20000, 0, 16384},                       // one block of 16 bytes a thread
      {20000, 16, 16400},   {20016, 0, 17},    // more, and an odd number
      {20000, 4, 4100},     {39999, 0, 1},     // 4 bytes a thread, and 1
      {16, 0, 39984},       {0, 16, 39984},    // within itself, both ways
      {4, 0, 20000},        {0, 4, 20000},     //
      {1, 0, 3000},         {0, 1, 3000},      //
      {1000, 1016, 0x1000}, {1016, 1000, 1040} //
  };
  for (auto [to, from, bytes] : copies) {
    std::vector<char> wanted = before;
    std::memmove(wanted.data() + to, wanted.data() + from, bytes);
    EXPECT_EQ(copied(to, from, bytes), wanted)
        << bytes << " bytes from " << from << " to " << to;
  }
}

} // namespace
