//===- collectives/collective_place.cpp - Whose tensors it takes ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/collectives/collective_place.h"

namespace ltc::backend {
using c10d::ProcessGroup;

/// As PyTorch names it, also in the wrapper of TORCH_DISTRIBUTED_DEBUG.
static std::string nameOf(const c10d::Backend &backend) {
  try {
    return backend.getBackendName();
  } catch (const c10::Error &) {
    return {}; // another package's may have none
  }
}

at::DeviceType placeOf(ProcessGroup &group) {
  return nameOf(*group.getBackend(at::kLazy)) == "nccl" ? at::kCUDA : at::kCPU;
}

c10::intrusive_ptr<ProcessGroup>
groupIn(at::DeviceType place, const c10::intrusive_ptr<ProcessGroup> &group) {
  auto backend = group->getBackend(at::kLazy);
  if (group->hasBackendForDeviceType(place) &&
      group->getBackend(place) == backend)
    return group;
  auto there =
      c10::make_intrusive<ProcessGroup>(group->getRank(), group->getSize());
  there->setBackend(place, ProcessGroup::BackendType::CUSTOM, backend);
  there->setDefaultBackend(ProcessGroup::BackendType::CUSTOM);
  return there;
}

} // namespace ltc::backend
