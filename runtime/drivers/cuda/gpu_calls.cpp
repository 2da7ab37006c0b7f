//===- gpu_calls.cpp - Library calls on a GPU, queued or captured ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "gpu_calls.h"

#include <algorithm>

namespace ltc::cuda {

namespace {

/// Why a call cannot be captured, as far as the host knows, or "".
std::string_view knownBefore(const ltc_host &host, ltc_kernel *kernel) {
  constexpr size_t needed =
      offsetof(ltc_host, kernel_settings) + sizeof(ltc_host::kernel_settings);
  if (host.struct_size < needed || !host.kernel_uncaptured)
    return "uncaptured";
  switch (host.kernel_uncaptured(kernel)) {
  case LTC_MAY_CAPTURE:
    return "";
  case LTC_DRAWS:
    return "random";
  case LTC_LOOKS:
    return "indices";
  case LTC_FOREIGN:
    return "foreign";
  default:
    return "uncaptured";
  }
}

} // namespace

Result<GpuCalls> GpuCalls::bind(Gpu &gpu,
                                const std::vector<Artifact::Call> &all,
                                int64_t firstSite) {
  Result<drivers::Calls> bound = drivers::Calls::bind(all, gpu.library);
  if (!bound)
    return bound.takeError();
  GpuCalls made(gpu, std::move(*bound), firstSite);
  made.states.resize(all.size());
  for (uint32_t i = 0; i < all.size(); ++i) {
    State &state = made.states[i];
    if (!all[i].graph.nodes.empty())
      state.op = all[i].graph.nodes[0].op;
    ltc_kernel *kernel = made.calls[i].kernel.get();
    // Without one the host does it.
    std::string_view why =
        kernel ? knownBefore(gpu.library.host, kernel) : "uncaptured";
    if (!why.empty())
      made.leaveOutside(state, why);
  }
  return made;
}

Status GpuCalls::choose(std::span<const int64_t> symbols) {
  ++runs;
  return calls.choose(symbols);
}

Outcome GpuCalls::queue(CUstream stream, Id id, bool writesDonated,
                        std::span<int64_t> words) {
  drivers::BoundCall &call = calls[id.number];
  if (!call.kernel)
    return Fault{LTC_UNSUPPORTED,
                 "the host's library has no kernel of this GPU for a call"};
  call.read(words.data());
  char text[1024] = "";
  ++gpu.calls;
  auto run = [&] {
    return gpu.library.host.kernel_run_on(
        call.kernel.get(), stream, call.views.data(), call.operands,
        call.views.data() + call.operands, call.views.size() - call.operands,
        text, sizeof(text));
  };
  ltc_error_code failure = run();
  if (failure == LTC_OUT_OF_MEMORY && !writesDonated) {
    gpu.memory->giveBack(); // the library has an allocator of its own
    failure = run();
  }
  if (failure == LTC_OK)
    return std::nullopt;
  return Fault{failure, text, firstSite + int64_t(id.number)};
}

uint64_t GpuCalls::settings() {
  uint64_t now = gpu.library.host.kernel_settings();
  if (now != lastSettings)
    for (State &state : states)
      state.captured.clear();
  return lastSettings = now;
}

CUgraph GpuCalls::capture(Id id, std::span<int64_t> words) {
  State &state = states[id.number];
  auto known = std::ranges::find_if(state.captured, [&](auto &captured) {
    return captured.isFor(id.binding, words);
  });
  if (known != state.captured.end()) {
    state.captured.splice(state.captured.begin(), state.captured, known);
    return known->graph();
  }
  if (movesTooOften(state)) {
    leaveOutside(state, "moves");
    return nullptr;
  }
  CapturedCall made(gpu, calls[id.number], words);
  if (!made.graph()) {
    if (!made.refusal().empty())
      leaveOutside(state, made.refusal());
    return nullptr;
  }
  ++gpu.captured;
  if (state.captured.size() == kMostCaptured)
    state.captured.pop_back();
  state.captured.push_front(std::move(made));
  return state.captured.front().graph();
}

void GpuCalls::leaveOutside(State &state, std::string_view why) {
  state.captured.clear();
  state.outside = &gpu.split.kernels.of(std::string(why) + ":" + state.op);
}

bool GpuCalls::movesTooOften(State &state) {
  if (runs - state.windowBegin > kWindow) {
    state.windowBegin = runs;
    state.captures = 0;
  }
  return ++state.captures > kMostCaptures;
}

} // namespace ltc::cuda
