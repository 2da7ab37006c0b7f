//===- built/built_graph.cpp - Graphs that a front end keeps --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/built/built_graph.h"

#include "ltc/cpu_kernels.h"
#include "ltc/profile.h"
#include "ltc_backend/convert.h"
#include "ltc_backend/graph/interpreter/checked_launch.h"
#include "ltc_backend/graph/reads/read.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/lent_generator.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/tensors/lazy_tensor.h"
#include "ltc_backend/tensors/wrapper.h"
#include "ltc_backend/waiting.h"

#include <cstring>

namespace ltc::backend {

std::string BuiltGraph::text() const { return graph->str(); }

Graph BuiltGraph::sized() const {
  return graph->isDynamic() ? valueOrRaise(graph->instantiate(symbols))
                            : *graph;
}

void BuiltGraph::findWritesInPlace() {
  const Artifact &artifact = executable->artifact();
  for (Write &write : writes) {
    if (!write.value.result)
      continue;
    // A value that several inputs get lies in the memory of one.
    std::optional<uint32_t> donated = artifact.donated[*write.value.result];
    write.isInPlace = donated && sources[*donated].input == write.input;
  }
}

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

LaunchArgument BuiltGraph::argument(const Source &source,
                                    std::span<const BufferPtr> inputs) const {
  LaunchArgument argument = source.scalar;
  if (source.kind == Source::Seed)
    argument.integer = int64_t(drawSeed({}));
  else if (source.kind == Source::Input)
    argument.buffer = inputs[source.input];
  else if (source.kind == Source::Constant)
    argument.buffer = source.constant->buffer();
  return argument;
}

std::vector<LaunchArgument>
BuiltGraph::argumentsOf(std::span<const BufferPtr> inputs) const {
  std::vector<LaunchArgument> arguments;
  arguments.reserve(sources.size());
  for (const Source &source : sources)
    arguments.push_back(argument(source, inputs));
  return arguments;
}

std::vector<LaunchArgument>
BuiltGraph::argumentsOf(std::span<const BufferPtr> inputs,
                        const std::vector<uint32_t> &which) const {
  std::vector<LaunchArgument> arguments;
  arguments.reserve(which.size());
  for (uint32_t i : which)
    arguments.push_back(argument(sources[i], inputs));
  return arguments;
}

std::optional<std::vector<BufferPtr>>
BuiltGraph::launchAgain(std::span<const BufferPtr> inputs) const {
  // With fewer inputs that stay, a launch costs less than one that is repeated.
  constexpr size_t kLeast = 16;
  if (sources.size() < inputs.size() + kLeast)
    return std::nullopt;
  std::unique_lock lock(repetition.mutex, std::try_to_lock);
  if (!lock || !std::exchange(repetition.isLaunched, true))
    return std::nullopt;
  auto &[mutex, prepared, varying, isLaunched] = repetition;
  Engine &target = engine(device);
  if (prepared && !prepared->hasFailed())
    return valueOrRaise(
               ltc::launch(target, prepared, argumentsOf(inputs, varying), {}))
        .fresh;
  std::vector<bool> varies;
  varying.clear();
  for (uint32_t i = 0; i < sources.size(); ++i) {
    varies.push_back(sources[i].varies());
    if (varies.back())
      varying.push_back(i);
  }
  const std::vector<Renewal> renewals(executable->artifact().donated.size(),
                                      Renewal::Fresh);
  prepared = valueOrRaise(prepare(target, executable, renewals, varies));
  return valueOrRaise(ltc::launch(target, prepared, argumentsOf(inputs), {}))
      .fresh;
}

std::vector<BufferPtr>
BuiltGraph::launch(std::span<const BufferPtr> inputs) const {
  kernels::noteThreadCount();
  kernels::releaseThreads();
  if (profile::isOn()) [[unlikely]]
    profile::nameRun(key, graph->nodes.size(), graph->inputs.size(),
                     graph->outputs.size());
  else if (!isChecked(key)) [[likely]]
    if (auto results = launchAgain(inputs))
      return std::move(*results);
  Engine &target = engine(device);
  std::vector<LaunchArgument> arguments = argumentsOf(inputs);
  if (!isChecked(key)) [[likely]]
    return valueOrRaise(target.launch(executable, std::move(arguments)));
  // A launch that is checked may write to copies.
  std::vector<void *> homes; // donated buffers have no memory afterwards
  for (const Write &write : writes)
    homes.push_back(const_cast<void *>(inputs[write.input]->hostPointer()));
  std::vector<BufferPtr> results = valueOrRaise(launchChecked(
      target, executable, sized(), key, std::move(arguments), nullptr));
  for (size_t i = 0; i < writes.size(); ++i) {
    if (!writes[i].isInPlace)
      continue;
    Buffer &result = *results[*writes[i].value.result];
    waitUninterrupted(result);
    if (!result.failure() && result.hostPointer() != homes[i])
      std::memcpy(homes[i], result.hostPointer(), result.type().bytes());
  }
  return results;
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
  std::vector<at::Tensor> results, written;
  {
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
        isSame &= !isLazy(inputs[i]) ||
                  deviceData(*tensorData(inputs[i])) == datas[i];
      if (!isSame)
        oneAtATime.unlock();
    }
    std::vector<BufferPtr> given, buffers;
    for (const auto &data : datas)
      given.push_back(data->buffer());
    if (executable)
      buffers = launch(given);
    // One data for all that get a value: so nobody gives its memory away.
    std::vector<std::shared_ptr<DeviceData>> made(buffers.size());
    auto dataFor = [&](const Output &output) {
      if (!output.result)
        return output.source.kind == Source::Input ? datas[output.source.input]
                                                   : output.source.constant;
      std::shared_ptr<DeviceData> &data = made[*output.result];
      if (!data)
        data = std::make_shared<DeviceData>(device, output.shape,
                                            buffers[*output.result]);
      return data;
    };
    auto tensorOf = [&](const Output &output) {
      return wrap(makeTensor(dataFor(output), device, output.layout));
    };
    for (const Output &output : outputs)
      results.push_back(tensorOf(output));
    for (const Write &write : writes)
      written.push_back(tensorOf(write.value));
  }
  for (size_t i = 0; i < writes.size(); ++i)
    inputs[writes[i].input].copy_(written[i]);
  return results;
}

} // namespace ltc::backend
