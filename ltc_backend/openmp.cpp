//===- openmp.cpp - The OpenMP runtime that torch uses --------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "openmp.h"

#include <ATen/Parallel.h>

#include <dlfcn.h>

namespace ltc::backend {

/// dlsym with a library's handle also looks into what it depends on.
template <typename F>
static void find(void *library, const char *name, F &function) {
  function = reinterpret_cast<F>(dlsym(library, name));
}

OpenMP::OpenMP() {
  Dl_info info;
  auto *inTorch = reinterpret_cast<void *>(&at::get_num_threads);
  if (!dladdr(inTorch, &info))
    return;
  void *torch = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!torch)
    return;
  find(torch, "GOMP_parallel_start", start);
  find(torch, "GOMP_parallel_end", end);
  find(torch, "omp_get_thread_num", threadNumber);
  find(torch, "omp_get_num_threads", threadCount);
  find(torch, "omp_set_num_threads", setThreads);
  find(torch, "MKL_Set_Num_Threads_Local", setThreadsOfMkl);
  find(torch, "omp_pause_resource_all", pause);
  dlclose(torch);
}

const OpenMP &OpenMP::get() {
  static const OpenMP openMP;
  return openMP;
}

} // namespace ltc::backend
