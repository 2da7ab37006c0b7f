//===- built/graph_builder.cpp - Graphs that are not run at once ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/built/graph_builder.h"

#include "ltc_backend/convert.h"
#include "ltc_backend/current_source.h"
#include "ltc_backend/graph/failed_nodes.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/tensors/deferred_view.h"
#include "ltc_backend/tensors/lazy_tensor.h"
#include "ltc_backend/tensors/wrapper.h"

namespace ltc::backend {

GraphBuilder::GraphBuilder(int64_t device, bool inPlace)
    : home((checkOrdinal(device), device)), ordinal(takeOrdinal(device)),
      inPlace(inPlace) {}

GraphBuilder::~GraphBuilder() { giveBackOrdinal(ordinal); }

at::Tensor GraphBuilder::input(const at::Tensor &like) {
  std::optional<DType> dtype = toDType(like.scalar_type());
  if (!dtype || like.layout() != c10::kStrided)
    raise({ErrorCode::Unsupported,
           Stage::Record,
           "a graph takes no " +
               std::string(c10::toString(like.scalar_type())) +
               " tensor with layout " + c10::str(like.layout()),
           "",
           {},
           "pass a strided tensor of a plain type"});
  TensorType type{*dtype, like.sizes().vec()};
  auto data = std::make_shared<DeviceData>(
      ordinal, torch::lazy::Shape(like.scalar_type(), like.sizes()),
      unrunBuffer(
          type, {ErrorCode::Unsupported,
                 Stage::Record,
                 "a graph that is being built has types and no values",
                 "",
                 {},
                 "read no value between the builder's input() and finish()"}));
  const DeviceData *identity = data.get();
  at::Tensor placeholder =
      wrap(makeTensor(data, ordinal, {like.strides().vec(), 0}));
  inputs.push_back({placeholder, std::move(type), identity, std::move(data)});
  return placeholder;
}

std::optional<size_t>
GraphBuilder::inputOf(const std::shared_ptr<DeviceData> &data) const {
  auto input = std::ranges::find(inputs, firstOf(data).get(), &Input::data);
  if (input == inputs.end())
    return std::nullopt;
  return input - inputs.begin();
}

BuiltGraph::Source
GraphBuilder::sourceOf(const std::shared_ptr<DeviceData> &data) const {
  BuiltGraph::Source source;
  if (std::optional<size_t> input = inputOf(data)) {
    source.input = *input;
  } else {
    source.kind = BuiltGraph::Source::Constant;
    source.constant =
        data->device().ordinal() == home
            ? data
            : std::make_shared<DeviceData>(home, data->shape(), data->buffer());
  }
  return source;
}

/// The numbers that random ops are to draw: an op's last operand.
static std::vector<ValueId> seeds(const Collection &collection) {
  std::vector<ValueId> found;
  size_t position = 0;
  for (const OpNode *node : collection.nodes) {
    position += node->inputs.size();
    if (node->call->op->random)
      found.push_back(collection.operands[position - 1]);
  }
  return found;
}

GraphBuilder::Wanted
GraphBuilder::wantedBy(const std::vector<at::Tensor> &outputs) const {
  Wanted wanted;
  auto add = [&](const at::Tensor &tensor) {
    wanted.tensors.push_back(tensor);
    wanted.datas.push_back(tensorData(tensor));
  };
  for (const at::Tensor &tensor : outputs) {
    materialise(tensor);
    add(tensor);
    if (deviceOf(*wanted.datas.back()) != ordinal)
      raise({ErrorCode::InvalidArgument,
             Stage::Record,
             "a result is on " + tensor.device().str() +
                 ", and not on the device of the graph",
             "",
             {},
             "make the calls on the builder's device"});
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    materialise(inputs[i].placeholder);
    std::shared_ptr<DeviceData> now =
        deviceData(*tensorData(inputs[i].placeholder));
    if (now && firstOf(now).get() == inputs[i].data)
      continue;
    wanted.written.push_back(i);
    add(inputs[i].placeholder);
  }
  return wanted;
}

Collection GraphBuilder::collectFor(const Wanted &wanted, PendingList &list) {
  std::vector<const DeviceData *> homes(wanted.datas.size());
  const size_t outputs = wanted.datas.size() - wanted.written.size();
  for (size_t i = 0; inPlace && i < wanted.written.size(); ++i) {
    Input &input = inputs[wanted.written[i]];
    input.share = nullptr;
    homes[outputs + i] = input.data;
  }
  // Tensors of an earlier builder may live on with an error's traceback.
  return collect(ordinal, list, Collected::All, {this, wanted.datas, homes});
}

BuiltGraph::Output GraphBuilder::outputOf(const Wanted &wanted, size_t number,
                                          const Collection &collection) const {
  const at::Tensor &tensor = wanted.tensors[number];
  const TensorDataPtr &data = wanted.datas[number];
  BuiltGraph::Output output{{}, {}, {}, layoutOf(tensor)};
  output.shape = torch::lazy::Shape(tensor.scalar_type(), tensor.sizes());
  auto receiver = std::ranges::find(collection.receivers, data,
                                    &Collection::Receiver::tensor);
  if (receiver != collection.receivers.end())
    output.result = receiver->output;
  else
    output.source =
        sourceOf(std::static_pointer_cast<DeviceData>(data->handle));
  return output;
}

std::shared_ptr<BuiltGraph>
GraphBuilder::record(const std::vector<at::Tensor> &outputs) {
  const SourceId place = currentSource();
  const Wanted wanted = wantedBy(outputs);
  PendingList &list = pendingList(ordinal);
  std::shared_ptr<BuiltGraph> built;
  Collection collection;
  {
    std::lock_guard lock(list.mutex);
    collection = collectFor(wanted, list);
    built.reset(new BuiltGraph(collection.key));
    built->device = home;
    for (size_t i = 0; i < collection.inputs.size(); ++i) {
      const auto &[data, type] = collection.inputs[i];
      BuiltGraph::Source &source = built->sources.emplace_back();
      if (data) {
        source = sourceOf(data);
      } else {
        source.kind = BuiltGraph::Source::Scalar;
        source.scalar = collection.arguments[i];
      }
    }
    for (size_t i = 0; i < wanted.tensors.size(); ++i) {
      BuiltGraph::Output output = outputOf(wanted, i, collection);
      if (i < outputs.size()) {
        built->outputs.push_back(std::move(output));
        continue;
      }
      built->writes.push_back(
          {wanted.written[i - outputs.size()], std::move(output)});
    }
  }
  for (ValueId seed : seeds(collection))
    built->sources[seed].kind = BuiltGraph::Source::Seed;
  for (const Input &input : inputs)
    built->inputTypes.push_back(input.type);
  if (collection.empty())
    return built;
  built->graph = std::make_shared<Graph>(collection.build(place));
  raiseIfFailed(built->graph->verify());
  return built;
}

std::shared_ptr<const BuiltGraph>
GraphBuilder::trace(const std::vector<at::Tensor> &outputs) {
  return record(outputs);
}

std::shared_ptr<const BuiltGraph>
GraphBuilder::finish(const std::vector<at::Tensor> &outputs) {
  std::shared_ptr<BuiltGraph> built = record(outputs);
  if (built->graph->outputs.empty())
    return built;
  built->executable = engine(home).lookup(built->key);
  if (!built->executable)
    built->executable = valueOrRaise(engine(home).compile(*built->graph));
  built->findWritesInPlace();
  return built;
}

} // namespace ltc::backend
