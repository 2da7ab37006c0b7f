//===- profile.cpp - Where the time of a step goes --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/profile.h"

#include "cycles.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <set>

namespace ltc::profile {

namespace {

/// Rows of each kind; a step of one graph adds one step, two syncs, one run and
/// some events.
constexpr size_t kMostRows = 200'000;
/// Of a thread that is in no part.
constexpr Part kNone = Part(kParts);

struct Session {
  std::mutex mutex; ///< guards everything but the atomics
  std::atomic<uint32_t> number = 0;
  std::atomic<int64_t> start = 0;
  uint32_t threads = 0;
  size_t open = 0;
  std::map<SourceId, Hash128> uploaded; ///< last by each line
  std::set<Hash128> notNumbers;         ///< graphs that were told of
  Profile rows;

  template <typename Row> void add(std::vector<Row> &to, Row row) {
    if (to.size() < kMostRows)
      to.push_back(std::move(row));
    else
      ++rows.dropped;
  }
};

// Never destroyed: queue threads may still count.
Session &session() {
  static auto *session = new Session;
  return *session;
}

/// Devices that are open. Their lock is taken before any of theirs.
struct Sources {
  std::mutex mutex;
  std::vector<TraceSource *> all;
  bool areOn = false;
};

Sources &sources() {
  static auto *sources = new Sources;
  return *sources;
}

void startTraces() {
  Sources &known = sources();
  std::lock_guard lock(known.mutex);
  known.areOn = true;
  for (TraceSource *source : known.all)
    source->startTrace();
}

void stopTraces(std::vector<DeviceSpan> &spans) {
  Sources &known = sources();
  std::lock_guard lock(known.mutex);
  known.areOn = false;
  for (TraceSource *source : known.all)
    std::ranges::move(source->stopTrace(), std::back_inserter(spans));
}

/// What a thread has done since its last step.
struct Tally {
  uint32_t session = 0;
  uint32_t thread = 0;
  Part part = kNone;
  int64_t changed = 0; ///< when it went to `part`
  int64_t stepStart = 0;
  Parts parts{};
  size_t steps = 0;       ///< that it has ended
  size_t graphs = 0;      ///< since the last step
  size_t openSyncs = 0;   ///< 0 or 1
  std::optional<Run> run; ///< of the next launch
  Sync sync{};
  size_t graphsBefore = 0; ///< the sync

  void reset(uint32_t to) {
    *this = Tally();
    session = to;
    stepStart = changed = now();
    std::lock_guard lock(profile::session().mutex);
    thread = ++profile::session().threads;
  }

  /// Returns the time.
  int64_t change(Part to) {
    int64_t time = now();
    if (part != kNone)
      parts[size_t(part)] += time - changed;
    part = to;
    return changed = time;
  }
};

Tally &tally() {
  static thread_local Tally tally;
  uint32_t number = session().number.load(std::memory_order_acquire);
  if (tally.session != number) [[unlikely]]
    tally.reset(number);
  return tally;
}

bool endsStep(Cause cause) {
  return cause == Cause::MarkStep || cause == Cause::OptimizerStep;
}

/// Without the lock.
void addStep(Tally &of, int64_t end, bool isWhole, Cause cause,
             SourceId place) {
  Session &to = session();
  std::lock_guard lock(to.mutex);
  to.add(to.rows.steps,
         Step{of.stepStart, end, of.thread, isWhole, cause, place, of.parts});
  of.stepStart = end;
  of.parts = {};
  of.graphs = 0;
  ++of.steps;
}

/// The row of a run, by its number in the session. With the lock.
Run *findRun(uint64_t run) {
  Session &of = session();
  bool isOfSession = run >> 32 == of.number;
  return isOfSession ? &of.rows.runs[uint32_t(run) - 1] : nullptr;
}

/// Ops that became nodes are kept of the first steps and one of so many, or
/// they would be most of a profile.
constexpr size_t kFirstDetailed = 3, kDetailedOf = 16, kMostRecorded = 50'000;

} // namespace

int64_t clock() { return runtime::Cycles::now(); }

int64_t now() {
  return clock() - session().start.load(std::memory_order_relaxed);
}

std::string_view name(Part part) {
  constexpr std::array<std::string_view, kParts> names = {
      "record", "graph",   "lookup", "compile",
      "queue",  "execute", "wait",   "transfer"};
  return names[size_t(part)];
}

std::string_view name(Cause cause) {
  constexpr std::array<std::string_view, size_t(Cause::Other) + 1> names = {
      "mark_step",   "optimizer_step", "parameters", "item",        "read",
      "print",       "fallback",       "cap",        "each_op",     "linalg",
      "synchronize", "event",          "collective", "device_copy", "other"};
  return names[size_t(cause)];
}

bool begin() {
  Session &all = session();
  {
    std::lock_guard lock(all.mutex);
    if (isOn())
      return false;
    all.rows = Profile();
    all.threads = 0;
    all.open = 0;
    all.uploaded.clear();
    all.notNumbers.clear();
    (void)takeGraphs(); // of runs that ended behind the last one
    all.start = runtime::Cycles::now();
    all.number.fetch_add(1, std::memory_order_release);
    spans::watchers |= spans::kProfile;
  }
  startTraces();
  tally(); // the first thread's step begins here
  return true;
}

void addTraceSource(TraceSource &source) {
  Sources &known = sources();
  std::lock_guard lock(known.mutex);
  known.all.push_back(&source);
  if (known.areOn)
    source.startTrace();
}

void removeTraceSource(TraceSource &source) {
  Sources &known = sources();
  std::lock_guard lock(known.mutex);
  std::erase(known.all, &source);
}

size_t openRuns() {
  std::lock_guard lock(session().mutex);
  return session().open;
}

Profile end() {
  Tally &mine = tally();
  int64_t time = mine.change(kNone);
  addStep(mine, time, /*isWhole=*/false, Cause::Other, 0);
  spans::watchers &= uint8_t(~spans::kProfile);
  Session &all = session();
  std::vector<DeviceSpan> spans;
  stopTraces(spans);
  std::unique_lock lock(all.mutex);
  // A thread that comes late begins a tally that nobody reads.
  all.number.fetch_add(1, std::memory_order_release);
  all.rows.duration = time;
  Profile rows = std::move(all.rows);
  lock.unlock();
  rows.kernels = takeGraphs();
  rows.deviceSpans = std::move(spans);
  return rows;
}

void Timed::enter(Part to, uint8_t watchers) {
  isEntered = true;
  part = to;
  session = 0;
  span = nullptr;
  if (watchers & spans::kListener && to != Part::Record)
    span = spans::listener().begin("ltc::" + std::string(name(to)));
  if (!(watchers & spans::kProfile))
    return;
  Tally &mine = tally();
  session = mine.session;
  before = mine.part;
  start = mine.change(to);
}

void Timed::leave() {
  if (span)
    spans::listener().end(span);
  if (!session)
    return;
  Tally &mine = tally();
  if (mine.session != session)
    return;
  int64_t end = mine.change(before);
  if (part == Part::Record)
    return; // too many for a timeline
  Session &to = profile::session();
  std::lock_guard lock(to.mutex);
  to.add(to.rows.events,
         Event{std::string(name(part)), start, end, mine.thread});
}

bool beginSync(Cause cause, std::string_view detail, SourceId place) {
  Tally &mine = tally();
  if (mine.openSyncs)
    return false;
  mine.openSyncs = 1;
  int64_t start = mine.change(mine.part);
  mine.sync = {
      start,      start, mine.thread, cause, std::string(detail), place,
      mine.parts, 0};
  mine.graphsBefore = mine.graphs;
  return true;
}

void endSync() {
  Tally &mine = tally();
  if (!mine.openSyncs) // another profile began meanwhile
    return;
  mine.openSyncs = 0;
  Sync sync = std::move(mine.sync);
  sync.end = mine.change(mine.part);
  for (size_t i = 0; i < kParts; ++i)
    sync.parts[i] = mine.parts[i] - sync.parts[i];
  sync.graphs = mine.graphs - mine.graphsBefore;
  Cause cause = sync.cause;
  SourceId place = sync.place;
  int64_t end = sync.end;
  if (sync.graphs || !endsStep(cause) || sync.parts[size_t(Part::Wait)]) {
    Session &to = session();
    std::lock_guard lock(to.mutex);
    to.add(to.rows.syncs, std::move(sync));
  }
  if (endsStep(cause) && mine.graphs)
    addStep(mine, end, /*isWhole=*/true, cause, place);
}

void nameRun(Hash128 key, size_t ops, size_t inputs, size_t results) {
  Tally &mine = tally();
  ++mine.graphs;
  mine.run = Run{key, ops, inputs, results, mine.thread, 0, 0, 0};
}

uint64_t submitRun() {
  Tally &mine = tally();
  if (!mine.run)
    return 0;
  Run run = *mine.run;
  mine.run.reset();
  run.submitted = now();
  Session &to = session();
  std::lock_guard lock(to.mutex);
  size_t before = to.rows.runs.size();
  to.add(to.rows.runs, run);
  if (to.rows.runs.size() == before)
    return 0;
  ++to.open;
  return uint64_t(mine.session) << 32 | (before + 1);
}

void beginRun(uint64_t run) {
  int64_t time = now();
  std::lock_guard lock(session().mutex);
  if (Run *row = findRun(run))
    row->begun = time;
}

void endRun(uint64_t run) {
  int64_t time = now();
  std::lock_guard lock(session().mutex);
  if (Run *row = findRun(run)) {
    row->ended = time;
    --session().open;
  }
}

std::optional<Hash128> keyOf(uint64_t run) {
  std::lock_guard lock(session().mutex);
  Run *row = findRun(run);
  return row ? std::optional(row->key) : std::nullopt;
}

void noteMemory(uint64_t run, size_t allocated, size_t reserved, size_t arena) {
  std::lock_guard lock(session().mutex);
  if (Run *row = findRun(run)) {
    row->allocated = allocated;
    row->reserved = reserved;
    row->arena = arena;
  }
}

void noteInterpreted(uint64_t run) {
  std::lock_guard lock(session().mutex);
  if (Run *row = findRun(run))
    row->isInterpreted = true;
}

bool isFirstNotANumber(uint64_t run) {
  std::lock_guard lock(session().mutex);
  Run *row = findRun(run);
  return row && session().notNumbers.insert(row->key).second;
}

void addNotANumber(uint64_t run, std::string op, SourceId place) {
  std::lock_guard lock(session().mutex);
  if (Run *row = findRun(run))
    session().rows.notNumbers.push_back(
        {row->submitted, row->thread, std::move(op), place});
}

/// Of the first and the last bytes: a whole batch would take long.
static Hash128 sampleOf(const void *data, size_t bytes) {
  constexpr size_t kLooked = 4096;
  std::string_view all(static_cast<const char *>(data), bytes);
  Hasher hasher;
  hasher.add(bytes).add(all.substr(0, kLooked));
  return hasher.add(all.substr(bytes - std::min(bytes, kLooked))).finish();
}

void addTransfer(int64_t start, bool isUpload, const void *data, size_t bytes,
                 SourceId place) {
  Tally &mine = tally();
  int64_t end = now();
  Hash128 sample = isUpload && bytes ? sampleOf(data, bytes) : Hash128();
  Session &to = session();
  std::lock_guard lock(to.mutex);
  bool isRepeated = false;
  if (isUpload && bytes) {
    auto [known, isNew] = to.uploaded.try_emplace(place, sample);
    isRepeated = !isNew && known->second == sample;
    known->second = sample;
  }
  to.add(to.rows.transfers,
         Transfer{start, end, mine.thread, isUpload, bytes, place, isRepeated});
}

void addRecorded(std::string_view op, SourceId place) {
  Tally &mine = tally();
  if (mine.steps >= kFirstDetailed && mine.steps % kDetailedOf)
    return;
  int64_t end = now();
  Session &to = session();
  std::lock_guard lock(to.mutex);
  if (to.rows.recorded.size() < kMostRecorded)
    to.rows.recorded.push_back(
        {mine.changed, end, mine.thread, std::string(op), place});
}

void addEvent(std::string name, int64_t begun) {
  Tally &mine = tally();
  int64_t end = now();
  Session &to = session();
  int64_t start = begun - to.start.load(std::memory_order_relaxed);
  std::lock_guard lock(to.mutex);
  to.add(to.rows.events,
         Event{std::move(name), std::max(start, int64_t(0)), end, mine.thread});
}

} // namespace ltc::profile
