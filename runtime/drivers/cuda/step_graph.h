//===- step_graph.h - Steps as one CUDA graph -------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "work_list.h"

namespace ltc::cuda {

/// One launch in the place of many, for steps that repeat themselves. From one
/// thread at a time, in the GPU's context.
class StepGraph {
public:
  StepGraph() = default;
  ~StepGraph() { drop(); }
  StepGraph(const StepGraph &) = delete;

  /// Queues the work, as one graph from the third run on of work that is alike
  /// but for grids and words, and leaves the list with any content. Counts in
  /// `gpu.queued` why it was done piece by piece.
  Outcome run(Gpu &gpu, GpuCalls &calls, CUstream stream, WorkList &work);

private:
  enum class Made {
    Yes,
    Refused,   ///< by the driver
    Uncaptured ///< a call cannot be captured: other steps are to be one graph
  };
  Made prepare(GpuCalls &calls, CUstream stream, WorkList &work);
  Made build(GpuCalls &calls, WorkList &work);
  CUresult addNode(WorkList &work, size_t number, CUgraph captured);
  /// Gives each node what has changed since `given`.
  Made patch(GpuCalls &calls, WorkList &work);
  void drop();

  WorkList given; ///< by the last run
  int runsAlike = 0;
  bool isRefused = false; ///< by the driver, once and for all
  uint64_t settings = 0;  ///< of the library, when its calls were captured
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  std::vector<CUgraphNode> nodes;
};

} // namespace ltc::cuda
