//===- reads/host_eval.h - Few small ops run on the host --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/graph/collect.h"

namespace ltc::backend {

/// The nodes that lead to some pending values, and the data they start from.
/// They run in eager's own kernels, without a graph.
class HostEval {
public:
  /// What may be computed. Exact: what is the same wherever that is done.
  /// Operands: whatever is not large. Little: a few ops on little data, which a
  /// graph of its own would cost more than.
  enum Scope { Exact, Operands, Little };
  static constexpr size_t kFewNodes = 4;
  explicit HostEval(Scope scope) : scope(scope) {}

  /// Adds a value that is to be had. False if it has to come from the device.
  /// With the pending list's lock.
  bool add(const Operand &value);
  /// The values, or none if a kernel failed: the graph will say why.
  std::vector<at::Tensor> run();
  /// What run() has computed for a node; undefined if nothing, or an alias of
  /// data that is there.
  at::Tensor valueOf(const torch::lazy::Node &node, size_t index) const;

  size_t nodes() const { return steps.size(); }
  /// Of those, all but views, which are aliases and no work.
  size_t works() const;
  std::shared_ptr<DeviceData> firstLeaf; ///< of the data, as it was found
  bool ofNumbers = true;                 ///< all data have one element each
  uint64_t newest = 0;                   ///< when the last of the data was made

private:
  /// A number among the values; kNumber for an operand that is no tensor.
  using Place = uint32_t;
  static constexpr Place kNumber = UINT32_MAX;
  struct Value {
    const torch::lazy::Node *node;
    uint32_t index;
    std::shared_ptr<DeviceData> data; ///< null if a step makes it
    at::Tensor tensor;
  };
  struct Step {
    std::shared_ptr<OpNode> node;
    OpNode::Operands inputs; ///< the node's own go when it is computed
    c10::SmallVector<Place, 3> operands;
    Place firstResult;
  };

  /// Where the operand's value is; nothing if it has to come from the device.
  std::optional<Place> addOperand(const Operand &operand);
  std::optional<Place> addData(const Operand &operand,
                               std::shared_ptr<DeviceData> data);
  std::optional<Place> addStep(std::shared_ptr<OpNode> node);
  std::optional<Place> find(const Operand &operand) const;
  bool fits(const OpNode &node) const;
  bool runStep(const Step &step);

  const Scope scope;
  size_t seen = 0; ///< nodes
  c10::SmallVector<Place, 2> roots;
  c10::SmallVector<Step, 4> steps; ///< operands before those who use them
  c10::SmallVector<Value, 8> values;
};

/// The values of collect(Numbers), one buffer an output; none if what they are
/// computed from failed. Waits for that.
std::vector<BufferPtr> computeNumbers(const Collection &numbers,
                                      PendingList &list);

} // namespace ltc::backend
