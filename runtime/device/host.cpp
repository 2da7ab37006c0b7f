//===- host.cpp - What this process lends to a device -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/host.h"

#include "ltc/kernels.h"

#include <array>

using namespace ltc;

struct ltc_kernel {
  std::unique_ptr<Kernel> kernel;
};

struct ltc_capture {
  std::unique_ptr<Capture> capture;
};

namespace {

void fill(char *message, size_t capacity, std::string_view text) {
  if (!capacity)
    return;
  size_t size = std::min(text.size(), capacity - 1);
  std::memcpy(message, text.data(), size);
  message[size] = 0;
}

/// `provider` is a KernelProvider, or one with a device bound to it.
ltc_kernel *resolveBy(const KernelProvider &provider, ltc_bytes call,
                      char *message, size_t capacity) {
  Result<Graph> graph =
      Graph::parse({static_cast<const char *>(call.data), call.size});
  if (!graph || graph->nodes.size() != 1) {
    fill(message, capacity,
         graph ? "a library call is a graph of one node"
               : graph.error().message);
    return nullptr;
  }
  if (!provider) {
    fill(message, capacity,
         graph->nodes[0].op + " is a library call, and this process has no "
                              "library of kernels");
    return nullptr;
  }
  Result<std::unique_ptr<Kernel>> kernel = provider(*graph);
  if (!kernel) {
    fill(message, capacity, kernel.error().message);
    return nullptr;
  }
  return new ltc_kernel{std::move(*kernel)};
}

ltc_kernel *resolve(ltc_bytes call, char *message, size_t capacity) {
  return resolveBy(hostServices().kernels, call, message, capacity);
}

ltc_kernel *resolveOn(ltc_bytes call, const char *type, uint32_t number,
                      char *message, size_t capacity) {
  KernelProvider there;
  if (DeviceKernelProvider provider = hostServices().deviceKernels)
    there = [=](const Graph &graph) { return provider(graph, type, number); };
  return resolveBy(there, call, message, capacity);
}

void destroy(ltc_kernel *kernel) { delete kernel; }

KernelView viewOf(const ltc_view &view) {
  KernelView lent;
  lent.data = view.data;
  lent.sizes = view.sizes;
  lent.strides = view.strides;
  lent.rank = view.rank;
  lent.dtype = DType(view.dtype);
  lent.isScalar = view.is_scalar;
  lent.integer = int64_t(view.bits);
  return lent;
}

ltc_error_code codeOf(const Error &error, char *message, size_t capacity) {
  fill(message, capacity, error.message);
  return ltc_error_code(error.code) + 1;
}

/// kernel->run(operands, results), with what the host's code takes.
template <typename Run>
ltc_error_code runBy(const Run &run, const ltc_view *operands,
                     size_t operandCount, const ltc_view *results,
                     size_t resultCount, char *message, size_t capacity) {
  // A few views live on the stack: this runs for every matrix product.
  constexpr size_t few = 16;
  std::array<KernelView, few> inlineViews;
  std::vector<KernelView> manyViews;
  size_t count = operandCount + resultCount;
  if (count > few)
    manyViews.resize(count);
  KernelView *views = count > few ? manyViews.data() : inlineViews.data();
  for (size_t i = 0; i < count; ++i)
    views[i] =
        viewOf(i < operandCount ? operands[i] : results[i - operandCount]);
  using Views = std::span<const KernelView>;
  Status status =
      run(Views(views, operandCount), Views(views + operandCount, resultCount));
  if (status)
    return LTC_OK;
  return codeOf(status.error(), message, capacity);
}

ltc_error_code run(ltc_kernel *kernel, const ltc_view *operands,
                   size_t operandCount, const ltc_view *results,
                   size_t resultCount, char *message, size_t capacity) {
  return runBy(
      [&](auto given, auto made) { return kernel->kernel->run(given, made); },
      operands, operandCount, results, resultCount, message, capacity);
}

ltc_error_code runOn(ltc_kernel *kernel, void *stream, const ltc_view *operands,
                     size_t operandCount, const ltc_view *results,
                     size_t resultCount, char *message, size_t capacity) {
  return runBy(
      [&](auto given, auto made) {
        return kernel->kernel->runOn(stream, given, made);
      },
      operands, operandCount, results, resultCount, message, capacity);
}

ltc_uncaptured uncaptured(ltc_kernel *kernel) {
  return ltc_uncaptured(kernel->kernel->uncaptured());
}

ltc_capture *captureBegin(ltc_kernel *kernel, void *stream, char *message,
                          size_t capacity) {
  Result<std::unique_ptr<Capture>> made = kernel->kernel->capture(stream);
  if (made)
    return new ltc_capture{std::move(*made)};
  fill(message, capacity, made.error().message);
  return nullptr;
}

ltc_error_code captureEnd(ltc_capture *capture, char *message,
                          size_t capacity) {
  Status status = capture->capture->end();
  return status ? LTC_OK : codeOf(status.error(), message, capacity);
}

void captureFree(ltc_capture *capture) { delete capture; }

uint64_t kernelSettings() {
  auto ask = hostServices().deviceKernelSettings;
  return ask ? ask() : 0;
}

void parallelFor(int64_t n, int64_t grain,
                 void (*body)(int64_t, int64_t, void *), void *argument) {
  if (n <= 0)
    return;
  if (ParallelFor lent = hostServices().parallelFor)
    lent(n, grain, body, argument);
  else
    body(0, n, argument);
}

} // namespace

const ltc_host &runtime::hostTable() {
  static const ltc_host table = {
      sizeof(ltc_host), resolve,    destroy,     run,
      parallelFor,      resolveOn,  runOn,       uncaptured,
      captureBegin,     captureEnd, captureFree, kernelSettings};
  return table;
}
