//===- graph/traced_graph.h - What leads to some tensors --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// torch._lazy's functions for looking at graphs (torch_ltc.lazy.lazy_core).
// PyTorch's own have its executor collect, which knows nothing of our nodes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/graph/collect.h"

#include <ATen/core/ivalue.h>

namespace ltc::backend {

/// As collect(), to look and not to launch: no later collection is another for
/// it. With the list's lock.
Collection collectToLook(int64_t device, PendingList &list,
                         Recorded whose = {});

/// The graph of lazy tensors of one device, without what other tensors need.
class TracedGraph {
public:
  /// Raises if they are not lazy, or of several devices.
  LTC_API explicit TracedGraph(const std::vector<at::Tensor> &tensors);

  const Graph &get() const { return graph; }
  /// Of the graph and of what the tensors are of it.
  LTC_API Hash128 key() const;
  /// One an input: its values on the CPU, or the number, and PyTorch's number
  /// of the tensor that has it, or -1. Waits. Release the GIL first.
  LTC_API std::pair<std::vector<int64_t>, std::vector<c10::IValue>>
  inputs() const;
  /// One a tensor: the number of the graph's output, or counted from there on,
  /// of the input that it is.
  const std::vector<uint32_t> &results() const { return places; }

private:
  struct Input {
    std::shared_ptr<DeviceData> data; ///< null for a number
    Operand number;
  };
  uint32_t placeOf(const std::shared_ptr<DeviceData> &data);

  Graph graph;
  std::vector<Input> given; ///< the graph's, then tensors that are only data
  std::vector<uint32_t> places;
};

/// The nodes that lead to lazy tensors, as PyTorch prints them. Raises as
/// TracedGraph does.
LTC_API std::string nodeText(const std::vector<at::Tensor> &tensors,
                             bool asDot);

/// PyTorch's number of a lazy tensor. Raises if it is none.
LTC_API int64_t tensorId(const at::Tensor &tensor);

} // namespace ltc::backend
