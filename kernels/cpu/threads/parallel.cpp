//===- parallel.cpp - Loops on the process's own threads ------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "parallel.h"

#include "regions.h"
#include "team.h"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <optional>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ltc::kernels {
namespace {

/// What noteThreadCount() saw last; 0 before the first.
std::atomic<int> wantedThreads{0};

thread_local Team team;
thread_local bool isAlone = false;
/// Whether the region may stay open between loops, and between programs: a
/// thread in the region sleeps while there is nothing to do, one that libgomp
/// lets wait for the next region burns a core for some milliseconds first.
thread_local bool runsPrograms = false;

/// The floating-point modes of a thread, for as long as it has a new thread's.
/// Those of SSE and AVX, where these compute: all of them take 0.1 us to
/// change.
class NewModes {
public:
#if defined(__x86_64__)
  NewModes() : before(_mm_getcsr()) { _mm_setcsr(kNew); }
  ~NewModes() { _mm_setcsr(before); }
  NewModes(const NewModes &) = delete;

private:
  static constexpr unsigned kNew = 0x1f80; ///< exceptions masked, none seen
  unsigned before;
#else
  NewModes() {
    std::fegetenv(&before);
    std::fesetenv(FE_DFL_ENV);
  }
  ~NewModes() { std::fesetenv(&before); }
  NewModes(const NewModes &) = delete;

private:
  std::fenv_t before;
#endif
};

/// A thread that has work of its own while it runs a program.
struct Borrowed {
  NewModes modes;
  /// Its numbers of threads, once another library's kernels were called.
  struct Threads {
    int ofOpenMP, ofMkl;
  };
  std::optional<Threads> before;
  Team *team; ///< for its loops; null: they keep to the thread
};
thread_local std::optional<Borrowed> borrowed;

/// To others' kernels one thread is the queue's when it stays alone or a
/// borrowed one: they must not split, and thus round, in two ways.
void keepToThread(Borrowed &thread) {
  if (thread.before)
    return;
  thread.before = {Regions::get().threads(), 0};
  const Regions &regions = Regions::get();
  if (regions.setThreads)
    regions.setThreads(1);
  if (regions.setThreadsOfMkl)
    thread.before->ofMkl = regions.setThreadsOfMkl(1);
}

/// Makes the calling thread use as many threads as noteThreadCount() saw last:
/// OpenMP and MKL keep the number for each thread apart. Setting it again would
/// cost 40 us, since MKL then drops what it keeps.
void followThreadCount() {
  static thread_local int followed = 0;
  int wanted = isAlone ? 1 : wantedThreads.load(std::memory_order_relaxed);
  if (followed == wanted || wanted == 0)
    return;
  followed = wanted;
  team.close();             // what is set inside a region ends with it
  Regions::get().threads(); // which a thread's first call changes
  const Regions &regions = Regions::get();
  if (regions.setThreadsOfMkl)
    regions.setThreadsOfMkl(isAlone ? 1 : 0);
  if (regions.setThreads)
    regions.setThreads(wanted);
}

} // namespace

void noteThreadCount() {
  wantedThreads.store(Regions::get().threads(), std::memory_order_relaxed);
}

unsigned threadCount() {
  int noted = wantedThreads.load(std::memory_order_relaxed);
  return unsigned(noted ? noted : Regions::get().threads());
}

void releaseThreads() {
  constexpr int softly = 1; // omp_pause_soft: settings stay
  if (Regions::get().pause)
    Regions::get().pause(softly);
}

void stayAlone(bool alone) {
  isAlone = alone;
  runsPrograms = true;
}

WaitingTeam waitingTeam() {
  return team.isOpen() ? WaitingTeam{&team, team.size()} : WaitingTeam();
}

void rest() {
  team.close();
  releaseThreads();
}

void borrowThread(bool begins, WaitingTeam waiting) {
  if (begins) {
    borrowed.emplace().team = static_cast<Team *>(waiting.team);
    return;
  }
  if (auto before = borrowed->before) {
    const Regions &regions = Regions::get();
    if (regions.setThreads)
      regions.setThreads(before->ofOpenMP);
    if (regions.setThreadsOfMkl)
      regions.setThreadsOfMkl(before->ofMkl);
  }
  borrowed.reset();
}

void lendThreads() {
  if (borrowed)
    return keepToThread(*borrowed);
  team.close();
  followThreadCount();
}

/// Whether the calling thread's loops keep to it.
static bool isSerial() {
  bool isNested =
      Team::isInPiece() || (Regions::get().isInside() && !team.isOpen());
  return isNested || isAlone || (borrowed && !borrowed->team);
}

unsigned loopThreads() {
  if (isSerial())
    return 1;
  if (borrowed)
    return borrowed->team->size();
  followThreadCount();
  return Regions::get().hasTeams() ? unsigned(Regions::get().threads()) : 1;
}

void parallelFor(int64_t n, int64_t grain,
                 void (*body)(int64_t, int64_t, void *), void *argument) {
  if (n <= 0)
    return;
  grain = std::max<int64_t>(grain, 1);
  if (n <= grain || loopThreads() < 2)
    return body(0, n, argument);
  if (borrowed)
    return borrowed->team->run(n, grain, body, argument);
  team.open();
  team.run(n, grain, body, argument);
  if (!runsPrograms)
    team.close();
}

} // namespace ltc::kernels
