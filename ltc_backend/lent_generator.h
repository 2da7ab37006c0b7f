//===- lent_generator.h - The process's generator, lent out -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A few random operators take no generator and draw from the process's. When
// they run for a seed, or are only asked about a call, the user's numbers must
// not depend on it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/Generator.h>

namespace ltc::backend {

/// While it lives, the process's generator of a device is lent to no other
/// thread: for draws of the user's by ATen's own kernels.
class UnlentGenerator {
public:
  explicit UnlentGenerator(at::Device device = at::kCPU);
  ~UnlentGenerator();
  UnlentGenerator(const UnlentGenerator &) = delete;
  UnlentGenerator &operator=(const UnlentGenerator &) = delete;

  const at::Device device;
};

/// While it lives, whoever draws from the process's generator of that device
/// gets the numbers of `generator`, but for drawFromProcess(). One at a time:
/// another thread waits. ATen's own draws by other threads meanwhile are
/// undone.
class LentGenerator {
public:
  explicit LentGenerator(const at::Generator &generator);
  ~LentGenerator();
  LentGenerator(const LentGenerator &) = delete;
  LentGenerator &operator=(const LentGenerator &) = delete;

private:
  UnlentGenerator toOthers;
};

/// The next 64 bits of the process's CPU generator, lent out or not. Any
/// thread.
uint64_t drawFromProcess();
/// The seed of an op that is to draw from `generator`, or from the process's.
uint64_t drawSeed(const std::optional<at::Generator> &generator);

} // namespace ltc::backend
