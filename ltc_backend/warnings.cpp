//===- warnings.cpp - Who hears what PyTorch's kernels warn of ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "warnings.h"

#include <mutex>
#include <set>
#include <string>

namespace ltc::backend {
namespace {
struct Shared {
  std::mutex mutex;
  /// PyTorch's flag is the process's: the first Quiet sets it, the last sets it
  /// back.
  int quiets = 0;
  bool warnsAlways = false;
  std::set<std::string> heard;
};
} // namespace

static Shared &shared() {
  static auto *all = new Shared;
  return *all;
}

Quiet::Quiet() {
  std::lock_guard lock(shared().mutex);
  if (shared().quiets++ == 0) {
    shared().warnsAlways = c10::WarningUtils::get_warnAlways();
    c10::WarningUtils::set_warnAlways(true);
  }
}

Quiet::~Quiet() {
  std::lock_guard lock(shared().mutex);
  if (--shared().quiets == 0)
    c10::WarningUtils::set_warnAlways(shared().warnsAlways);
}

void Listener::Ear::process(const c10::Warning &warning) {
  heard.push_back(warning);
  std::lock_guard lock(shared().mutex);
  shared().heard.insert(warning.msg());
}

void OnlyUnheard::Filter::process(const c10::Warning &warning) {
  {
    std::lock_guard lock(shared().mutex);
    if (shared().heard.contains(warning.msg()))
      return;
  }
  next->process(warning);
}

} // namespace ltc::backend
