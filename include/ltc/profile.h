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

#include "ltc/profile_graphs.h"
#include "ltc/spans.h"

#include <array>
#include <atomic>
#include <optional>
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
  EachOp,      ///< setting sync
  LinalgCheck, ///< an op of linear algebra that may raise
  Synchronize,
  Event,
  Collective, ///< a call of torch.distributed; the detail names it
  DeviceCopy, ///< to another device
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
  bool isInterpreted = false; ///< call by call, on the thread
  /// Bytes of device memory when all that it needs was there; `arena` is that
  /// of the queue.
  size_t allocated = 0, reserved = 0, arena = 0;
};
/// A copy between host and device.
struct Transfer {
  int64_t start, end;
  uint32_t thread;
  bool isUpload;
  size_t bytes;
  SourceId place;
  /// Whether the one before it at this place had the same bytes, as far as was
  /// looked at.
  bool isRepeated;
};
/// The first result of one element of a graph that is not a number.
struct NotANumber {
  int64_t submitted; ///< its run
  uint32_t thread;   ///< that ended the graph
  std::string op;
  SourceId place;
};
/// An op that became a node, of some steps.
struct Recorded {
  int64_t start, end;
  uint32_t thread;
  std::string op;
  SourceId place;
};
/// What a device did, by its own clock, which is brought to the profile's.
struct DeviceSpan {
  std::string device; ///< the driver's name and the device's number there
  uint32_t lane;      ///< a row of the device's
  std::string name;
  int64_t start, end;
};
/// For a timeline.
struct Event {
  std::string name;
  int64_t start, end;
  uint32_t thread;
};
struct Profile {
  int64_t duration = 0;
  std::vector<Step> steps;
  std::vector<Sync> syncs;
  std::vector<Run> runs;
  std::vector<Event> events;
  std::vector<Transfer> transfers;
  std::vector<NotANumber> notNumbers;
  std::vector<Recorded> recorded;
  std::vector<DeviceSpan> deviceSpans;
  GraphRows kernels;
  size_t dropped = 0; ///< rows beyond the most that are kept
};

/// Nanoseconds since some moment before the process's first call.
LTC_API int64_t clock();
/// Nanoseconds of clock() since the profile began.
LTC_API int64_t now();
/// Begins one; false if one is on.
LTC_API bool begin();
/// Number of runs that have been handed over and have not ended.
LTC_API size_t openRuns();
/// Ends the profile, and the step that the calling thread is in.
LTC_API Profile end();

inline bool isOn() { return spans::watching() & spans::kProfile; }

/// The thread is in a part of a step while it lives, and in a span of its name,
/// if it does not record: PyTorch's profiler has spans for calls of ops.
class LTC_API Timed {
public:
  explicit Timed(Part part) {
    if (uint8_t who = spans::watching()) [[unlikely]]
      enter(part, who);
  }
  ~Timed() {
    if (isEntered) [[unlikely]]
      leave();
  }
  Timed(const Timed &) = delete;
  Timed &operator=(const Timed &) = delete;

private:
  void enter(Part part, uint8_t watchers);
  void leave();

  bool isEntered = false;
  // The rest is set where it is.
  Part part, before;
  uint32_t session; ///< of the profile; 0: none
  int64_t start;
  void *span;
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
/// Its graph; nothing of a run of an earlier profile.
std::optional<Hash128> keyOf(uint64_t run);
void noteMemory(uint64_t run, size_t allocated, size_t reserved, size_t arena);
/// Whether nobody has told of this graph's.
LTC_API bool isFirstNotANumber(uint64_t run);
LTC_API void addNotANumber(uint64_t run, std::string op, SourceId place);
LTC_API void noteInterpreted(uint64_t run);

/// A copy of `bytes` host bytes at `data` that began at `start` and ends now.
LTC_API void addTransfer(int64_t start, bool isUpload, const void *data,
                         size_t bytes, SourceId place);
/// The thread has made an op a node.
LTC_API void addRecorded(std::string_view op, SourceId place);

/// A device that tells what it does. Its functions are called by one thread at
/// a time, from add() to remove(), start() before stop().
class TraceSource {
public:
  virtual ~TraceSource() = default;
  virtual void startTrace() = 0;
  virtual std::vector<DeviceSpan> stopTrace() = 0;
};
void addTraceSource(TraceSource &source);
void removeTraceSource(TraceSource &source);

/// A stage, or a span of the program's, that began at `begun` of clock(), in
/// an earlier profile or before one perhaps, and ends now.
LTC_API void addEvent(std::string name, int64_t begun);

} // namespace ltc::profile
