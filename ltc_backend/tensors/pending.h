//===- tensors/pending.h - What a device has yet to compute -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A live tensor is a TensorData: it has device data, or an IR value. Tensors
// whose value is still to be computed, and the op nodes that compute it, stand
// in one list a device in the order they were recorded; a sync walks it once.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/mutex.h"
#include "ltc_backend/tensors/op_info.h"

#include <mutex>
#include <torch/csrc/lazy/core/tensor.h>

namespace ltc::backend {

/// One recorded call.
class OpNode final : public LtcNode,
                     public std::enable_shared_from_this<OpNode> {
public:
  using Operands = c10::SmallVector<Operand, 3>;
  OpNode(std::shared_ptr<const CallShape> call, Operands &&operands,
         SourceId source, int64_t device);
  ~OpNode() override;

  const ResultType &result(size_t index) const override {
    return call->results[index];
  }
  c10::ArrayRef<torch::lazy::Shape> shapes() const override;
  /// For PyTorch's own graph printers; made when asked for, by one thread at a
  /// time, and gone with the inputs.
  const std::vector<torch::lazy::Output> &operands() const override;
  const torch::lazy::Output &operand(size_t i) const override {
    return operands()[i];
  }
  /// With attributes and numbers by name, and with its line if the environment
  /// variable LTC_ENABLE_SOURCE_INFO is set.
  std::string ToString() const override;

  const std::shared_ptr<const CallShape> call;
  Operands inputs; ///< gone once the node is computed
  const SourceId source;
  const int64_t device;

  // The rest is guarded by the pending list's lock.
  OpNode *previous = nullptr, *next = nullptr;
  bool pending = false;
  const void *thread = nullptr; ///< that recorded it (PendingList::thread)
  /// Results that a sync has computed, by index; empty while pending. Whoever
  /// still holds the node (a thread that is recording a use) finds them here.
  std::vector<std::shared_ptr<DeviceData>> computed;
  /// Scratch of the collector.
  bool live = false;
  long references = 0, owners = 0; ///< seen; all, as far as was seen
  ValueId firstValue = 0;
  uint32_t firstSlot = 0;

private:
  mutable std::vector<torch::lazy::Output> outputs;
  mutable std::vector<torch::lazy::Shape> shapeList;
};

struct TensorData final : torch::lazy::LazyTensor::Data,
                          std::enable_shared_from_this<TensorData> {
  using torch::lazy::LazyTensor::Data::Data;
  ~TensorData() override;

  TensorData *previous = nullptr, *next = nullptr;
  bool pending = false;
  /// While pending: the value that was there before, if there was one. Guarded
  /// by the pending list's lock.
  std::shared_ptr<DeviceData> before;
  /// One of a view and its base below functionalisation, where both are copies.
  bool isShared = false;
};
using TensorDataPtr = std::shared_ptr<TensorData>;

/// Stands for the calling thread, and after its end maybe for another one.
inline const void *currentThread() { return __builtin_thread_pointer(); }

/// What one device has yet to compute.
struct PendingList {
  Mutex mutex; ///< guards everything below and the nodes' scratch fields
  OpNode *firstNode = nullptr, *lastNode = nullptr;
  int64_t recorded = 0; ///< nodes, since metrics() last asked
  TensorData *firstTensor = nullptr, *lastTensor = nullptr;
  size_t nodes = 0;
  const void *thread = nullptr; ///< that recorded last
  /// A read since the last sync that needed no graph (graph/reads/host_read.h).
  struct HostRead {
    SourceId line;
    size_t nodes;
    std::weak_ptr<DeviceData> data;
    uint64_t newest; ///< of all data there was
  };
  std::vector<HostRead> hostReads;
  /// The last call of a graph that ended since it was full, and its line. A
  /// loop that neither reads nor steps comes around there again: graphs that
  /// end there are equal, where a count would cut each at another place.
  /// Forgotten at a sync for another cause.
  struct Turn {
    std::shared_ptr<const CallShape> call;
    SourceId line = 0;
  };
  Turn turn;
  /// Nodes that are computed for the error they may raise, until they are.
  std::vector<std::shared_ptr<OpNode>> checks;
  /// A step of an optimizer that may still fail (graph/step_counts.h).
  struct Step {
    std::weak_ptr<TensorData> parameter;
    std::vector<at::Tensor> counts;
    BufferPtr witness; ///< the parameter's value after it
  };
  std::vector<Step> steps;

  void link(OpNode &node);
  void unlink(OpNode &node);
  void link(TensorData &tensor);
  void unlink(TensorData &tensor);
};
PendingList &pendingList(int64_t device);
/// Counts what was recorded in `record.ops`, where metrics() looks.
void addUpRecorded();
/// Whether no other thread that lives has recorded anything.
LTC_API bool recordsAlone();
/// One sync at a time a device: a second one must see what the first computed.
/// Who reads the data that pending nodes start from holds it, too, until it has
/// a share in them: a sync under way may have donated them. Taken before the
/// pending list's lock.
std::mutex &syncMutex(int64_t device);

} // namespace ltc::backend
