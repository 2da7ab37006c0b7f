//===- record/node.h - The two kinds of LTC nodes ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An OpNode is one recorded call; a DataNode is memory on the device. What is
// the same for every call with equal attributes and operand types (result
// shapes, attributes, signature) lives once, in a CallShape that nodes share.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/graph.h"
#include "ltc_backend/graph/device_data.h"
#include "ltc_backend/record/views/layout.h"

#include <c10/util/Exception.h>
#include <c10/util/SmallVector.h>
#include <torch/csrc/lazy/core/ir.h>

namespace ltc::backend {

struct OpInfo;

/// The type of one result, in the three forms that are asked for.
struct ResultType {
  torch::lazy::Shape shape;
  TensorType type;
  uint64_t hash = 0; ///< of the type; what the shape memo looks at
  Layout layout;     ///< a view's offset is counted from its base's
};
ResultType makeResultType(at::ScalarType dtype, at::IntArrayRef sizes);

/// A number among the operands that eager converts to a dtype, and the bounds
/// between which any number fits.
struct NumberLimit {
  uint32_t operand;
  at::ScalarType type;
  bool isNegated; ///< before it is converted
  bool isWhole;   ///< as it has been converted to an integer dtype before
  double low, high;
};

/// Everything about a call but its operands. Immutable, shared by nodes.
struct CallShape {
  const OpInfo *op = nullptr;
  /// Arguments hold 0 wherever an operand goes.
  Node prototype;
  Hash128 signature; ///< prototype.signature()
  std::vector<ResultType> results;
  /// One entry a schema return: how its tensors are handed back.
  enum : int { kUndefined = -2, kTensor = -1 /* else: the list's length */ };
  std::vector<int> returns;
  std::vector<NumberLimit> limits;
  std::vector<c10::Warning> warnings; ///< of eager's kernel, at each call
};

class LtcNode : public torch::lazy::Node {
public:
  using torch::lazy::Node::Node;
  virtual const ResultType &result(size_t index) const = 0;
  const torch::lazy::Shape &shape(size_t index = 0) const final {
    return result(index).shape;
  }
  torch::lazy::hash_t hash() const override;
  torch::lazy::hash_t shapeHash() const override { return hash(); }
  const bool isData;

protected:
  LtcNode(torch::lazy::OpKind kind, size_t outputs, bool isData)
      : torch::lazy::Node(kind, outputs), isData(isData) {}
};

class DataNode final : public LtcNode,
                       public std::enable_shared_from_this<DataNode> {
public:
  explicit DataNode(std::shared_ptr<DeviceData> data);
  const ResultType &result(size_t) const override { return type; }
  c10::ArrayRef<torch::lazy::Shape> shapes() const override {
    return {type.shape};
  }

  const std::shared_ptr<DeviceData> data;
  /// Scratch of the collector: references it has seen, and a chain of leaves.
  mutable long references = 0;
  mutable const DataNode *nextLeaf = nullptr;

private:
  ResultType type;
};

/// One operand: result `index` of `node`, or a host scalar if node is null.
struct Operand {
  std::shared_ptr<torch::lazy::Node> node;
  uint32_t index = 0;
  DType scalarType = DType::F64;
  uint64_t bits = 0;

  const LtcNode &ltc() const { return static_cast<const LtcNode &>(*node); }
};

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
  /// For PyTorch's own graph printers; made when asked for.
  const std::vector<torch::lazy::Output> &operands() const override;
  const torch::lazy::Output &operand(size_t i) const override {
    return operands()[i];
  }
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

} // namespace ltc::backend
