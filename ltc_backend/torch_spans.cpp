//===- torch_spans.cpp - What we do, as spans of torch.profiler -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The profiler is a callback of RecordFunction that is the thread's own, with
// its rows in the thread's debug information. A thread that has both of another
// thread writes into the same rows, as the threads of autograd do.
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/torch_spans.h"

#include "ltc/engine.h"
#include "ltc/spans.h"

#include <ATen/record_function.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <chrono>
#include <thread>

namespace ltc::backend {
namespace {

std::atomic<size_t> openContexts = 0;

/// What a thread has of the profiler.
struct Context {
  at::RecordFunctionTLS callbacks = at::get_record_function_tls_();
  std::shared_ptr<c10::ThreadLocalDebugInfo> rows =
      c10::ThreadLocalDebugInfo::current();

  void give() const {
    at::set_record_function_tls_(callbacks);
    c10::ThreadLocalDebugInfo::_forceCurrentDebugInfo(rows);
  }
};

/// One that a launch keeps.
struct CountedContext : Context {
  CountedContext() { ++openContexts; }
  ~CountedContext() { --openContexts; }
};

std::shared_ptr<const void> context() {
  if (!at::hasThreadLocalCallbacks())
    return nullptr;
  return std::make_shared<const CountedContext>();
}

void *enter(const void *given) {
  auto *before = new Context;
  static_cast<const CountedContext *>(given)->give();
  return before;
}

void leave(void *entered) {
  std::unique_ptr<Context> before(static_cast<Context *>(entered));
  before->give();
}

struct OpenSpan {
  std::string name; ///< PyTorch keeps a reference
  at::RecordFunction function{at::RecordScope::FUNCTION};
};

void *begin(std::string name) {
  auto span = std::make_unique<OpenSpan>();
  if (!span->function.isActive())
    return nullptr;
  span->name = std::move(name);
  span->function.before(std::string_view(span->name));
  return span.release();
}

void end(void *span) { delete static_cast<OpenSpan *>(span); }

} // namespace

void lendTorchSpans() {
  spans::setListener({context, enter, leave, begin, end});
}

/// What was queued may still run when the profiler ends.
static void awaitContexts() {
  using namespace std::chrono;
  const auto longest = steady_clock::now() + minutes(1);
  while (openContexts && steady_clock::now() < longest)
    std::this_thread::sleep_for(microseconds(200));
}

void setTorchProfiler(bool on) {
  if (!on && !isForked()) // the parent's launches never end in a child
    awaitContexts();
  spans::setOn(on);
}

} // namespace ltc::backend
