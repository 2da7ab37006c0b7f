//===- lent_generator.cpp - The process's generator, lent out -------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/lent_generator.h"

#include "ltc_backend/waiting.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>

#include <map>
#include <mutex>

namespace ltc::backend {
namespace {
/// Of one device.
struct Lending {
  explicit Lending(at::Device device)
      : process(at::globalContext().defaultGenerator(device)) {}

  at::Generator process;
  /// Held while it is lent, or must not be; again by who lends it within that.
  std::recursive_mutex one;
  /// What each of these found, the user's own state at the bottom. Guarded by
  /// the process's generator's mutex, as all of its draws are.
  std::vector<at::Generator> kept;

  void exchange(const at::Generator &state) {
    process.set_state(state.get_state());
  }
};
} // namespace

static Lending &lendingOf(at::Device device) {
  static auto *cpu = new Lending(at::kCPU);
  if (device.is_cpu())
    return *cpu;
  static std::mutex mutex;
  static auto *others = new std::map<std::string, Lending>;
  std::lock_guard lock(mutex);
  return others->try_emplace(device.str(), device).first->second;
}

static Lending &lending() { return lendingOf(at::kCPU); }

UnlentGenerator::UnlentGenerator(at::Device device) : device(device) {
  Lending &all = lendingOf(device);
  if (all.one.try_lock())
    return;
  Waiting waiting; // for a kernel that may be one of Python's
  all.one.lock();
}

UnlentGenerator::~UnlentGenerator() { lendingOf(device).one.unlock(); }

LentGenerator::LentGenerator(const at::Generator &generator)
    : toOthers(generator.device()) {
  Lending &all = lendingOf(toOthers.device);
  std::lock_guard lock(all.process.mutex());
  all.kept.push_back(all.process.clone());
  all.exchange(generator);
}

LentGenerator::~LentGenerator() {
  Lending &all = lendingOf(toOthers.device);
  std::lock_guard lock(all.process.mutex());
  all.exchange(all.kept.back());
  all.kept.pop_back();
}

uint64_t drawFromProcess() {
  Lending &all = lending();
  std::lock_guard lock(all.process.mutex());
  at::Generator &user = all.kept.empty() ? all.process : all.kept.front();
  return at::check_generator<at::CPUGeneratorImpl>(user)->random64();
}

uint64_t drawSeed(const std::optional<at::Generator> &given) {
  if (!given || *given == at::detail::getDefaultCPUGenerator())
    return drawFromProcess() >> 1;
  at::Generator generator = *given;
  std::lock_guard lock(generator.mutex());
  return at::check_generator<at::CPUGeneratorImpl>(generator)->random64() >> 1;
}

} // namespace ltc::backend
