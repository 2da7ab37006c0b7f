//===- team.cpp - Threads that take pieces of one loop after another ------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "team.h"

#include "regions.h"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ltc::kernels {
namespace {

/// Enough that a thread that falls behind leaves work to the others.
constexpr int64_t kPiecesPerThread = 8;
constexpr unsigned kMostThreads = UINT16_MAX / kPiecesPerThread;
/// About 50 us, a few times what waking a sleeper takes; a core that is longer
/// without work may be wanted by the user's thread.
constexpr int kSpins = 2000;

thread_local bool inPiece = false;

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Waits until `atomic` is no longer `old`: awake for a while, then asleep.
void awaitChange(const std::atomic<uint32_t> &atomic, uint32_t old) {
  for (int i = 0; i < kSpins; ++i) {
    if (atomic.load(std::memory_order_acquire) != old)
      return;
    pause();
  }
  atomic.wait(old, std::memory_order_acquire);
}

} // namespace

bool Team::isInPiece() { return inPiece; }

void Team::open() {
  if (isOpen())
    return;
  const Regions &regions = Regions::get();
  auto most = std::min(unsigned(regions.threads()), kMostThreads);
  if (most > capacity) {
    shares.reset(new Share[most]);
    capacity = most;
  }
  threads = most;
  before = loopNumber.load(std::memory_order_relaxed);
  closing.store(false, std::memory_order_relaxed);
  regions.start(help, this, most);
  opened = true;
}

void Team::close() {
  if (!isOpen())
    return;
  closing.store(true, std::memory_order_relaxed);
  loopNumber.fetch_add(1);
  loopNumber.notify_all();
  Regions::get().end();
  opened = false;
}

/// What the region's other threads do.
void Team::help(void *data) {
  auto &team = *static_cast<Team *>(data);
  auto self = unsigned(Regions::get().threadNumber());
  for (uint32_t last = team.before;;) {
    awaitChange(team.loopNumber, last);
    last = team.loopNumber.load(std::memory_order_acquire);
    if (team.closing.load(std::memory_order_relaxed))
      return;
    team.takePieces(last, self);
  }
}

void Team::run(int64_t n, int64_t grain, Body body, void *argument) {
  int64_t wanted = std::min<int64_t>((n + grain - 1) / grain,
                                     int64_t(threads) * kPiecesPerThread);
  int64_t size = (n + wanted - 1) / wanted;
  auto count = uint32_t((n + size - 1) / size);
  iterations.store(n, std::memory_order_relaxed);
  pieceSize.store(size, std::memory_order_relaxed);
  work.store(body, std::memory_order_relaxed);
  data.store(argument, std::memory_order_relaxed);
  piecesDone.store(0, std::memory_order_relaxed);
  uint32_t number = loopNumber.load(std::memory_order_relaxed) + 1;
  for (uint64_t t = 0; t < threads; ++t) {
    uint64_t first = count * t / threads, behind = count * (t + 1) / threads;
    shares[t].state.store(uint64_t(number) << 32 | behind << 16 | first,
                          std::memory_order_relaxed);
  }
  // Sequentially consistent, like the waiting: a sleeper is seen, or it sees.
  loopNumber.store(number);
  loopNumber.notify_all();
  takePieces(number, 0);
  awaitPieces(count);
}

/// Takes what is left of a share, piece by piece; -1 if nothing is.
static int64_t takePiece(std::atomic<uint64_t> &share, uint32_t number) {
  uint64_t state = share.load(std::memory_order_relaxed);
  while (state >> 32 == number && uint16_t(state) < uint16_t(state >> 16))
    if (share.compare_exchange_weak(state, state + 1,
                                    std::memory_order_relaxed))
      return uint16_t(state);
  return -1;
}

void Team::takePieces(uint32_t number, unsigned self) {
  int64_t n = iterations.load(std::memory_order_relaxed);
  int64_t size = pieceSize.load(std::memory_order_relaxed);
  Body body = work.load(std::memory_order_relaxed);
  void *argument = data.load(std::memory_order_relaxed);
  auto count = uint32_t((n + size - 1) / size);
  inPiece = true;
  for (unsigned t = 0; t < threads; ++t) {
    std::atomic<uint64_t> &share = shares[(self + t) % threads].state;
    for (int64_t i; (i = takePiece(share, number)) >= 0;) {
      body(i * size, std::min(n, (i + 1) * size), argument);
      bool wasLast = piecesDone.fetch_add(1) + 1 == count;
      if (wasLast && self != 0) // the leader alone waits
        piecesDone.notify_one();
    }
  }
  inPiece = false;
}

void Team::awaitPieces(uint32_t count) {
  for (uint32_t done;
       (done = piecesDone.load(std::memory_order_acquire)) != count;)
    awaitChange(piecesDone, done);
}

} // namespace ltc::kernels
