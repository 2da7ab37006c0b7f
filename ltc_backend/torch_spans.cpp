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
#include "ltc/log.h"
#include "ltc/spans.h"

#include <ATen/record_function.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <chrono>
#include <condition_variable>
#include <map>

namespace ltc::backend {
namespace {

/// The launches that may still write rows, by the profiler whose they are.
class OpenContexts {
public:
  using Profiler = const c10::DebugInfoBase *;
  static Profiler current() {
    return c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE);
  }

  void add(Profiler profiler) {
    std::lock_guard lock(mutex);
    ++open[profiler];
  }
  void remove(Profiler profiler) {
    std::lock_guard lock(mutex);
    if (--open[profiler] == 0)
      open.erase(profiler);
    ended.notify_all();
  }
  /// Whether all of this profiler's ended within the time.
  bool await(Profiler profiler, std::chrono::seconds longest) {
    std::unique_lock lock(mutex);
    return ended.wait_for(lock, longest,
                          [&] { return !open.contains(profiler); });
  }

private:
  std::mutex mutex;
  std::condition_variable ended;
  std::map<Profiler, size_t> open;
};

// Never destroyed: queue threads may still count.
OpenContexts &openContexts() {
  static auto *all = new OpenContexts;
  return *all;
}

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
  CountedContext() { openContexts().add(profiler); }
  ~CountedContext() { openContexts().remove(profiler); }

  const OpenContexts::Profiler profiler = OpenContexts::current();
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

void setTorchProfiler(bool on) { spans::setOn(on); }

void awaitTorchSpans() {
  if (isForked()) // the parent's launches never end in a child
    return;
  if (!openContexts().await(OpenContexts::current(), std::chrono::minutes(1)))
    log(LogLevel::Warn, Stage::Execute,
        "torch.profiler ends while launches of its block still run: their rows "
        "are missing, and may be damaged; torch.lazy.synchronize() before the "
        "block's end waits for them");
}

} // namespace ltc::backend
