//===- current_source.cpp - The user's line of an op ----------------------===//
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
#include "ltc_backend/current_source.h"

#include "ltc/settings.h"
#include "ltc_backend/region_lines.h"

#include <ATen/SequenceNumber.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/graph_task.h>

#include <atomic>
#include <cstdlib>

namespace ltc::backend {

static std::atomic<FrameHook> frameHook{nullptr};

void setFrameHook(FrameHook hook) { frameHook = hook; }

void offerFrameHook(FrameHook hook) {
  FrameHook none = nullptr;
  frameHook.compare_exchange_strong(none, hook);
}

namespace {
/// Lines of the last ops that may be differentiated, by sequence number. A
/// slot that was overwritten gives no line, never a wrong one.
class ForwardLines {
public:
  SourceId *find(uint64_t sequence) {
    Slot &slot = at(sequence);
    return slot.next == sequence + 1 ? &slot.source : nullptr;
  }
  void remember(uint64_t sequence, SourceId source) {
    at(sequence) = {sequence + 1, source};
  }

private:
  struct Slot {
    uint64_t next; ///< sequence number; none: 0
    SourceId source;
  };
  static constexpr size_t kSlots = 1 << 14;
  Slot &at(uint64_t sequence) { return slots.get()[sequence % kSlots]; }
  // Not new Slot[]: that would write to pages that a small program never uses.
  std::unique_ptr<Slot[], decltype(&std::free)> slots{
      static_cast<Slot *>(std::calloc(kSlots, sizeof(Slot))), std::free};
};

/// Sequence numbers are counted by thread, and lazy backward runs on the thread
/// that called backward().
ForwardLines &linesOfThread() {
  static thread_local ForwardLines lines;
  return lines;
}
} // namespace

/// Says that it is not the op of that line, but its gradient.
static SourceId inBackward(SourceId forward) {
  Source source = sourceOf(forward);
  source.function += source.function.empty() ? "(backward)" : " (backward)";
  return internSource(source);
}

static thread_local const std::vector<SourceId> *regionLines = nullptr;

RegionLines::RegionLines(std::vector<SourceId> lines)
    : lines(std::move(lines)) {
  regionLines = &this->lines;
}

RegionLines::~RegionLines() { regionLines = nullptr; }

SourceId currentSource() {
  FrameHook hook = frameHook.load(std::memory_order_relaxed);
  if (!hook || !settings().source_lines)
    return 0;
  if (auto node = torch::autograd::get_current_node()) {
    const SourceId *found = linesOfThread().find(node->sequence_nr());
    SourceId source = found ? *found : hook();
    return settings().detect_nan == "off" ? source : inBackward(source);
  }
  SourceId source = hook();
  if (regionLines) [[unlikely]]
    source = withRegionSources(source, *regionLines);
  if (uint64_t next = at::sequence_number::peek();
      next && at::GradMode::is_enabled())
    linesOfThread().remember(next - 1, source);
  return source;
}

} // namespace ltc::backend
