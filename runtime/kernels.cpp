//===- kernels.cpp - What the process lends to drivers ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/kernels.h"

#include <algorithm>

namespace ltc {

// Never destroyed: a queue drained at exit may still call a kernel.
static HostServices &services() {
  static auto *services = new HostServices;
  return *services;
}

static Error unsupported(const char *why) {
  return {ErrorCode::Unsupported, Stage::Execute, why, "", {}, ""};
}

Status Kernel::runOn(void *, std::span<const KernelView>,
                     std::span<const KernelView>) {
  return unsupported("the kernel is for the host's memory");
}

Result<std::unique_ptr<Capture>> Kernel::capture(void *) {
  return unsupported("the kernel cannot be captured");
}

void setHostServices(HostServices lent) { services() = std::move(lent); }

const HostServices &hostServices() { return services(); }

unsigned hostThreads() {
  auto count = services().threadCount;
  return count ? std::max(1u, count()) : 1;
}

} // namespace ltc
