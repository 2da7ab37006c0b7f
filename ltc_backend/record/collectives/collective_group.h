//===- collectives/collective_group.h - A group's ranks ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks that call different collectives wait for each other for ever. A rank
// that has waited long leaves what it called in the group's store, where the
// others compare theirs. Nothing is exchanged while all goes well.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/source.h"

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace ltc::backend {

/// A call, as the ranks that meet in it tell each other of it.
struct Meeting {
  uint64_t number = 0; ///< of a collective in its group; 0: a message
  std::string place;   ///< "6", or "0>1 tag 7 2" of a message; empty: unknown
  std::string match;   ///< "all_reduce(f32 4, sum)": all that must not differ
  std::string call;    ///< "all_reduce(f32[4], sum)"
  SourceId source = 0;
};

/// The process group of lazy tensors, as one rank knows it. Any thread.
class CollectiveGroup : public std::enable_shared_from_this<CollectiveGroup> {
public:
  CollectiveGroup(c10d::ProcessGroup &group,
                  const c10::intrusive_ptr<c10d::Backend> &backend);

  bool isOf(const c10d::Backend &other) const;
  /// Nobody has the process group any more.
  bool isOver() const { return backend.expired(); }

  /// Says where the group's next collective meets the other ranks'.
  void place(Meeting &collective);
  /// The same of the next message of two ranks with that tag.
  void place(Meeting &message, int64_t from, int64_t to, int64_t tag);

  /// As skipTags() of Gloo's.
  void skipTags(uint64_t hash);
  /// A call that others have to answer has begun, until end() of the result.
  uint64_t begin(const Meeting &meeting);
  void end(uint64_t call);
  /// Compares what has waited long with what other ranks have left, and ends
  /// all calls if they differ. For one thread, now and then.
  void look();

  struct Cause {
    std::string text;
    bool differs = false; ///< ranks called different collectives
  };
  /// Why the call failed of which Gloo says `what`. Asks the store, if that
  /// answers in time.
  Cause causeOf(const Meeting &meeting, std::string_view what);

private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    Meeting meeting;
    Clock::time_point nextLook;
    Clock::duration pause; ///< until the look after that
    bool isTold = false;   ///< the store may have it
  };

  std::string key(const std::string &place) const;
  std::string record(const Meeting &meeting) const;
  /// Whether another rank's call in this place is known to differ.
  bool compare(const Meeting &meeting);
  bool knowsDifference();
  bool anyDiffers(const Meeting &meeting);
  Cause findCause(const Meeting &meeting, std::string text);
  std::vector<Meeting> due();
  void tellLast();
  void forgetEnded();
  /// "; rank 1 has not called it: ..." of each that is known to be behind.
  std::string ranksBehind(const Meeting &meeting);
  /// Fails all that Gloo has begun.
  void abort();

  const int rank, size;
  const c10::weak_intrusive_ptr<c10d::Backend> backend;
  const c10::weak_intrusive_ptr<c10d::Store> store;

  std::mutex mutex; ///< guards all below
  uint64_t collectives = 0, calls = 0;
  std::map<std::string, uint64_t> messages;
  std::map<uint64_t, Waiting> waiting;
  std::vector<std::string> ended; ///< places to remove from the store
  Meeting last;                   ///< the last collective
  std::string told;
  Clock::time_point nextTelling{};
  std::string difference; ///< the first that was found
  bool isMute = false;    ///< the store is gone
};

} // namespace ltc::backend
