//===- regions.cpp - Parallel regions -------------------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "threads/regions.h"

#include "lent.h"

#include <algorithm>
#include <atomic>
#include <dlfcn.h>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

namespace ltc::kernels {
namespace {

using Threads = std::vector<std::thread>;

thread_local int number = 0; ///< in its region
/// Of the region that the thread opened. A pointer: a team that ends with the
/// thread closes its region, when objects of the thread may be gone.
thread_local Threads *ownOthers = nullptr;

/// With fewer threads where the system gives no more: whoever leads a team does
/// what nobody else takes.
void startOwn(void (*work)(void *), void *data, unsigned threads) {
  ownOthers = new Threads;
  try {
    for (unsigned i = 1; i < threads; ++i)
      ownOthers->emplace_back([=] {
        number = int(i);
        work(data);
      });
  } catch (const std::exception &) {
  }
}

void endOwn() {
  for (std::thread &other : *ownOthers)
    other.join();
  delete std::exchange(ownOthers, nullptr);
}

std::atomic<unsigned> wantedOwnThreads{0};

int ownThreads() {
  static const auto cores = std::max(1u, std::thread::hardware_concurrency());
  unsigned wanted = wantedOwnThreads.load(std::memory_order_relaxed);
  return int(wanted ? wanted : cores);
}

/// dlsym with a library's handle also looks into what it depends on.
template <typename F> void find(void *library, const char *name, F &function) {
  function = reinterpret_cast<F>(dlsym(library, name));
}

} // namespace

Regions::Regions() {
  if (lent().threads) {
    findOpenMP();
    return;
  }
  start = startOwn;
  end = endOwn;
  threadNumber = [] { return number; };
  threads = ownThreads;
  isInside = [] { return number != 0; };
}

void Regions::findOpenMP() {
  threads = lent().threads;
  isInside = lent().isInRegion;
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(threads), &info))
    return;
  void *library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!library)
    return;
  find(library, "GOMP_parallel_start", start);
  find(library, "GOMP_parallel_end", end);
  find(library, "omp_get_thread_num", threadNumber);
  find(library, "omp_set_num_threads", setThreads);
  find(library, "MKL_Set_Num_Threads_Local", setThreadsOfMkl);
  find(library, "omp_pause_resource_all", pause);
  dlclose(library);
}

const Regions &Regions::get() {
  static const Regions regions;
  return regions;
}

void useOwnThreads(unsigned count) {
  wantedOwnThreads.store(count, std::memory_order_relaxed);
}

} // namespace ltc::kernels
