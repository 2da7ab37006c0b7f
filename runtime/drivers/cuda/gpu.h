//===- gpu.h - A GPU, its context and its memory ----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "copy_kernels.h"
#include "drivers/block_pool.h"
#include "drivers/library_calls.h"
#include "named_counts.h"

#include <atomic>
#include <memory>
#include <string_view>
#include <vector>

namespace ltc::cuda {

/// Of one GPU. Any thread.
class GpuMemory final : public BlockPool {
public:
  GpuMemory(CUcontext context, size_t limit)
      : BlockPool(limit), context(context) {}
  ~GpuMemory() override { releaseUntil(0); }

  /// What the driver said last when it had none.
  CUresult refused() const { return lastRefusal; }

private:
  void *fromSystem(size_t bytes) override;
  void toSystem(Block block) override;

  const CUcontext context;
  std::atomic<CUresult> lastRefusal = CUDA_ERROR_OUT_OF_MEMORY;
};

/// A GPU that is in use: its primary context, which it shares with torch.
class Gpu {
public:
  static Outcome open(int ordinal, size_t memoryLimit, const ltc_host &host,
                      std::unique_ptr<Gpu> &gpu);
  ~Gpu();
  Gpu(const Gpu &) = delete;

  /// Does `copy(stream)` in a queue's stream, or in its own, to the end.
  template <typename Copy>
  Outcome transfer(CUstream queue, const char *what, Copy copy) {
    Entered entered(context);
    CUstream stream = queue ? queue : transfers;
    ++copies;
    CUresult result = copy(stream);
    if (result == CUDA_SUCCESS && !queue)
      result = api().cuStreamSynchronize(stream);
    return outcomeOf(result, what);
  }

  Outcome outOfMemory(size_t bytes);
  /// Bytes that buffers may still take.
  size_t memoryFree();
  /// Why code for `target` does not run here, or nothing.
  Outcome checkTarget(std::string_view target) const;
  /// Makes copyKernels, if there are none yet.
  Outcome loadCopyKernels();
  /// What was captured has a pool of memory for one stream: whether that is
  /// `stream`, which is the first to ask, until it ends.
  bool capturesFor(CUstream stream);
  void forgetStream(CUstream stream);

  const drivers::Library library; ///< of kernels for this GPU
  CUcontext context = nullptr;
  std::unique_ptr<GpuMemory> memory;
  std::unique_ptr<CopyKernels> copyKernels;
  CUstream transfers = nullptr; ///< those of no queue
  std::vector<ltc_property> properties;
  /// Launches of kernels, those in graphs too, transfers, launches of graphs.
  std::atomic<int64_t> launches = 0, copies = 0, graphs = 0;
  /// Of the host's library on this GPU: those that ran, and were captured.
  std::atomic<int64_t> calls = 0, captured = 0;
  /// Why steps were queued one by one that could have been a graph.
  struct {
    std::atomic<int64_t> unlike = 0;     ///< the last two runs of them
    std::atomic<int64_t> refused = 0;    ///< the driver has no graphs
    std::atomic<int64_t> uncaptured = 0; ///< it showed that a call cannot be
  } queued;
  /// Why the steps of a run were more than one graph.
  struct {
    std::atomic<int64_t> calls = 0;  ///< the host did one between
    std::atomic<int64_t> checks = 0; ///< the host read what checks say
    NamedCounts kernels; ///< of the library, outside of graphs: by why and op
  } split;
  /// Where library calls are captured, and the queue whose order they keep.
  CUstream captures = nullptr, capturedFor = nullptr;

private:
  Gpu(CUdevice device, size_t memoryLimit, drivers::Library library)
      : library(library), device(device), memoryLimit(memoryLimit) {}
  Outcome describe();

  const CUdevice device;
  const size_t memoryLimit;
  int capability = 0; ///< as 90
  std::string target, name, bytes, processors, description, version;
};

} // namespace ltc::cuda
