//===- graph/host_eval.cpp - Few small ops run on the host ----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/host_eval.h"

#include "ltc/cpu_kernels.h"
#include "ltc_backend/graph/call_runner.h"
#include "ltc_backend/graph/results.h"
#include "ltc_backend/waiting.h"

#include <ATen/ATen.h>

namespace ltc::backend {

/// About 10 us a node. A launch takes longer, and a compilation a lot.
constexpr size_t kMaxNodes = 32;
/// Of one value. ATen's kernels hardly use a second thread up to here.
constexpr int64_t kMaxElements = 1 << 16;

/// Several numbers of a type whose sums and products are rounded.
static bool areFractions(const TensorType &type) {
  return type.elements() != 1 && !isInteger(type.dtype) &&
         type.dtype != DType::Bool;
}

/// Whether an op may give other fractions on the device than on the host. Not
/// so one number throughout, as the mask of a batch without padding, nor what
/// only moves elements, as a mask of an image in the size of its features.
static bool rounds(const OpInfo &op) {
  return !op.view && !op.facts.has(OpFact::ExactOnHost);
}

bool HostEval::fits(const OpNode &node) const {
  bool takesFractions =
      std::ranges::any_of(node.inputs, [](const Operand &input) {
        return input.node && areFractions(input.ltc().result(input.index).type);
      });
  bool isExact = !exact || !rounds(*node.call->op);
  return std::ranges::all_of(node.call->results, [&](const ResultType &result) {
    const TensorType &type = result.type;
    bool isWhole = isInteger(type.dtype) || type.dtype == DType::Bool;
    return type.elements() <= kMaxElements &&
           (isExact || isWhole || (!takesFractions && type.elements() == 1));
  });
}

bool HostEval::addData(const Operand &operand,
                       std::shared_ptr<DeviceData> data) {
  const TensorType &type = operand.ltc().result(operand.index).type;
  if (type.elements() > kMaxElements)
    return false;
  if (!firstLeaf)
    firstLeaf = data;
  ofNumbers &= type.elements() == 1;
  newest = std::max(newest, data->made);
  leaves[{operand.node.get(), operand.index}] = std::move(data);
  return true;
}

bool HostEval::addOperand(const Operand &operand) {
  if (!operand.node)
    return true;
  if (operand.ltc().isData)
    return addData(operand, static_cast<const DataNode &>(*operand.node).data);
  auto node = std::static_pointer_cast<OpNode>(operand.node);
  if (!node->computed.empty())
    return addData(operand, node->computed[operand.index]);
  if (!seen.insert(node.get()).second)
    return true;
  const OpInfo &op = *node->call->op;
  if (seen.size() > kMaxNodes || op.random || !op.name.starts_with("aten::"))
    return false;
  if (!fits(*node))
    return false;
  for (const Operand &input : node->inputs)
    if (!addOperand(input))
      return false;
  steps.push_back({node, node->inputs});
  return true;
}

bool HostEval::add(const Operand &value) {
  roots.push_back(value);
  return addOperand(value);
}

bool HostEval::runStep(const Step &step) {
  c10::SmallVector<const at::Tensor *, 6> tensors;
  for (const Operand &input : step.inputs)
    tensors.push_back(input.node ? &values.at({input.node.get(), input.index})
                                 : nullptr);
  std::vector<at::Tensor> results(step.node->num_outputs());
  kernels::noteThreadCount(); // the kernel is to use as many as this thread has
  if (!CallRunner::of(*step.node->call, step.inputs)
           .run(step.inputs, tensors, results))
    return false;
  for (uint32_t i = 0; i < results.size(); ++i)
    values[{step.node.get(), i}] = results[i];
  return true;
}

std::vector<at::Tensor> HostEval::run() {
  for (const auto &[place, data] : leaves)
    values[place] = download(*data);
  for (const Step &step : steps)
    if (!runStep(step))
      return {};
  std::vector<at::Tensor> result;
  for (const Operand &root : roots)
    result.push_back(values.at({root.node.get(), root.index}));
  return result;
}

/// The value, or undefined if it has to come from the device. With the device's
/// syncMutex and not the list's lock.
static at::Tensor computeNumber(const Operand &value, PendingList &list) {
  HostEval eval(/*exact=*/true);
  {
    std::lock_guard lock(list.mutex);
    if (!eval.add(value))
      return {};
  }
  std::vector<at::Tensor> values = eval.run();
  return values.empty() ? at::Tensor() : values[0];
}

std::vector<BufferPtr> computeNumbers(const Collection &numbers,
                                      PendingList &list) {
  for (const Collection::Input &input : numbers.inputs)
    if (input.data) {
      waitUninterrupted(*input.data->buffer);
      if (Status ran = input.data->buffer->wait(); !ran)
        return {};
    }
  std::vector<BufferPtr> buffers(numbers.outputs.size());
  for (const Collection::Receiver &receiver : numbers.receivers) {
    at::Tensor value = computeNumber({receiver.node, receiver.index}, list);
    if (!value.defined())
      return {};
    buffers[receiver.output] = upload(value, numbers.device)->buffer;
  }
  return buffers;
}

} // namespace ltc::backend
