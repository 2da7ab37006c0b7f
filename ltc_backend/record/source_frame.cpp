//===- record/source_frame.cpp - The user's line for each op ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A forward op asks the frame hook. A backward op runs without Python frames:
// it gets the line of the forward op whose gradient it computes, found by the
// autograd node's sequence number.
//
//===----------------------------------------------------------------------===//
#include "ltc/settings.h"
#include "ltc_backend/backend.h"
#include "ltc_backend/record/recorder.h"

#include <ATen/SequenceNumber.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/graph_task.h>

#include <array>
#include <atomic>

namespace ltc::backend {

static std::atomic<FrameHook> frameHook{nullptr};

void setFrameHook(FrameHook hook) { frameHook = hook; }

namespace {
/// Lines of the last ops that may be differentiated, by sequence number. A
/// slot that was overwritten gives no line, never a wrong one.
struct ForwardLines {
  struct Slot {
    uint64_t sequence = UINT64_MAX;
    SourceId source = 0;
  };
  std::array<Slot, 1 << 14> slots;
  Slot &at(uint64_t sequence) { return slots[sequence % slots.size()]; }
};
} // namespace

SourceId currentSource() {
  FrameHook hook = frameHook.load(std::memory_order_relaxed);
  if (!hook || !settings().source_lines)
    return 0;
  // Sequence numbers are counted by thread, and lazy backward runs on the
  // thread that called backward().
  static thread_local auto lines = std::make_unique<ForwardLines>();
  if (auto node = torch::autograd::get_current_node()) {
    auto &slot = lines->at(node->sequence_nr());
    return slot.sequence == node->sequence_nr() ? slot.source : hook();
  }
  SourceId source = hook();
  if (uint64_t next = at::sequence_number::peek();
      next && at::GradMode::is_enabled())
    lines->at(next - 1) = {next - 1, source};
  return source;
}

} // namespace ltc::backend
