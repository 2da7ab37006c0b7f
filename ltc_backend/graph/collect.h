//===- graph/collect.h - What a sync has to compute -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/pending.h"

namespace ltc::backend {

/// One device's pending work as a graph: numbered, hashed, not yet built.
struct Collection {
  /// Who gets an output: the tensor whose value result `index` of `node` is,
  /// or with a null tensor the node itself, held by a thread that is recording.
  struct Receiver {
    TensorDataPtr tensor;
    std::shared_ptr<OpNode> node;
    uint32_t index = 0, output = 0;
    /// Of the tensor's value from before, in `replaced`.
    uint32_t place = DeviceData::kNoPlace;
  };
  struct Input {
    std::shared_ptr<DeviceData> data; ///< null for a scalar
    DType scalarType = DType::F64;
  };
  int64_t device = 0;
  /// In the order they were recorded, but for those that wait (late_nodes.h).
  std::vector<const OpNode *> nodes;
  std::vector<Receiver> receivers;
  std::vector<Input> inputs;
  std::vector<LaunchArgument> arguments; ///< one an input
  std::shared_ptr<Replaced> replaced;    ///< what the receivers had before
  std::vector<GraphOutput> outputs;
  std::vector<const ResultType *> outputTypes; ///< the receivers' nodes' own
  std::vector<ValueId> operands; ///< of all nodes, one after the other
  Hash128 key;                   ///< Graph::hash() of build()
  std::vector<torch::lazy::Value> released; ///< to be destroyed unlocked
  bool hasNumbers = false; ///< collect(Numbers) would find some

  bool empty() const { return receivers.empty(); }
  /// The graph itself, for the compiler; `endedBy` is the line that wants it.
  Graph build(SourceId endedBy = 0) const;
  /// What the program said of its inputs' dimensions. With the list's lock.
  std::vector<DimMark> marks() const;
};

/// The prototype with a call's operands in their places, numbered so.
Node numbered(const Node &prototype, const ValueId *operands);

/// What a collection takes. Numbers are tensors of one element that one exact
/// op makes of such data, and that nothing pending uses (graph/number.h).
enum class Collected { All, Numbers, AllButNumbers };

/// Whose values a collection takes: of what one thread recorded, or all, and
/// these besides. Graphs would come of how threads took turns otherwise, and
/// never again; and an op that fails would undo half a step of another thread.
struct Recorded {
  /// Null for all; what is no thread, for `wanted` alone.
  const void *thread = nullptr;
  c10::ArrayRef<TensorDataPtr> wanted;
  /// Of a graph that is built and not run at once: for each of `wanted`, the
  /// data whose memory its value may be written to, or null. Then nothing else
  /// gets a donation, or a value. Without these, what an in-place op computes
  /// goes to what it was computed from.
  c10::ArrayRef<const DeviceData *> homes = {};
};

/// Walks the device's pending list. The list's lock must be held by the caller;
/// what is collected stays valid while the receivers live, and keeps the inputs
/// of later collections from being donated while it lives itself.
Collection collect(int64_t device, PendingList &list,
                   Collected what = Collected::All, Recorded whose = {});

} // namespace ltc::backend
