//===- collectives/graph_collective.h - Begun by a graph --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recorded collective is two kinds of nodes: one that begins it, and for each
// tensor that it writes one that waits and has the value. A node knows a call
// by a number, an operand, so that a graph's key says the op, the types and how
// many ranks there are, and nothing of the rank. Those that begin are a chain:
// each reads what the one before it gives, so that their order is the
// program's.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/record/collectives/collective_call.h"

#include <torch/csrc/distributed/c10d/Work.hpp>
#include <torch/csrc/lazy/core/ir.h>

#include <atomic>
#include <chrono>
#include <mutex>

namespace ltc::backend {

/// One call, from its recording until all that it has written was fetched. Any
/// thread.
class GraphCollective : public std::enable_shared_from_this<GraphCollective> {
public:
  /// Of arguments with the group of groupIn() in the place of the program's.
  GraphCollective(const Collective &kind, CollectiveCall call,
                  c10::OperatorHandle op, std::vector<c10::IValue> arguments);

  /// What is to run with tensors of `here`, the host or a GPU whose stream is
  /// current: calls the library with copies of what is read, and returns while
  /// that is under way. Raises what the library refuses.
  void start(c10::ArrayRef<at::Tensor> read, at::Device here);
  /// Waits for it, or has the current stream wait, and hands over the tensor of
  /// that number among those that are written. Raises what became of it.
  at::Tensor fetch(int64_t index);
  /// Null until it has begun.
  c10::intrusive_ptr<c10d::Work> work();
  /// A node that is to fetch one of the tensors: of the last, nobody asks for
  /// more.
  void addFetch(std::weak_ptr<torch::lazy::Node> node);
  /// Waits until it is over, and warns if it has failed and nothing fetched it.
  void awaitEnd();
  /// Whether nothing can fetch any more, and the library is done with it: nodes
  /// that are gone have run once another start has that was recorded later.
  bool isOver(int64_t lastRecorded, int64_t lastStarted);

  const CollectiveCall call;
  const int64_t number; ///< greater than those before
  int64_t after = 0;    ///< the number of the one before it in the chain

private:
  bool isFilled(size_t argument) const {
    return kind.access == Access::Fill && argument == 0;
  }
  c10::IValue lend(const c10::IValue &value, size_t argument,
                   const at::Tensor *&next, at::Device place);
  void watch();
  void noteEnd();

  const Collective &kind;
  const c10::OperatorHandle op;
  std::mutex mutex;                   ///< guards the rest
  std::vector<c10::IValue> arguments; ///< tensors stand for types
  std::vector<at::Tensor> written;
  c10::intrusive_ptr<c10d::Work> begun;
  bool isFetched = false;
  std::chrono::steady_clock::time_point began;
  std::atomic<bool> hasEnded = false; ///< not guarded
  uint64_t waiting = 0;               ///< the call's in its group
  size_t outputs = 0; ///< that fetches are recorded for in the end
  std::vector<std::weak_ptr<torch::lazy::Node>> fetches;
  int64_t unheld = 0; ///< the last that was recorded when those were gone
};
using GraphCollectivePtr = std::shared_ptr<GraphCollective>;

/// The chain's beginning, which no call has.
int64_t firstInChain();
/// The nodes find it by its number from now on, for as long as there are any.
void keep(const GraphCollectivePtr &collective);

/// Waits until all that have begun are over.
void awaitAllBegun();

/// Whether the calling thread is in start(), whose calls of the library are in
/// order by themselves.
bool isStarting();

void registerGraphCollectives();

} // namespace ltc::backend
