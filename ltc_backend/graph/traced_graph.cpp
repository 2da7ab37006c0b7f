//===- graph/traced_graph.cpp - What leads to some tensors ----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/traced_graph.h"

#include "ltc_backend/graph/results.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/tensors/deferred_view.h"
#include "ltc_backend/tensors/lazy_tensor.h"

#include <bit>
#include <torch/csrc/lazy/core/ir_dump_util.h>

namespace ltc::backend {

Collection collectToLook(int64_t device, PendingList &list, Recorded whose) {
  // What a launch may give back is not donated later, and nothing is launched.
  std::vector<std::shared_ptr<DeviceData>> untouched;
  for (TensorData *tensor = list.firstTensor; tensor; tensor = tensor->next)
    if (tensor->before && !firstOf(tensor->before)->mayComeBack)
      untouched.push_back(firstOf(tensor->before));
  Collection collection = collect(device, list, Collected::All, whose);
  for (const auto &data : untouched)
    data->mayComeBack = false;
  return collection;
}

static TensorDataPtr dataToLook(const at::Tensor &tensor) {
  if (!isLazy(tensor))
    raise({ErrorCode::InvalidArgument,
           Stage::Graph,
           "no graph leads to a tensor that is " +
               (tensor.defined() ? "on " + tensor.device().str()
                                 : std::string("undefined")) +
               "; wanted are lazy ones",
           "",
           {},
           "move it with .to('lazy') first"});
  materialise(tensor);
  return tensorData(tensor);
}

/// Raises if they are of several devices.
static std::vector<TensorDataPtr>
datasToLook(const std::vector<at::Tensor> &tensors) {
  std::vector<TensorDataPtr> datas;
  for (const at::Tensor &tensor : tensors) {
    datas.push_back(dataToLook(tensor));
    if (deviceOf(*datas.back()) != deviceOf(*datas.front()))
      raise({ErrorCode::InvalidArgument,
             Stage::Graph,
             "the tensors are of the devices " +
                 tensors.front().device().str() + " and " +
                 tensor.device().str() + ", and a graph is of one",
             "",
             {},
             "ask for the tensors of each device by themselves"});
  }
  return datas;
}

TracedGraph::TracedGraph(const std::vector<at::Tensor> &tensors) {
  const std::vector<TensorDataPtr> datas = datasToLook(tensors);
  if (datas.empty())
    return;
  const int64_t device = deviceOf(*datas.front());
  PendingList &list = pendingList(device);
  Collection collection; // its end may take the lock
  std::lock_guard lock(list.mutex);
  // What is no thread's: these tensors alone.
  collection = collectToLook(device, list, Recorded{this, datas});
  graph = collection.build();
  graph.outputs.clear();
  for (size_t i = 0; i < collection.inputs.size(); ++i) {
    Input &input = given.emplace_back();
    input.data = collection.inputs[i].data;
    input.number.scalarType = collection.inputs[i].scalarType;
    input.number.bits = uint64_t(collection.arguments[i].integer);
  }
  for (const TensorDataPtr &data : datas) {
    auto receiver = std::ranges::find(collection.receivers, data,
                                      &Collection::Receiver::tensor);
    if (receiver == collection.receivers.end()) {
      places.push_back(UINT32_MAX);
      continue;
    }
    const ValueId value = collection.outputs[receiver->output].value;
    auto same = std::ranges::find(graph.outputs, value, &GraphOutput::value);
    places.push_back(uint32_t(same - graph.outputs.begin()));
    if (same == graph.outputs.end())
      graph.outputs.push_back({value, std::nullopt});
  }
  for (size_t i = 0; i < places.size(); ++i)
    if (places[i] == UINT32_MAX)
      places[i] =
          placeOf(std::static_pointer_cast<DeviceData>(datas[i]->handle));
}

uint32_t TracedGraph::placeOf(const std::shared_ptr<DeviceData> &data) {
  std::shared_ptr<DeviceData> stands = standing(data);
  auto found = std::ranges::find(given, stands, &Input::data);
  auto number = uint32_t(found - given.begin());
  if (found == given.end())
    given.push_back({stands, {}});
  return uint32_t(graph.outputs.size()) + number;
}

Hash128 TracedGraph::key() const {
  const Hash128 whole = graph.hash();
  Hasher hasher;
  hasher.add(whole.low).add(whole.high).add(graph.outputs.size());
  for (uint32_t place : places)
    hasher.add(place);
  return hasher.finish();
}

std::pair<std::vector<int64_t>, std::vector<c10::IValue>>
TracedGraph::inputs() const {
  std::vector<int64_t> ids;
  std::vector<c10::IValue> values;
  for (const Input &input : given) {
    const Operand &number = input.number;
    ids.push_back(input.data ? input.data->tensorId : -1);
    if (input.data)
      values.emplace_back(download(*input.data));
    else if (isInteger(number.scalarType))
      values.emplace_back(int64_t(number.bits));
    else
      values.emplace_back(std::bit_cast<double>(number.bits));
  }
  return {std::move(ids), std::move(values)};
}

std::string nodeText(const std::vector<at::Tensor> &tensors, bool asDot) {
  std::vector<Operand> values;
  std::vector<const torch::lazy::Node *> roots;
  for (const TensorDataPtr &data : datasToLook(tensors))
    roots.push_back(values.emplace_back(operandOf(data)).node.get());
  if (roots.empty())
    return "";
  // Who syncs takes apart what is printed.
  std::lock_guard oneAtATime(syncMutex(tensors.front().device().index()));
  return asDot ? torch::lazy::DumpUtil::ToDot(roots)
               : torch::lazy::DumpUtil::ToText(roots);
}

int64_t tensorId(const at::Tensor &tensor) {
  TensorDataPtr data = dataToLook(tensor);
  if (std::shared_ptr<DeviceData> now = deviceData(*data)) {
    std::lock_guard lock(pendingList(deviceOf(*data)).mutex);
    now->tensorId = data->unique_id;
  }
  return data->unique_id;
}

} // namespace ltc::backend
