//===- team.h - Threads that take pieces of one loop after another --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A parallel region with a barrier at both ends of every loop waits for all
// threads of the team, whether the system runs them or not; with the user's
// thread beside the queue's there are always more threads than cores. Here one
// region stays open for many loops. Its threads take pieces, first of their
// own share and then of others', so that no loop waits for a thread that is
// not running: only for pieces that were taken. Own shares come first, since
// what a thread wrote in the loop before is still in its cache.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace ltc::kernels {

/// Belongs to one thread, its leader, which alone may call these functions; in
/// an open region it may let another thread call run() in its place. While a
/// region is open the leader, and no such other, is inside a parallel
/// region: what forks by itself, as ATen's kernels do, would run serially.
class Team {
public:
  using Body = void (*)(int64_t begin, int64_t end, void *argument);

  ~Team() { close(); }

  /// Opens a region with as many threads as there are, unless one is open.
  void open();
  /// Ends the region, if one is open.
  void close();
  bool isOpen() const { return opened; }
  /// Of an open region, its leader's with them.
  unsigned size() const { return threads; }

  /// Runs `body`, which must not throw, over [0, n) in pieces of `grain` or
  /// more, each once. Needs an open region. What was written before the call
  /// is seen by all pieces, and what they wrote by the leader behind it.
  void run(int64_t n, int64_t grain, Body body, void *argument);

  /// Whether the calling thread is inside a piece of any team's loop.
  static bool isInPiece();

private:
  /// From the highest bit down: 32 for the loop's number, 16 for the number
  /// behind the share's last piece, 16 for the piece to be taken next. A
  /// thread that slept through a loop can thus take nothing of a later one.
  struct alignas(64) Share {
    std::atomic<uint64_t> state{0};
  };

  static void help(void *team);
  void takePieces(uint32_t number, unsigned self);
  void awaitPieces(uint32_t count);

  bool opened = false;
  // Written while no other thread is in the region.
  unsigned threads = 0, capacity = 0;
  std::unique_ptr<Share[]> shares; ///< one a thread
  uint32_t before = 0;             ///< number of the last loop before it
  // Of the loop in progress. A late thread may read them while the leader
  // writes the next loop's; it then finds no piece of the old one.
  std::atomic<int64_t> iterations{0}, pieceSize{0};
  std::atomic<Body> work{nullptr};
  std::atomic<void *> data{nullptr};
  std::atomic<bool> closing{false};
  alignas(64) std::atomic<uint32_t> loopNumber{0};
  alignas(64) std::atomic<uint32_t> piecesDone{0};
};

} // namespace ltc::kernels
