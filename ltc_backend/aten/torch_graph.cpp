//===- torch_graph.cpp - PyTorch's graph of a device ----------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch 2.13 has graphs by the type of a device. Before that they are of CUDA
// alone, and are found by their names, since no header of CUDA's is at hand.
//
//===----------------------------------------------------------------------===//
#include "torch_graph.h"

#if __has_include(<ATen/core/GraphImplInterface.h>)
#include <ATen/core/GraphImplInterface.h>
#else
#include <array>
#include <dlfcn.h>
#endif

namespace ltc::backend {

#if __has_include(<ATen/core/GraphImplInterface.h>)

namespace {
class Generic final : public TorchGraph {
public:
  explicit Generic(at::DeviceType type)
      : graph(at::create_graph_impl(type, {.keep_graph = true})) {}
  void begin(c10::MempoolId_t pool) override {
    graph->capture_begin(pool, at::GraphCaptureMode::ThreadLocal);
  }
  void end() override { graph->capture_end(); }
  c10::MempoolId_t pool() override { return graph->pool(); }

private:
  const std::unique_ptr<at::GraphImplInterface> graph;
};
} // namespace

bool TorchGraph::exists(at::DeviceType type) {
  return at::has_graph_impl(type);
}

std::unique_ptr<TorchGraph> TorchGraph::make(at::DeviceType type) {
  return exists(type) ? std::make_unique<Generic>(type) : nullptr;
}

#else

namespace {

/// at::cuda::CUDAGraph.
struct Functions {
  void (*construct)(void *graph, bool keepGraph);
  void (*destroy)(void *graph);
  void (*begin)(void *graph, c10::MempoolId_t pool, int mode);
  void (*end)(void *graph);
  c10::MempoolId_t (*pool)(void *graph);
};

const Functions *functions() {
  static const Functions *found = []() -> const Functions * {
    void *library = dlopen("libtorch_cuda.so", RTLD_NOLOAD | RTLD_LAZY);
    if (!library)
      return nullptr;
    auto *all = new Functions;
    bool hasAll = true;
    auto find = [&](auto &function, const char *symbol) {
      void *at = dlsym(library, symbol);
      hasAll &= at != nullptr;
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(at);
    };
    find(all->construct, "_ZN2at4cuda9CUDAGraphC1Eb");
    find(all->destroy, "_ZN2at4cuda9CUDAGraphD1Ev");
    find(all->begin, "_ZN2at4cuda9CUDAGraph13capture_beginESt4pairIyyE21cudaSt"
                     "reamCaptureMode");
    find(all->end, "_ZN2at4cuda9CUDAGraph11capture_endEv");
    find(all->pool, "_ZN2at4cuda9CUDAGraph4poolEv");
    return hasAll ? all : nullptr;
  }();
  return found;
}

class OfCuda final : public TorchGraph {
public:
  OfCuda() { functions()->construct(room.data(), true); }
  ~OfCuda() override { functions()->destroy(room.data()); }
  void begin(c10::MempoolId_t pool) override {
    constexpr int kThreadLocal = 1; // cudaStreamCaptureModeThreadLocal
    functions()->begin(room.data(), pool, kThreadLocal);
  }
  void end() override { functions()->end(room.data()); }
  c10::MempoolId_t pool() override { return functions()->pool(room.data()); }

private:
  /// More than sizeof(at::cuda::CUDAGraph), which is below 512.
  alignas(64) std::array<char, 4096> room = {};
};

} // namespace

bool TorchGraph::exists(at::DeviceType type) {
  return type == at::kCUDA && functions();
}

std::unique_ptr<TorchGraph> TorchGraph::make(at::DeviceType type) {
  return exists(type) ? std::make_unique<OfCuda>() : nullptr;
}

#endif

} // namespace ltc::backend
