//===- graph/graph_builder.cpp - Graphs that are not run at once ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/graph_builder.h"

#include "ltc_backend/backend.h"
#include "ltc_backend/convert.h"
#include "ltc_backend/graph/executor.h"
#include "ltc_backend/graph/failed_nodes.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/op_info.h"
#include "ltc_backend/record/recorder.h"
#include "ltc_backend/record/views/late_view.h"

#include <array>

namespace ltc::backend {

namespace {
/// Ordinals that no driver's device has. A c10::Device has a byte for it.
constexpr int64_t kFirst = 64, kEnd = 128;

struct Ordinals {
  std::mutex mutex;
  std::array<std::atomic<int64_t>, kEnd - kFirst> homes;
  Ordinals() { std::ranges::fill(homes, -1); }

  int64_t take(int64_t home) {
    std::lock_guard lock(mutex);
    auto free = std::ranges::find_if(homes, [](auto &h) { return h < 0; });
    if (free == homes.end())
      raise({ErrorCode::Unsupported,
             Stage::Record,
             "64 graphs are being built already",
             "",
             {},
             "finish some of them first"});
    *free = home;
    return kFirst + (free - homes.begin());
  }
};

Ordinals &ordinals() {
  static auto *all = new Ordinals;
  return *all;
}
} // namespace

int64_t homeOf(int64_t device) {
  if (device < kFirst) [[likely]]
    return device;
  int64_t home = device < kEnd ? ordinals().homes[device - kFirst].load() : -1;
  return home < 0 ? device : home;
}

GraphBuilder::GraphBuilder(int64_t device)
    : home((checkOrdinal(device), device)), ordinal(ordinals().take(device)) {}

GraphBuilder::~GraphBuilder() { ordinals().homes[ordinal - kFirst] = -1; }

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
  auto data = std::make_shared<DeviceData>(
      ordinal, torch::lazy::Shape(like.scalar_type(), like.sizes()),
      unrunBuffer(
          {*dtype, like.sizes().vec()},
          {ErrorCode::Unsupported,
           Stage::Record,
           "a graph that is being built has types and no values",
           "",
           {},
           "read no value between the builder's input() and finish()"}));
  inputs.push_back(data);
  return wrap(makeTensor(std::move(data), ordinal, {like.strides().vec(), 0}));
}

BuiltGraph::Source
GraphBuilder::sourceOf(const std::shared_ptr<DeviceData> &data) const {
  BuiltGraph::Source source;
  auto input = std::ranges::find(inputs, firstOf(data));
  if (input == inputs.end()) {
    source.kind = BuiltGraph::Source::Constant;
    source.constant = data;
  } else {
    source.input = input - inputs.begin();
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

std::shared_ptr<const BuiltGraph>
GraphBuilder::finish(const std::vector<at::Tensor> &tensors) {
  const SourceId place = currentSource();
  std::vector<TensorDataPtr> results;
  for (const at::Tensor &tensor : tensors) {
    settle(tensor);
    results.push_back(tensorData(tensor));
    if (deviceOf(*results.back()) != ordinal)
      raise({ErrorCode::InvalidArgument,
             Stage::Record,
             "a result is on " + tensor.device().str() +
                 ", and not on the device of the graph",
             "",
             {},
             "make the calls on the builder's device"});
  }
  PendingList &list = pendingList(ordinal);
  std::shared_ptr<BuiltGraph> built;
  Collection collection;
  {
    std::lock_guard lock(list.mutex);
    // Tensors of an earlier builder may live on with an error's traceback.
    collection = collect(ordinal, list, Collected::All, {this, results});
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
    for (size_t i = 0; i < results.size(); ++i) {
      BuiltGraph::Output output{{}, {}, {}, layoutOf(tensors[i])};
      auto receiver = std::ranges::find(collection.receivers, results[i],
                                        &Collection::Receiver::tensor);
      if (receiver != collection.receivers.end())
        output.result = receiver->output;
      else
        output.source =
            sourceOf(std::static_pointer_cast<DeviceData>(results[i]->handle));
      output.shape =
          torch::lazy::Shape(tensors[i].scalar_type(), tensors[i].sizes());
      built->outputs.push_back(std::move(output));
    }
  }
  for (ValueId seed : seeds(collection))
    built->sources[seed].kind = BuiltGraph::Source::Seed;
  for (const std::shared_ptr<DeviceData> &data : inputs)
    built->inputTypes.push_back(data->buffer->type());
  if (collection.empty())
    return built;
  built->graph = collection.build(place);
  raiseIfFailed(built->graph.verify());
  built->executable = engine(home).lookup(built->key);
  if (!built->executable)
    built->executable = valueOrRaise(engine(home).compile(built->graph));
  return built;
}

std::string BuiltGraph::text() const { return graph.str(); }

/// What the input has, on the graph's device.
std::shared_ptr<DeviceData> BuiltGraph::dataOf(const at::Tensor &input,
                                               const TensorType &type) const {
  std::optional<DType> dtype = toDType(input.scalar_type());
  if (dtype != type.dtype || input.sizes().vec() != type.dims)
    raise({ErrorCode::InvalidArgument,
           Stage::Execute,
           "the graph was built for " + type.str() + " and is given " +
               std::string(c10::toString(input.scalar_type())) +
               c10::str(input.sizes()),
           "",
           {},
           "build another graph for other types"});
  if (!isLazy(input))
    return upload(input, device);
  return readyData(input);
}

std::vector<at::Tensor>
BuiltGraph::run(const std::vector<at::Tensor> &inputs) const {
  if (inputs.size() != inputTypes.size())
    raise({ErrorCode::InvalidArgument,
           Stage::Execute,
           "the graph has " + std::to_string(inputTypes.size()) +
               " inputs and is given " + std::to_string(inputs.size()),
           "",
           {},
           "pass one tensor for each input() of the builder"});
  std::vector<std::shared_ptr<DeviceData>> datas(inputs.size());
  std::unique_lock oneAtATime(syncMutex(device), std::defer_lock);
  // A sync under way may donate what it was given.
  for (bool isSame = false; !isSame;) {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (!datas[i] || isLazy(inputs[i]))
        datas[i] = dataOf(inputs[i], inputTypes[i]);
    Waiting waiting;
    oneAtATime.lock();
    isSame = true;
    for (size_t i = 0; i < inputs.size(); ++i)
      isSame &=
          !isLazy(inputs[i]) || deviceData(*tensorData(inputs[i])) == datas[i];
    if (!isSame)
      oneAtATime.unlock();
  }
  auto dataFrom = [&](const Source &source) {
    return source.kind == Source::Input ? datas[source.input] : source.constant;
  };
  std::vector<LaunchArgument> arguments;
  for (const Source &source : sources) {
    LaunchArgument &argument = arguments.emplace_back(source.scalar);
    if (source.kind == Source::Seed)
      argument.integer = int64_t(drawSeed({}));
    else if (source.kind != Source::Scalar)
      argument.buffer = dataFrom(source)->buffer;
  }
  std::vector<BufferPtr> buffers;
  if (executable)
    buffers =
        valueOrRaise(engine(device).launch(executable, std::move(arguments)));
  std::vector<at::Tensor> results;
  for (const Output &output : outputs) {
    BufferPtr buffer = output.result ? buffers[*output.result]
                                     : dataFrom(output.source)->buffer;
    auto data =
        std::make_shared<DeviceData>(device, output.shape, std::move(buffer));
    results.push_back(wrap(makeTensor(std::move(data), device, output.layout)));
  }
  return results;
}

} // namespace ltc::backend
