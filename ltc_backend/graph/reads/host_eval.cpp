//===- reads/host_eval.cpp - Few small ops run on the host ----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/reads/host_eval.h"

#include "ltc/cpu_kernels.h"
#include "ltc_backend/aten/clean_thread_state.h"
#include "ltc_backend/graph/interpreter/call_runner.h"
#include "ltc_backend/graph/results.h"
#include "ltc_backend/waiting.h"

#include <ATen/ATen.h>

namespace ltc::backend {

/// About 10 us a node. A launch takes longer, and a compilation a lot.
constexpr size_t kMaxNodes = 32;
/// Of one value. ATen's kernels hardly use a second thread up to here.
constexpr int64_t kMaxElements = 1 << 16;
/// The same of what is little.
constexpr int64_t kFewElements = 1 << 12;

static constexpr int64_t mostElements(HostEval::Scope scope) {
  return scope == HostEval::Little ? kFewElements : kMaxElements;
}

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
  bool isExact = scope != Exact || !rounds(*node.call->op);
  return std::ranges::all_of(node.call->results, [&](const ResultType &result) {
    const TensorType &type = result.type;
    bool isWhole = isInteger(type.dtype) || type.dtype == DType::Bool;
    return type.elements() <= mostElements(scope) &&
           (isExact || isWhole || (!takesFractions && type.elements() == 1));
  });
}

std::optional<HostEval::Place> HostEval::find(const Operand &operand) const {
  for (const Value &value : values)
    if (value.node == operand.node.get() && value.index == operand.index)
      return Place(&value - values.data());
  return std::nullopt;
}

std::optional<HostEval::Place>
HostEval::addData(const Operand &operand, std::shared_ptr<DeviceData> data) {
  const TensorType &type = operand.ltc().result(operand.index).type;
  if (type.elements() > mostElements(scope))
    return std::nullopt;
  if (!firstLeaf)
    firstLeaf = data;
  ofNumbers &= type.elements() == 1;
  newest = std::max(newest, data->made);
  values.push_back({operand.node.get(), operand.index, std::move(data), {}});
  return Place(values.size() - 1);
}

std::optional<HostEval::Place> HostEval::addOperand(const Operand &operand) {
  if (!operand.node)
    return kNumber;
  if (std::optional<Place> known = find(operand))
    return known;
  if (operand.ltc().isData)
    return addData(operand, static_cast<const DataNode &>(*operand.node).data);
  auto node = std::static_pointer_cast<OpNode>(operand.node);
  if (!node->computed.empty())
    return addData(operand, node->computed[operand.index]);
  std::optional<Place> first = addStep(std::move(node));
  return first ? std::optional(*first + operand.index) : std::nullopt;
}

std::optional<HostEval::Place> HostEval::addStep(std::shared_ptr<OpNode> node) {
  const OpInfo &op = *node->call->op;
  const size_t most = scope == Little ? kFewNodes : kMaxNodes;
  if (++seen > most || op.random || !op.name.starts_with("aten::") ||
      !fits(*node) || !CallRunner::of(*node->call, node->inputs).serves())
    return std::nullopt;
  Step step{node, node->inputs, {}, 0};
  for (const Operand &input : step.inputs) {
    std::optional<Place> place = addOperand(input);
    if (!place)
      return std::nullopt;
    step.operands.push_back(*place);
  }
  step.firstResult = Place(values.size());
  for (uint32_t i = 0; i < node->num_outputs(); ++i)
    values.push_back({node.get(), i, nullptr, {}});
  steps.push_back(std::move(step));
  return steps.back().firstResult;
}

bool HostEval::add(const Operand &value) {
  std::optional<Place> place = addOperand(value);
  if (place)
    roots.push_back(*place);
  return place.has_value();
}

at::Tensor HostEval::valueOf(const torch::lazy::Node &node,
                             size_t index) const {
  for (const Step &step : steps)
    if (step.node.get() == &node)
      return step.node->call->op->view && values[step.operands[0]].data
                 ? at::Tensor()
                 : values[step.firstResult + index].tensor;
  return {};
}

size_t HostEval::works() const {
  return std::ranges::count_if(
      steps, [](const Step &step) { return !step.node->call->op->view; });
}

bool HostEval::runStep(const Step &step) {
  c10::SmallVector<const at::Tensor *, 6> tensors;
  for (Place operand : step.operands)
    tensors.push_back(operand == kNumber ? nullptr : &values[operand].tensor);
  std::vector<at::Tensor> results(step.node->num_outputs());
  if (!CallRunner::of(*step.node->call, step.inputs)
           .run(step.inputs, tensors, results))
    return false;
  for (size_t i = 0; i < results.size(); ++i)
    values[step.firstResult + i].tensor = std::move(results[i]);
  return true;
}

std::vector<at::Tensor> HostEval::run() {
  CleanThreadState clean; // or views of what is read here are autograd's
  for (Value &value : values)
    if (value.data)
      value.tensor = readOnHost(value.data);
  kernels::noteThreadCount(); // kernels are to use as many as this thread has
  for (const Step &step : steps)
    if (!runStep(step))
      return {};
  std::vector<at::Tensor> result;
  for (Place root : roots)
    result.push_back(values[root].tensor);
  return result;
}

/// The value, or undefined if it has to come from the device. With the device's
/// syncMutex and not the list's lock.
static at::Tensor computeNumber(const Operand &value, PendingList &list) {
  HostEval eval(HostEval::Exact);
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
      waitUninterrupted(*input.data->buffer());
      if (Status ran = input.data->buffer()->wait(); !ran)
        return {};
    }
  std::vector<BufferPtr> buffers(numbers.outputs.size());
  for (const Collection::Receiver &receiver : numbers.receivers) {
    at::Tensor value = computeNumber({receiver.node, receiver.index}, list);
    if (!value.defined())
      return {};
    buffers[receiver.output] = upload(value, numbers.device)->buffer();
  }
  return buffers;
}

} // namespace ltc::backend
