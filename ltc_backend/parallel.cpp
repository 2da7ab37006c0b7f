//===- parallel.cpp - Loops on torch's own threads --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "parallel.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <dlfcn.h>

namespace ltc::backend {
namespace {

/// The OpenMP runtime that libtorch_cpu was linked with. Reached through that
/// library and not linked, since a compiler's own choice may be another one,
/// and two runtimes mean two pools on the same cores.
struct OpenMP {
  void (*parallel)(void (*)(void *), void *, unsigned, unsigned) = nullptr;
  int (*threadNumber)() = nullptr;
  int (*threadCount)() = nullptr;
  void (*setThreads)(int) = nullptr;
  int (*setThreadsOfMkl)(int) = nullptr; ///< null without MKL; 0 undoes
  int (*pause)(int) = nullptr;           ///< null before OpenMP 5.0

  OpenMP() {
    Dl_info info;
    auto *inTorch = reinterpret_cast<void *>(&at::get_num_threads);
    if (!dladdr(inTorch, &info))
      return;
    void *torch = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!torch)
      return;
    find(torch, "GOMP_parallel", parallel);
    find(torch, "omp_get_thread_num", threadNumber);
    find(torch, "omp_get_num_threads", threadCount);
    find(torch, "omp_set_num_threads", setThreads);
    find(torch, "MKL_Set_Num_Threads_Local", setThreadsOfMkl);
    find(torch, "omp_pause_resource_all", pause);
    dlclose(torch);
  }
  explicit operator bool() const {
    return parallel && threadNumber && threadCount;
  }
  static const OpenMP &get() {
    static const OpenMP openMP;
    return openMP;
  }

private:
  /// dlsym with a library's handle also looks into what it depends on.
  template <typename F>
  static void find(void *library, const char *name, F &function) {
    function = reinterpret_cast<F>(dlsym(library, name));
  }
};

struct Loop {
  int64_t n, pieces;
  void (*body)(int64_t, int64_t, void *);
  void *argument;
};

/// Runs on every thread of the team.
void runPiece(void *data) {
  const Loop &loop = *static_cast<const Loop *>(data);
  const OpenMP &openMP = OpenMP::get();
  // A team can be smaller than asked for (dynamic teams, thread limits).
  int64_t team = std::min<int64_t>(openMP.threadCount(), loop.pieces);
  int64_t size = (loop.n + team - 1) / team;
  int64_t begin = openMP.threadNumber() * size;
  if (begin < loop.n)
    loop.body(begin, std::min(loop.n, begin + size), loop.argument);
}

/// What noteThreadCount() saw last; 0 before the first.
std::atomic<int> wantedThreads{0};

thread_local bool isAlone = false;

} // namespace

void noteThreadCount() {
  wantedThreads.store(at::get_num_threads(), std::memory_order_relaxed);
}

void releaseThreads() {
  constexpr int softly = 1; // omp_pause_soft: settings stay
  if (OpenMP::get().pause)
    OpenMP::get().pause(softly);
}

void stayAlone(bool alone) { isAlone = alone; }

void followThreadCount() {
  static thread_local int followed = 0;
  int wanted = isAlone ? 1 : wantedThreads.load(std::memory_order_relaxed);
  if (followed == wanted || wanted == 0)
    return;
  followed = wanted;
  const OpenMP &openMP = OpenMP::get();
  // Not at::init_num_threads, which takes OpenMP's own number where nobody
  // told torch one: that of this thread, so that one would stay one.
  at::get_num_threads(); // a thread's first call sets its number
  if (openMP.setThreadsOfMkl)
    openMP.setThreadsOfMkl(isAlone ? 1 : 0);
  if (openMP.setThreads)
    openMP.setThreads(wanted);
}

void parallelFor(int64_t n, int64_t grain,
                 void (*body)(int64_t, int64_t, void *), void *argument) {
  if (n <= 0)
    return;
  grain = std::max<int64_t>(grain, 1);
  if (n <= grain || at::in_parallel_region()) {
    body(0, n, argument);
    return;
  }
  followThreadCount();
  int64_t threads = at::get_num_threads();
  Loop loop{n, std::min(threads, (n + grain - 1) / grain), body, argument};
  const OpenMP &openMP = OpenMP::get();
  if (loop.pieces < 2 || !openMP) {
    body(0, n, argument);
    return;
  }
  // Always the whole team: libgomp tears its pool down and builds it anew
  // whenever the size changes between two regions.
  openMP.parallel(runPiece, &loop, 0, 0);
}

} // namespace ltc::backend
