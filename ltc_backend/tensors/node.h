//===- tensors/node.h - Values of tensors -----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/graph.h"
#include "ltc_backend/tensors/device_data.h"
#include "ltc_backend/tensors/layout.h"

#include <c10/util/Exception.h>
#include <c10/util/SmallVector.h>
#include <torch/csrc/lazy/core/ir.h>

namespace ltc::backend {

/// The type of one result, in the three forms that are asked for.
struct ResultType {
  torch::lazy::Shape shape;
  TensorType type;
  uint64_t hash = 0; ///< of the type; what the shape memo looks at
  Layout layout;     ///< a view's offset is counted from its base's
};
ResultType makeResultType(at::ScalarType dtype, at::IntArrayRef sizes);

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
    return type.shape; // not in braces, which would be a view of a copy
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

} // namespace ltc::backend
