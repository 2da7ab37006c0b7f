//===- collectives/collective_place.h - Whose tensors it takes --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NCCL takes PyTorch's CUDA tensors, and every other library those of the CPU.
// All else about a collective is the same.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <c10/core/DeviceType.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

namespace ltc::backend {

/// Where the library that a group has for lazy tensors takes them.
at::DeviceType placeOf(c10d::ProcessGroup &group);
/// The group, with the library of lazy tensors for those of `place`.
c10::intrusive_ptr<c10d::ProcessGroup>
groupIn(at::DeviceType place,
        const c10::intrusive_ptr<c10d::ProcessGroup> &group);

} // namespace ltc::backend
