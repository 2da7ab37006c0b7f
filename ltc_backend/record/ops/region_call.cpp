//===- ops/region_call.cpp - Graphs that a call in a graph runs ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/region_call.h"

#include "ltc_backend/convert.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/recorder.h"
#include "ltc_backend/region_lines.h"
#include "ltc_backend/tensors/lazy_tensor.h"
#include "ltc_backend/tensors/wrapper.h"

namespace ltc::backend {

namespace {

[[noreturn]] void refuse(const std::string &why) {
  raise({ErrorCode::Unsupported,
         Stage::Record,
         "control flow is no part of a graph where " + why,
         "",
         {},
         ""});
}

std::vector<TensorType> resultsOf(const Graph &region) {
  std::vector<TensorType> types;
  for (const GraphOutput &output : region.outputs)
    types.push_back(region.typeOf(output.value).tensor);
  return types;
}

} // namespace

RegionCall::RegionCall(std::vector<at::Tensor> operands)
    : tensors(std::move(operands)), given(tensors.size()) {
  if (!isHost(tensors.at(0).device().index()))
    refuse("the device leaves it to the host");
}

void RegionCall::addSources(const BuiltGraph &region) {
  if (!region.writes.empty())
    refuse("it writes to its inputs");
  auto addConstant = [&](const std::shared_ptr<DeviceData> &constant) {
    const Buffer *buffer = constant->buffer().get();
    if (std::ranges::find(constants, buffer) != constants.end())
      return;
    constants.push_back(buffer);
    int64_t device = tensors.at(0).device().index();
    tensors.push_back(
        wrap(makeTensor(std::make_shared<DeviceData>(device, constant->shape(),
                                                     constant->buffer()),
                        device, Layout())));
  };
  for (size_t i = 0; i < region.sources.size(); ++i) {
    const BuiltGraph::Source &source = region.sources[i];
    isSeeded |= source.kind == BuiltGraph::Source::Seed;
    if (source.kind == BuiltGraph::Source::Constant)
      addConstant(source.constant);
    if (source.kind == BuiltGraph::Source::Scalar)
      numbers.push_back({&region, i, region.graph->inputs[i].tensor.dtype,
                         source.scalar.integer});
  }
  for (const BuiltGraph::Output &output : region.outputs)
    if (!output.result && output.source.kind == BuiltGraph::Source::Constant)
      addConstant(output.source.constant);
}

ValueId RegionCall::placeOf(const BuiltGraph::Source &source) const {
  if (source.kind == BuiltGraph::Source::Input)
    return ValueId(source.input);
  auto constant = std::ranges::find(constants, source.constant->buffer().get());
  return ValueId(given + (constant - constants.begin()));
}

ValueId RegionCall::placeOf(const BuiltGraph &region, size_t input) const {
  const BuiltGraph::Source &source = region.sources[input];
  if (source.kind == BuiltGraph::Source::Seed)
    return ValueId(tensors.size() + numbers.size() +
                   std::ranges::count(region.sources.begin(),
                                      region.sources.begin() + long(input),
                                      BuiltGraph::Source::Seed,
                                      &BuiltGraph::Source::kind));
  if (source.kind != BuiltGraph::Source::Scalar)
    return placeOf(source);
  auto number = std::ranges::find_if(numbers, [&](const Number &other) {
    return other.region == &region && other.input == input;
  });
  return ValueId(tensors.size() + (number - numbers.begin()));
}

Graph RegionCall::graphOf(const BuiltGraph &region) const {
  const Graph &from = *region.graph;
  Graph graph;
  for (const at::Tensor &tensor : tensors)
    graph.inputs.push_back(
        {{*toDType(tensor.scalar_type()), tensor.sizes().vec()}, false});
  for (const Number &number : numbers)
    graph.inputs.push_back({{number.type, {}}, true});
  auto seeds = std::ranges::count(region.sources, BuiltGraph::Source::Seed,
                                  &BuiltGraph::Source::kind);
  graph.inputs.insert(graph.inputs.end(), size_t(seeds),
                      ValueType::scalar(DType::I64));
  auto place = [&](ValueId &value) {
    if (value == kNoValue)
      return;
    value = value < from.inputs.size()
                ? placeOf(region, value)
                : ValueId(value - from.inputs.size() + graph.inputs.size());
  };
  graph.nodes = from.nodes;
  for (Node &node : graph.nodes)
    for (Argument &argument : node.arguments)
      if (auto *one = std::get_if<ValueId>(&argument.value))
        place(*one);
      else if (auto *list = std::get_if<std::vector<ValueId>>(&argument.value))
        std::ranges::for_each(*list, place);
  for (const BuiltGraph::Output &output : region.outputs) {
    ValueId value = output.result ? from.outputs[*output.result].value
                                  : placeOf(output.source);
    if (output.result)
      place(value);
    graph.outputs.push_back({value, std::nullopt});
  }
  raiseIfFailed(graph.verify());
  return graph;
}

std::vector<at::Tensor> RegionCall::record(std::string_view op,
                                           c10::IValue first, size_t carried,
                                           const Graph &one,
                                           const Graph &other) const {
  c10::List<at::Tensor> operands;
  for (size_t i = carried; i < tensors.size(); ++i)
    operands.push_back(tensors[i]);
  c10::impl::GenericList scalars(c10::NumberType::get());
  for (const Number &number : numbers)
    if (number.type == DType::F64)
      scalars.push_back(std::bit_cast<double>(number.bits));
    else if (number.type == DType::Bool)
      scalars.push_back(number.bits != 0);
    else
      scalars.push_back(number.bits);
  torch::jit::Stack stack{std::move(first), std::move(operands), scalars,
                          one.str(SourceLines::Omit),
                          other.str(SourceLines::Omit)};
  std::vector<SourceId> lines = nodeSources(one);
  std::ranges::copy(nodeSources(other), std::back_inserter(lines));
  {
    RegionLines scope(std::move(lines));
    // Not through the keys above: the compiled function may run in a mode.
    c10::impl::ExcludeDispatchKeyGuard bare(c10::DispatchKey::Functionalize);
    backend::record(opInfo(std::string(op).c_str(), isSeeded ? "seeded" : ""),
                    stack);
  }
  std::vector<at::Tensor> results;
  for (const at::Tensor &result : stack.at(0).toTensorVector())
    results.push_back(wrap(result));
  return results;
}

std::vector<at::Tensor> RegionCall::cond(const at::Tensor &predicate,
                                         std::vector<at::Tensor> operands,
                                         const Region &then,
                                         const Region &otherwise) {
  if (predicate.scalar_type() != at::kBool || predicate.numel() != 1)
    refuse("its predicate is not one bool");
  if (operands.empty())
    operands.push_back(predicate); // which says on what device constants are
  RegionCall call(std::move(operands));
  call.addSources(*then);
  call.addSources(*otherwise);
  Graph one = call.graphOf(*then), other = call.graphOf(*otherwise);
  if (one.outputs.empty() || resultsOf(one) != resultsOf(other))
    refuse("its branches give results of other types");
  return call.record(kCond, predicate, 0, one, other);
}

std::vector<at::Tensor> RegionCall::whileLoop(std::vector<at::Tensor> carried,
                                              std::vector<at::Tensor> operands,
                                              const Region &condition,
                                              const Region &body) {
  const size_t count = carried.size();
  c10::List<at::Tensor> first;
  for (const at::Tensor &tensor : carried)
    first.push_back(tensor);
  carried.insert(carried.end(), operands.begin(), operands.end());
  if (count == 0)
    refuse("a loop carries nothing");
  RegionCall call(std::move(carried));
  call.addSources(*condition);
  call.addSources(*body);
  Graph goesOn = call.graphOf(*condition), turn = call.graphOf(*body);
  std::vector<TensorType> decision = resultsOf(goesOn);
  if (decision.size() != 1 || decision[0].dtype != DType::Bool ||
      decision[0].elements() != 1)
    refuse("a loop's condition is not one bool");
  std::vector<TensorType> types = resultsOf(turn);
  for (size_t i = 0; i < count; ++i)
    if (types.size() != count || types[i] != turn.inputs[i].tensor)
      refuse("a loop's body gives other types than it takes");
  // A turn's values are nobody else's: the next ones may lie in their memory.
  for (uint32_t i = 0; i < count; ++i)
    if (turn.outputs[i].value >= turn.inputs.size())
      turn.outputs[i].donated = i;
  return call.record(kWhileLoop, std::move(first), count, goesOn, turn);
}

} // namespace ltc::backend
