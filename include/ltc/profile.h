//===- profile.h - Where the time of a step goes ----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// While a profile is on, each thread's time goes to the part that it is in, and
// to no other: a part inside another takes its time out of that. What is in no
// part is the program's own. A step ends where its thread ends one. Off, each
// place that is looked at costs the load of one flag.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/hash.h"
#include "ltc/source.h"

#include <array>
#include <atomic>
#include <vector>

namespace ltc::profile {

/// What a thread does for a step.
enum class Part : uint8_t {
  Record,   ///< an op call becomes a node
  Graph,    ///< pending nodes become a graph: collect, hash, deliver
  Lookup,   ///< the graph's program in memory
  Compile,  ///< or from disk, or compiled
  Queue,    ///< handing the launch over, and waiting for a place in the queue
  Execute,  ///< a launch on the thread that asked for it
  Wait,     ///< until a value is there
  Transfer, ///< copies between host and device
};
constexpr size_t kParts = 8;
/// "record", "graph", ...
LTC_API std::string_view name(Part part);

/// Why a thread ends a graph, or waits for a value.
enum class Cause : uint8_t {
  MarkStep,
  OptimizerStep,
  Parameters,  ///< an optimizer was made for them
  Item,        ///< a number: .item(), bool(x), if x > 0
  Read,        ///< other values: .cpu(), .tolist(), .to("cpu")
  Print,       ///< str(x), print(x)
  Fallback,    ///< an op on the host; the detail names it
  Cap,         ///< setting max_pending_ops
  LinalgCheck, ///< an op of linear algebra that may raise
  Synchronize,
  Event,
  Other,
};
/// "mark_step", "optimizer_step", ...
LTC_API std::string_view name(Cause cause);

using Parts = std::array<int64_t, kParts>;

// Times are nanoseconds since the profile began. Threads count from 1.

/// From one end of a step to the next, on one thread.
struct Step {
  int64_t start, end;
  uint32_t thread;
  bool isWhole; ///< false: where the profile ended
  Cause cause;  ///< of its end
  SourceId place;
  Parts parts;
};
/// One place where a thread stopped recording.
struct Sync {
  int64_t start, end;
  uint32_t thread;
  Cause cause;
  std::string detail;
  SourceId place;
  Parts parts;   ///< inside it
  size_t graphs; ///< that it ended
};
/// One run of a graph. `submitted` is when it was handed to the queue; the two
/// others are 0 while it has not begun, or ended.
struct Run {
  Hash128 key;
  size_t ops, inputs, results;
  uint32_t thread; ///< that ended the graph
  int64_t submitted, begun, ended;
};
/// For a timeline.
struct Event {
  std::string_view name;
  int64_t start, end;
  uint32_t thread;
};
struct Profile {
  int64_t duration = 0;
  std::vector<Step> steps;
  std::vector<Sync> syncs;
  std::vector<Run> runs;
  std::vector<Event> events;
  size_t dropped = 0; ///< rows beyond the most that are kept
};

/// Begins one; false if one is on.
LTC_API bool begin();
/// Number of runs that have been handed over and have not ended.
LTC_API size_t openRuns();
/// Ends the profile, and the step that the calling thread is in.
LTC_API Profile end();

LTC_API extern std::atomic<bool> on;
inline bool isOn() { return on.load(std::memory_order_relaxed); }

/// The thread is in a part of a step while it lives.
class LTC_API Timed {
public:
  explicit Timed(Part part) {
    if (isOn()) [[unlikely]]
      enter(part);
  }
  ~Timed() {
    if (session) [[unlikely]]
      leave();
  }
  Timed(const Timed &) = delete;
  Timed &operator=(const Timed &) = delete;

private:
  void enter(Part part);
  void leave();

  uint32_t session = 0; ///< of the profile; 0: none
  Part part{}, before{};
  int64_t start = 0;
};

/// The outermost sync of the thread begins; false if it is in one.
LTC_API bool beginSync(Cause cause, std::string_view detail, SourceId place);
LTC_API void endSync();

/// The thread's next launch is of this graph.
LTC_API void nameRun(Hash128 key, size_t ops, size_t inputs, size_t results);
/// What nameRun() said, handed over now; 0: nothing.
LTC_API uint64_t submitRun();
LTC_API void beginRun(uint64_t run);
LTC_API void endRun(uint64_t run);

/// A stage that took so many nanoseconds and ends now.
LTC_API void addEvent(std::string_view name, int64_t time);

} // namespace ltc::profile
