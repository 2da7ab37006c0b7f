//===- fake_gpu.h - A GPU that is not there ---------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "drivers/cuda/cuda_types.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace fake_cuda {

/// What the variable FAKE_CUDA asks for: name=number, with commas between.
struct Options {
  int devices = 2;
  int version = 12040;               ///< of CUDA
  int capability = 90;               ///< compute capability
  int64_t memory = int64_t(2) << 30; ///< bytes of each GPU
  int delay_us = 0;                  ///< before each piece of work
  int graphs = 1;                    ///< 0: it has none
  int init = 0;                      ///< what cuInit returns
  int lose_at = 0; ///< the launch of that number ends the context
};
const Options &options();

/// A GPU's memory: its addresses are nobody's in the host, where a touch ends
/// the process. Any thread.
class Heap {
public:
  explicit Heap(size_t bytes);
  Heap(const Heap &) = delete;

  uint64_t allocate(size_t bytes); ///< 0: none is left
  bool free(uint64_t address);
  size_t freeBytes() const;
  /// Where the bytes really are; nullptr if they are not all of one allocation.
  char *find(uint64_t address, size_t bytes) const;

private:
  static constexpr size_t alignment = 256;

  const size_t size;
  char *addresses = nullptr; ///< reserved
  char *bytes = nullptr;
  mutable std::mutex mutex;
  std::map<size_t, size_t> blocks; ///< bytes by offset
  size_t used = 0;
};

/// Any thread.
class Reached {
public:
  void reach();
  bool isReached() const;
  void wait() const;
  std::chrono::steady_clock::time_point time() const { return when; }

private:
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  bool reached = false;
  std::chrono::steady_clock::time_point when;
};

} // namespace fake_cuda

/// Its only context is the primary one.
struct CUctx_st {
  explicit CUctx_st(size_t memory) : heap(memory) {}
  fake_cuda::Heap heap;
  std::atomic<int> retained = 0;
  std::atomic<CUresult> lost = CUDA_SUCCESS; ///< and never recovers
};

namespace fake_cuda {
using Work = std::function<CUresult()>;

/// What a stream captures, from its beginning to its end.
struct Capture {
  unsigned long long id;
  std::thread::id thread; ///< which called
  CUgraph graph;
  bool isValid = true;
};
} // namespace fake_cuda

/// Does what is queued in order, on a thread of its own. While it captures,
/// what is queued becomes nodes of a graph.
struct CUstream_st {
  explicit CUstream_st(CUcontext context);
  ~CUstream_st(); ///< when all is done

  void push(std::function<CUresult()> work,
            CUgraphNodeType type = CU_GRAPH_NODE_TYPE_KERNEL);
  std::shared_ptr<fake_cuda::Reached> mark();
  /// Ends a capture for good, if there is one: what the call is refused with.
  CUresult invalidate();

  const CUcontext context;
  std::optional<fake_cuda::Capture> capture; ///< of whoever uses the stream

private:
  void loop();

  std::mutex mutex;
  std::condition_variable arrived;
  std::deque<std::function<void()>> commands;
  bool closed = false;
  std::thread worker;
};

struct CUevent_st {
  CUcontext context;
  std::shared_ptr<fake_cuda::Reached> recorded; ///< nullptr: never
  bool isCaptured = false; ///< recorded last in a stream that captured
};

namespace fake_cuda {

/// Why the calling thread can do nothing now, or success.
CUresult check();
/// The same, of what a thread that captures may not do, such as allocate.
CUresult checkUnsafe();
/// What a capture does with work of its stream.
void addNode(CUgraph graph, Work work, CUgraphNodeType type);
/// Of the stream that the calling thread captures; nullptr: none.
extern thread_local CUstream capturing;
/// Whether it may allocate meanwhile, as PyTorch's allocator makes it.
extern thread_local bool isRelaxed;
/// The same, of something for a stream of its context.
CUresult check(CUstream stream);
/// The calling thread's; only if check() has no objection.
CUcontext currentContext();
struct Grid {
  unsigned blocks[3], threads[3], sharedBytes;
};
/// What a stream of `context` would do, or why it is refused. Parameters are
/// the caller's again when it returns.
CUresult makeLaunch(CUcontext context, CUfunction function, const Grid &grid,
                    void **parameters, void **extra, Work &work);
CUresult makeCopy(CUdeviceptr to, CUdeviceptr from, size_t bytes, Work &work);
/// Where memory of any GPU really is; nullptr: it is of none.
char *findMemory(CUdeviceptr address, size_t bytes);

} // namespace fake_cuda

// What the library is for, as the driver calls it.
#pragma GCC visibility push(default)
#define LTC_CUDA(name, symbol, parameters)                                     \
  extern "C" CUresult symbol parameters;
#include "drivers/cuda/cuda_api.def"
#undef LTC_CUDA
/// For torch_device.cpp: where memory of any GPU really is; nullptr: nowhere.
extern "C" void *fakeCudaHostAddress(CUdeviceptr address, size_t bytes);
/// For torch_*.cpp: has the stream call work(argument) in its turn, also as
/// often as a graph with it is launched. An argument that is for one call is
/// for no capture.
extern "C" void fakeCudaQueue(CUstream stream, void (*work)(void *),
                              void *argument);
/// Whether the stream captures: the number of what, or 0.
extern "C" unsigned long long fakeCudaCapture(CUstream stream);
/// Whether the calling thread may allocate while it captures; returns what was.
extern "C" bool fakeCudaRelax(bool isRelaxed);
#pragma GCC visibility pop
