//===- torch_graph.h - PyTorch's graph of a device --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>

#include <memory>

namespace ltc::backend {

/// One that keeps what it captured, of the stream that is current at begin().
class TorchGraph {
public:
  virtual ~TorchGraph() = default;
  /// `pool`: of another graph, or {0, 0} for a new one. Errors of the device
  /// are this thread's alone.
  virtual void begin(c10::MempoolId_t pool) = 0;
  virtual void end() = 0;
  /// Behind end().
  virtual c10::MempoolId_t pool() = 0;

  /// nullptr: there are none.
  static std::unique_ptr<TorchGraph> make(at::DeviceType type);
  static bool exists(at::DeviceType type);
};

} // namespace ltc::backend
