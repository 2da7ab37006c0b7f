//===- graph/failed_nodes.cpp - Values that will never come -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/failed_nodes.h"

#include "ltc_backend/lazy_device.h"
#include "ltc_backend/raise.h"

#include <map>
#include <set>

namespace ltc::backend {

namespace {

class FailedBuffer final : public Buffer {
public:
  FailedBuffer(TensorType type, std::shared_ptr<HostFailure> failure)
      : resultType(std::move(type)), shared(std::move(failure)) {}

  const TensorType &type() const override { return resultType; }
  Status wait() override {
    shared->isTold = true;
    return shared->cause ? shared->cause->wait() : shared->error;
  }
  bool waitFor(std::chrono::milliseconds) override { return true; }
  const Error *failure() const override { return &shared->error; }
  bool isUndone() const override {
    return shared->isTold || (shared->cause && shared->cause->isUndone());
  }
  bool isConsumed() const override { return false; }

private:
  TensorType resultType;
  std::shared_ptr<HostFailure> shared;
};

class UnrunBuffer final : public Buffer {
public:
  UnrunBuffer(TensorType type, Error reason)
      : resultType(std::move(type)), reason(std::move(reason)) {}

  const TensorType &type() const override { return resultType; }
  Status wait() override { return reason; }
  bool waitFor(std::chrono::milliseconds) override { return true; }
  const Error *failure() const override { return nullptr; }
  bool isUndone() const override { return false; }
  bool isConsumed() const override { return false; }

private:
  TensorType resultType;
  Error reason;
};

/// The buffer of a value that will never come; null if it may, or is pending.
BufferPtr bufferFailed(const Operand &operand) {
  if (!operand.node)
    return nullptr;
  std::shared_ptr<DeviceData> data;
  if (operand.ltc().isData)
    data = static_cast<const DataNode &>(*operand.node).data;
  else if (auto &op = static_cast<const OpNode &>(*operand.node);
           !op.computed.empty())
    data = op.computed[operand.index];
  if (!data)
    return nullptr;
  data = standing(std::move(data));
  return data->buffer()->failure() ? data->buffer() : nullptr;
}

/// Whether the node's first tensor gives no values: one that is set to zero or
/// drawn anew has a value again.
static bool ignoresValues(const OpNode &node) {
  return node.call->op->facts.has(OpFact::ReadsTypeOnly);
}

/// The pending nodes that a failed value leads to. To be destroyed without the
/// list's lock.
class FailedNodes {
public:
  FailedNodes(PendingList &list, int64_t device) : list(list), device(device) {}

  void run() {
    for (OpNode *node = list.firstNode; node; node = node->next) {
      // One that is dying waits for the lock to leave the list.
      std::shared_ptr<OpNode> alive = node->weak_from_this().lock();
      if (!alive)
        continue;
      if (ignoresValues(*node) && bufferFailed(node->inputs[0]))
        node->inputs[0] = zerosLike(node->inputs[0]);
      for (const Operand &operand : node->inputs)
        if (BufferPtr failed = bufferFailed(operand)) {
          fail(*node, failed);
          break;
        }
      held.push_back(std::move(alive));
    }
    for (OpNode *node : nodes) {
      list.unlink(*node);
      released.push_back(std::move(node->inputs));
    }
  }

private:
  Operand zerosLike(const Operand &operand) {
    const ResultType &type = operand.ltc().result(operand.index);
    auto zeros = std::make_shared<DeviceData>(
        device, type.shape,
        valueOrRaise(engine(device).upload(type.type, nullptr)));
    return {std::make_shared<DataNode>(std::move(zeros))};
  }

  void fail(OpNode &node, const BufferPtr &failed) {
    for (size_t i = 0; i < node.num_outputs(); ++i)
      node.computed.push_back(std::make_shared<DeviceData>(
          device, node.result(i).shape,
          failedBuffer(node.result(i).type, sharedFailure(failed))));
    nodes.push_back(&node);
  }

  /// What the program computes from a value that it knows to be missing is
  /// another error, once.
  std::shared_ptr<HostFailure> sharedFailure(const BufferPtr &failed) {
    std::shared_ptr<HostFailure> &failure =
        failed->isUndone() ? again[failed->failure()] : first[failed];
    if (!failure) {
      failure = std::make_shared<HostFailure>(*failed->failure());
      if (!failed->isUndone())
        failure->cause = failed;
    }
    return failure;
  }

  PendingList &list;
  const int64_t device;
  std::map<BufferPtr, std::shared_ptr<HostFailure>> first;
  std::map<const Error *, std::shared_ptr<HostFailure>> again;
  std::vector<OpNode *> nodes; ///< in `held`
  std::vector<std::shared_ptr<OpNode>> held;
  std::vector<OpNode::Operands> released;
};

} // namespace

BufferPtr failedBuffer(const TensorType &type,
                       std::shared_ptr<HostFailure> failure) {
  return std::make_shared<FailedBuffer>(type, std::move(failure));
}

BufferPtr unrunBuffer(const TensorType &type, Error reason) {
  return std::make_shared<UnrunBuffer>(type, std::move(reason));
}

BufferPtr failureOf(const Operand &operand) {
  std::vector<const Operand *> waiting{&operand};
  std::set<const torch::lazy::Node *> seen;
  while (!waiting.empty()) {
    const Operand &next = *waiting.back();
    waiting.pop_back();
    if (!next.node || !seen.insert(next.node.get()).second)
      continue;
    if (BufferPtr failed = bufferFailed(next))
      return failed;
    if (!next.ltc().isData)
      for (const Operand &input :
           static_cast<const OpNode &>(*next.node).inputs)
        waiting.push_back(&input);
  }
  return nullptr;
}

void settleFailed(PendingList &list, int64_t device) {
  if (!anyFailure.load(std::memory_order_relaxed)) [[likely]]
    return;
  FailedNodes failed(list, device);
  std::lock_guard lock(list.mutex);
  failed.run();
}

} // namespace ltc::backend
