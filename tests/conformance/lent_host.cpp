//===- lent_host.cpp - What the suite lends the driver under test ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lent_host.h"

#include "ltc/graph.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>

struct ltc_kernel {
  std::string op;
};

namespace conformance {

// Two kernels: test::axpy (y = a * x + b, elementwise) and test::fail.
static ltc_kernel *resolve(ltc_bytes call, char *message, size_t capacity) {
  auto graph =
      ltc::Graph::parse({static_cast<const char *>(call.data), call.size});
  if (graph && graph->nodes.size() == 1 &&
      graph->nodes[0].op.starts_with("test::"))
    return new ltc_kernel{graph->nodes[0].op};
  std::snprintf(message, capacity, "the test has no such kernel");
  return nullptr;
}

static void destroy(ltc_kernel *kernel) { delete kernel; }

static ltc_error_code run(ltc_kernel *kernel, const ltc_view *operands,
                          size_t operandCount, const ltc_view *results,
                          size_t resultCount, char *message, size_t capacity) {
  if (kernel->op == "test::fail" || operandCount != 3 || resultCount != 1) {
    std::snprintf(message, capacity, "it fails on purpose");
    return LTC_INVALID_ARGUMENT;
  }
  auto element = [](const ltc_view &view, int64_t i, int64_t j) {
    return static_cast<float *>(view.data) + i * view.strides[0] +
           j * view.strides[1];
  };
  double a;
  std::memcpy(&a, &operands[1].bits, sizeof(a));
  auto b = int64_t(operands[2].bits);
  for (int64_t i = 0; i < results[0].sizes[0]; ++i)
    for (int64_t j = 0; j < results[0].sizes[1]; ++j)
      *element(results[0], i, j) =
          float(a * *element(operands[0], i, j) + double(b));
  return LTC_OK;
}

static void parallelFor(int64_t n, int64_t grain,
                        void (*body)(int64_t, int64_t, void *),
                        void *argument) {
  int64_t piece = std::max(grain, (n + 3) / 4);
  std::vector<std::thread> threads;
  for (int64_t begin = 0; begin < n; begin += piece)
    threads.emplace_back(body, begin, std::min(n, begin + piece), argument);
  for (std::thread &thread : threads)
    thread.join();
}

const ltc_host &host() {
  static const ltc_host table = [] {
    ltc_host all = {};
    all.struct_size = sizeof(ltc_host);
    all.kernel_resolve = resolve;
    all.kernel_free = destroy;
    all.kernel_run = run;
    all.parallel_for = parallelFor;
    return all;
  }();
  return table;
}

} // namespace conformance
