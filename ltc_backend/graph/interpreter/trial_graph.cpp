//===- interpreter/trial_graph.cpp - Graphs that are tried out ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/interpreter/trial_graph.h"

#include "ltc/cpu_kernels.h"
#include "ltc/engine.h"
#include "ltc_backend/aten/clean_thread_state.h"
#include "ltc_backend/aten/kernel_provider.h"
#include "ltc_backend/convert.h"
#include "ltc_backend/graph/collect.h"
#include "ltc_backend/graph/interpreter/call_runner.h"
#include "ltc_backend/graph/interpreter/finite_check.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/waiting.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>

#include <map>
#include <set>

namespace ltc::backend {

std::vector<ValueId> operandsOf(const Node &node) {
  std::vector<ValueId> operands;
  for (const Argument &argument : node.arguments) {
    if (const auto *value = std::get_if<ValueId>(&argument.value))
      operands.push_back(*value);
    else if (const auto *list =
                 std::get_if<std::vector<ValueId>>(&argument.value))
      for (ValueId value : *list)
        if (value != kNoValue)
          operands.push_back(value);
  }
  return operands;
}

TrialGraph TrialGraph::parse(const std::string &text) {
  Graph graph = valueOrRaise(Graph::parse(text));
  raiseIfFailed(graph.verify());
  if (graph.isDynamic())
    raise({ErrorCode::Unsupported,
           Stage::Graph,
           "a graph with open sizes cannot be tried out",
           "",
           {},
           "use the text of a trace, which has none"});
  return TrialGraph(std::move(graph));
}

static std::vector<ValueType> typesOf(const Graph &graph) {
  std::vector<ValueType> types = graph.inputs;
  for (const Node &node : graph.nodes)
    for (const TensorType &type : node.results)
      types.push_back({type, false});
  return types;
}

static void checkInputs(const Graph &graph, const TrialGraph::Tensors &inputs) {
  bool fits = inputs.size() == graph.inputs.size();
  for (size_t i = 0; fits && i < inputs.size(); ++i) {
    const ValueType &type = graph.inputs[i];
    const at::Tensor &given = inputs[i];
    fits =
        given.is_cpu() && given.is_contiguous() &&
        (type.isScalar ? given.scalar_type() == at::kLong && given.numel() == 1
                       : toDType(given.scalar_type()) == type.tensor.dtype &&
                             given.sizes().vec() == type.tensor.dims);
  }
  if (!fits)
    raise({ErrorCode::InvalidArgument,
           Stage::Graph,
           "the tensors do not fit the graph's inputs",
           "",
           {},
           "give one dense CPU tensor an input, of its type"});
}

static KernelView viewOf(const at::Tensor &tensor, const ValueType &type) {
  KernelView view;
  if (type.isScalar) {
    view.isScalar = true;
    view.integer = *tensor.const_data_ptr<int64_t>();
  } else {
    view.data = const_cast<void *>(tensor.const_data_ptr());
    view.sizes = tensor.sizes().data();
    view.strides = tensor.strides().data();
    view.rank = uint32_t(tensor.dim());
  }
  view.dtype = type.tensor.dtype;
  return view;
}

/// Numbers that the library draws as compiled code does, and its own calls.
static bool isTheLibrarys(const Node &node) {
  return node.op.starts_with("ltc::") || node.find("seed");
}

static Status runNode(const Node &node, const std::vector<ValueType> &types,
                      TrialGraph::Tensors &values, ValueId firstResult) {
  if (!node.results.empty() && mayTrap(node, node.results[0].dtype))
    return Error{ErrorCode::Unsupported,
                 Stage::Execute,
                 "ATen's kernel may end the process, where it divides the "
                 "lowest integer by -1",
                 node.op,
                 {},
                 ""};
  Graph call;
  std::vector<KernelView> from, to;
  std::vector<ValueId> numbers;
  for (ValueId operand : operandsOf(node)) {
    numbers.push_back(ValueId(numbers.size()));
    call.inputs.push_back(types[operand]);
    from.push_back(viewOf(values[operand], types[operand]));
  }
  call.nodes.push_back(numbered(node, numbers.data()));
  for (size_t i = 0; i < node.results.size(); ++i) {
    at::Tensor &result = values[firstResult + i];
    result = at::detail::empty_cpu(node.results[i].dims,
                                   toScalarType(node.results[i].dtype));
    to.push_back(viewOf(result, {node.results[i], false}));
  }
  auto kernel =
      isTheLibrarys(node) ? kernels::resolve(call) : resolveKernel(call);
  if (!kernel)
    return kernel.takeError();
  return (*kernel)->run(from, to);
}

static double epsilonOf(at::ScalarType type) {
  switch (c10::toRealValueType(type)) {
  case at::kDouble:
    return std::numeric_limits<double>::epsilon();
  case at::kFloat:
    return std::numeric_limits<float>::epsilon();
  case at::kHalf:
    return 0x1p-10;
  default:
    return 0x1p-7;
  }
}

static void disturb(at::Tensor &value, at::Generator &generator) {
  if (!value.is_floating_point() && !value.is_complex())
    return;
  const double epsilon = epsilonOf(value.scalar_type());
  at::Tensor wide =
      value.is_complex() ? value.to(at::kComplexDouble) : value.to(at::kDouble);
  at::Tensor draws = at::empty(value.sizes(), at::kDouble)
                         .uniform_(-epsilon, epsilon, generator);
  value.copy_(wide + wide * draws);
}

TrialGraph::Tensors TrialGraph::reference(const Tensors &inputs,
                                          std::optional<int64_t> noise) const {
  checkInputs(graph, inputs);
  CleanThreadState clean;
  const std::vector<ValueType> types = typesOf(graph);
  Tensors values = inputs;
  values.resize(types.size());
  at::Generator generator;
  if (noise) {
    generator = at::detail::createCPUGenerator(uint64_t(*noise));
    for (size_t i = 0; i < inputs.size(); ++i)
      disturb(values[i] = inputs[i].clone(), generator);
  }
  kernels::noteThreadCount();
  auto next = ValueId(graph.inputs.size());
  for (const Node &node : graph.nodes) {
    if (Status status = runNode(node, types, values, next); !status) {
      Error error = status.takeError();
      error.source = sourceOf(node.source);
      raise(error);
    }
    for (size_t i = 0; i < node.results.size(); ++i, ++next)
      if (noise)
        disturb(values[next], generator);
  }
  return values;
}

/// As a launch says it (runtime/engine/launch.cpp).
static Error atNode(Error error, const Node &node,
                    const std::vector<ValueType> &types) {
  std::string operands;
  for (ValueId operand : operandsOf(node))
    operands += (operands.empty() ? "" : ", ") + types[operand].str();
  error.message = node.op + "(" + operands + "): " + error.message;
  error.op = node.op;
  error.source = sourceOf(node.source);
  return error;
}

/// The last node that reads each value, or else the one that makes it.
static std::vector<size_t> lastUses(const Graph &graph, size_t values) {
  std::vector<size_t> last(values, 0);
  size_t next = graph.inputs.size();
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (ValueId operand : operandsOf(graph.nodes[i]))
      last[operand] = i;
    for (size_t r = 0; r < graph.nodes[i].results.size(); ++r)
      last[next++] = i;
  }
  return last;
}

static Status lookAtNodes(const Graph &graph, TrialGraph::Tensors values,
                          bool orInf) {
  checkInputs(graph, values);
  CleanThreadState clean;
  const std::vector<ValueType> types = typesOf(graph);
  values.resize(types.size());
  const std::vector<size_t> last = lastUses(graph, values.size());
  kernels::noteThreadCount();
  auto next = ValueId(graph.inputs.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node &node = graph.nodes[i];
    if (Status status = runNode(node, types, values, next); !status)
      return atNode(status.takeError(), node, types);
    std::vector<OperandValue> operands;
    for (ValueId operand : operandsOf(node)) {
      const DType dtype = types[operand].tensor.dtype;
      if (types[operand].isScalar)
        operands.push_back(
            {nullptr, uint64_t(values[operand].item<int64_t>()), dtype});
      else
        operands.push_back({&values[operand], 0, dtype});
    }
    std::span<const at::Tensor> results(values.data() + next,
                                        node.results.size());
    if (Status status = checkFinite(node, operands, results, orInf); !status)
      return atNode(status.takeError(), node, types);
    for (ValueId operand : operandsOf(node))
      if (last[operand] == i)
        values[operand].reset();
    for (size_t r = 0; r < node.results.size(); ++r, ++next)
      if (last[next] == i)
        values[next].reset();
  }
  return {};
}

Status TrialGraph::lookForNan(const Tensors &inputs, bool orInf) const {
  try {
    return lookAtNodes(graph, inputs, orInf);
  } catch (...) { // no memory for it
    return currentError(Stage::Execute, "");
  }
}

TrialGraph::Tensors TrialGraph::compiled(const Tensors &inputs,
                                         int64_t device) const {
  checkInputs(graph, inputs);
  Engine &target = engine(device);
  ExecutablePtr executable = valueOrRaise(target.compile(graph));
  std::vector<LaunchArgument> arguments;
  for (size_t i = 0; i < inputs.size(); ++i) {
    LaunchArgument &argument = arguments.emplace_back();
    if (graph.inputs[i].isScalar)
      argument.integer = *inputs[i].const_data_ptr<int64_t>();
    else
      argument.buffer = valueOrRaise(
          target.upload(graph.inputs[i].tensor, inputs[i].const_data_ptr()));
  }
  Tensors results;
  for (const BufferPtr &buffer :
       valueOrRaise(target.launch(executable, std::move(arguments)))) {
    waitUninterrupted(*buffer);
    raiseIfFailed(buffer->wait());
    const TensorType &type = buffer->type();
    results.push_back(
        at::detail::empty_cpu(type.dims, toScalarType(type.dtype)));
    raiseIfFailed(target.download(buffer, results.back().mutable_data_ptr()));
  }
  return results;
}

namespace {
/// The numbering of a part.
class PartMaker {
public:
  PartMaker(const Graph &whole, const std::vector<uint32_t> &nodes)
      : whole(whole), types(typesOf(whole)), chosen(nodes.begin(), nodes.end()),
        isWanted(types.size()), isGiven(types.size()) {
    auto next = ValueId(whole.inputs.size());
    for (uint32_t i = 0; i < whole.nodes.size(); ++i) {
      firstResults.push_back(next);
      next += ValueId(whole.nodes[i].results.size());
      if (!chosen.contains(i))
        for (ValueId operand : operandsOf(whole.nodes[i]))
          isWanted[operand] = true;
    }
    for (const GraphOutput &output : whole.outputs)
      isWanted[output.value] = true;
  }

  TrialGraph::Part make(bool donates) {
    for (uint32_t i : chosen)
      for (size_t r = 0; r < whole.nodes[i].results.size(); ++r)
        isGiven[firstResults[i] + r] = true;
    for (uint32_t i : chosen)
      for (ValueId operand : operandsOf(whole.nodes[i]))
        if (!isGiven[operand])
          addInput(operand);
    if (donates)
      for (const GraphOutput &output : whole.outputs)
        if (output.donated && isGiven[output.value])
          addInput(*output.donated);
    auto next = ValueId(inputs.size());
    for (uint32_t i : chosen)
      for (size_t r = 0; r < whole.nodes[i].results.size(); ++r)
        numbers[firstResults[i] + ValueId(r)] = next++;
    for (uint32_t i : chosen)
      addNode(i);
    addOutputs(donates);
    return {TrialGraph(std::move(graph)), std::move(inputs),
            std::move(outputs)};
  }

private:
  void addInput(ValueId value) {
    if (!numbers.try_emplace(value, ValueId(inputs.size())).second)
      return;
    inputs.push_back(value);
    graph.inputs.push_back(types[value]);
  }

  void addNode(uint32_t i) {
    std::vector<ValueId> operands;
    for (ValueId operand : operandsOf(whole.nodes[i]))
      operands.push_back(numbers.at(operand));
    graph.nodes.push_back(numbered(whole.nodes[i], operands.data()));
    graph.nodes.back().source = whole.nodes[i].source;
  }

  void addOutputs(bool donates) {
    std::set<ValueId> added;
    for (const GraphOutput &output : whole.outputs)
      if (isGiven[output.value] && added.insert(output.value).second) {
        outputs.push_back(output.value);
        GraphOutput &of = graph.outputs.emplace_back();
        of.value = numbers.at(output.value);
        if (donates && output.donated)
          of.donated = numbers.at(*output.donated);
      }
    for (ValueId value = 0; value < types.size(); ++value)
      if (isGiven[value] && isWanted[value] && added.insert(value).second) {
        outputs.push_back(value);
        graph.outputs.push_back({numbers.at(value), std::nullopt});
      }
  }

  const Graph &whole;
  const std::vector<ValueType> types;
  const std::set<uint32_t> chosen;
  std::vector<bool> isWanted, isGiven;
  std::vector<ValueId> firstResults; ///< by node
  std::map<ValueId, ValueId> numbers;
  Graph graph;
  std::vector<ValueId> inputs, outputs;
};
} // namespace

TrialGraph::Part TrialGraph::part(const std::vector<uint32_t> &nodes,
                                  bool donates) const {
  return PartMaker(graph, nodes).make(donates);
}

} // namespace ltc::backend
