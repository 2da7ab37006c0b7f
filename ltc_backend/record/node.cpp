//===- record/node.cpp - The two kinds of LTC nodes -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/node.h"

#include "ltc_backend/convert.h"
#include "ltc_backend/record/lazy_tensor.h"
#include "ltc_backend/record/op_info.h"

#include <torch/csrc/lazy/core/internal_ops/ltc_ops.h>

namespace ltc::backend {

ResultType makeResultType(at::ScalarType dtype, at::IntArrayRef sizes) {
  ResultType result;
  result.shape = torch::lazy::Shape(dtype, sizes);
  // Only operands and results of recorded ops get here: their types convert.
  result.type = {toDType(dtype).value_or(DType::U8), sizes.vec()};
  Hasher hasher;
  hasher.add(uint64_t(dtype)).add(sizes.size());
  for (int64_t size : sizes)
    hasher.add(uint64_t(size));
  result.hash = hasher.finish().low;
  return result;
}

torch::lazy::hash_t LtcNode::hash() const {
  // The executor keys graphs by GraphHasher; this one only serves printers.
  return torch::lazy::hash_t(reinterpret_cast<uintptr_t>(this));
}

DataNode::DataNode(std::shared_ptr<DeviceData> data)
    : LtcNode(*torch::lazy::ltc_device_data, 1, /*isData=*/true),
      data(std::move(data)),
      type(makeResultType(this->data->shape().scalar_type(),
                          this->data->shape().sizes())) {}

OpNode::OpNode(std::shared_ptr<const CallShape> call, Operands &&operands,
               SourceId source, int64_t device)
    : LtcNode(call->op->kind, call->results.size(), /*isData=*/false),
      call(std::move(call)), inputs(std::move(operands)), source(source),
      device(device) {}

/// Destroys what the operands own without recursion: a chain of nodes may be
/// longer than the stack is deep.
static void release(OpNode::Operands &operands) {
  static thread_local OpNode::Operands *waiting = nullptr;
  if (waiting) {
    std::ranges::move(operands, std::back_inserter(*waiting));
    return;
  }
  waiting = &operands;
  while (!operands.empty()) {
    Operand last = std::move(operands.back());
    operands.pop_back();
  }
  waiting = nullptr;
}

OpNode::~OpNode() {
  // Who takes a node off the list keeps it alive meanwhile: this is no race.
  if (pending) {
    PendingList &list = pendingList(device);
    std::lock_guard lock(list.mutex);
    list.unlink(*this);
  }
  release(inputs);
}

c10::ArrayRef<torch::lazy::Shape> OpNode::shapes() const {
  if (shapeList.empty())
    for (const ResultType &result : call->results)
      shapeList.push_back(result.shape);
  return shapeList;
}

const std::vector<torch::lazy::Output> &OpNode::operands() const {
  if (outputs.empty())
    for (const Operand &input : inputs)
      if (input.node)
        outputs.emplace_back(input.node.get(), input.index);
  return outputs;
}

std::string OpNode::ToString() const { return call->op->name; }

} // namespace ltc::backend
