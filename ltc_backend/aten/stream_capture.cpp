//===- stream_capture.cpp - What ATen queues, captured --------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "stream_capture.h"

#include "../raise.h"
#include "../warnings.h"
#include "torch_graph.h"

#include <ATen/Context.h>
#include <c10/core/StreamGuard.h>

#include <map>
#include <mutex>

namespace ltc::backend {

namespace {

/// A pool goes with the last graph that has it, so one graph of each device is
/// kept. Any thread.
class Pools {
public:
  c10::MempoolId_t of(at::Device device) {
    std::lock_guard lock(mutex);
    auto found = first.find(device.index());
    return found == first.end() ? c10::MempoolId_t{0, 0}
                                : found->second->pool();
  }
  void keep(at::Device device, const std::shared_ptr<TorchGraph> &graph) {
    std::lock_guard lock(mutex);
    first.try_emplace(device.index(), graph);
  }

private:
  std::mutex mutex;
  std::map<c10::DeviceIndex, std::shared_ptr<TorchGraph>> first;
};

Pools &pools() { // never destroyed: PyTorch's allocator may be gone by then
  static auto *all = new Pools;
  return *all;
}

class StreamCapture final : public Capture {
public:
  explicit StreamCapture(c10::Stream stream)
      : stream(stream), graph(TorchGraph::make(stream.device_type())) {}

  void begin() {
    c10::StreamGuard guard(stream);
    graph->begin(pools().of(stream.device()));
  }
  Status end() override {
    try {
      Quiet quiet; // of a graph that has nothing to do
      c10::StreamGuard guard(stream);
      graph->end();
      pools().keep(stream.device(), graph);
      return {};
    } catch (...) {
      return currentError(Stage::Execute, "");
    }
  }

private:
  const c10::Stream stream;
  const std::shared_ptr<TorchGraph> graph;
};

} // namespace

bool hasCaptures(at::DeviceType type) { return TorchGraph::exists(type); }

Result<std::unique_ptr<Capture>> captureStream(c10::Stream stream) {
  try {
    auto made = std::make_unique<StreamCapture>(stream);
    made->begin();
    return std::unique_ptr<Capture>(std::move(made));
  } catch (...) {
    return currentError(Stage::Execute, "");
  }
}

uint64_t kernelSettings() {
  at::Context &context = at::globalContext();
  uint64_t number = 0;
  auto add = [&](uint64_t value) { number = number * 4 + value; };
  // Settings made in the old and the new way at once are an error.
  auto addIfClear = [&](auto ask) {
    try {
      add(ask());
    } catch (const c10::Error &) {
      add(2);
    }
  };
  addIfClear([&] { return context.allowTF32CuBLAS(); });
  addIfClear([&] { return context.allowTF32CuDNN(); });
  add(uint64_t(context.allowFP16ReductionCuBLAS()));
  add(uint64_t(context.allowBF16ReductionCuBLAS()));
  add(context.allowFP16AccumulationCuBLAS());
  add(context.userEnabledCuDNN());
  add(context.benchmarkCuDNN());
  add(context.deterministicCuDNN());
  add(context.deterministicAlgorithms());
  add(context.deterministicFillUninitializedMemory());
  add(uint64_t(context.linalgPreferredBackend()));
  add(uint64_t(context.blasPreferredBackend()));
  return number;
}

} // namespace ltc::backend
