//===- interpreter/interpreter.cpp - A graph without a program ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/interpreter/interpreter.h"

#include "ltc/cpu_kernels.h"
#include "ltc/settings.h"
#include "ltc/spans.h"
#include "ltc_backend/aten/tensor_slot.h"
#include "ltc_backend/convert.h"
#include "ltc_backend/graph/interpreter/call_runner.h"
#include "ltc_backend/graph/interpreter/finite_check.h"

#include <ATen/ops/aminmax.h>
#include <ATen/ops/from_blob.h>

namespace ltc::backend {

namespace {
class Interpreter {
public:
  Interpreter(Engine &engine, const Collection &graph)
      : engine(engine), graph(graph),
        looksForNan(settings().detect_nan != "off"),
        looksForInf(settings().detect_nan == "all") {}
  Result<std::vector<BufferPtr>> run();

private:
  void findLifetimes();
  Status runNode(size_t number);
  Status giveMemory(const OpNode &node, bool isView);
  Status lookForNan(const OpNode &node,
                    c10::ArrayRef<const at::Tensor *> tensors,
                    std::span<const at::Tensor> results) const;
  std::string rangesOf(const OpNode &node) const;
  Error atNode(Error error, const OpNode &node) const;

  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr size_t kLarge = size_t(1) << 16; // bytes

  Engine &engine;
  const Collection &graph;
  const bool looksForNan, looksForInf;
  std::vector<at::Tensor> values; ///< by ValueId; undefined for scalars
  std::vector<uint32_t> lastUse;  ///< the last node that reads a value
  std::vector<uint32_t> outputOf; ///< the output that a value is, or kNone
  std::vector<BufferPtr> buffers; ///< one an output
  // Of the node that runs. What the collector wrote into nodes is the next
  // collection's by now.
  const ValueId *operands = nullptr;
  ValueId firstValue = 0;
};
} // namespace

/// Borrows the memory.
static at::Tensor tensorOver(const Buffer &buffer) {
  const TensorType &type = buffer.type();
  c10::DimVector strides = c10::contiguous_strides(type.dims);
  KernelView view;
  view.data = const_cast<void *>(buffer.hostPointer());
  view.sizes = type.dims.data();
  view.strides = strides.data();
  view.rank = uint32_t(type.dims.size());
  view.dtype = type.dtype;
  return borrow(view);
}

/// Owns the memory, with all that alias it.
static at::Tensor tensorWith(BufferPtr buffer) {
  const TensorType &type = buffer->type();
  void *memory = const_cast<void *>(buffer->hostPointer());
  return at::from_blob(
      memory, type.dims, [held = std::move(buffer)](void *) {},
      at::device(at::kCPU).dtype(toScalarType(type.dtype)));
}

void Interpreter::findLifetimes() {
  size_t count = graph.inputs.size();
  for (const OpNode *node : graph.nodes)
    count += node->num_outputs();
  values.resize(count);
  lastUse.assign(count, kNone);
  outputOf.assign(count, kNone);
  const ValueId *operand = graph.operands.data();
  for (uint32_t i = 0; i < graph.nodes.size(); ++i)
    for (size_t n = graph.nodes[i]->inputs.size(); n-- > 0;)
      lastUse[*operand++] = i;
  for (uint32_t i = 0; i < graph.outputs.size(); ++i)
    outputOf[graph.outputs[i].value] = i;
}

/// Results that are outputs are written where they stay. Others that are large
/// are the device's memory too: its limit and its figures are of them.
Status Interpreter::giveMemory(const OpNode &node, bool isView) {
  for (size_t i = 0; i < node.num_outputs(); ++i) {
    const TensorType &type = node.result(i).type;
    ValueId value = firstValue + ValueId(i);
    uint32_t output = outputOf[value];
    if (output == kNone && (isView || type.bytes() < kLarge))
      continue;
    auto made = engine.allocate(type);
    if (!made)
      return made.takeError();
    if (output == kNone) {
      values[value] = tensorWith(std::move(*made));
      continue;
    }
    buffers[output] = std::move(*made);
    values[value] = tensorOver(*buffers[output]);
  }
  return {};
}

Status Interpreter::lookForNan(const OpNode &node,
                               c10::ArrayRef<const at::Tensor *> tensors,
                               std::span<const at::Tensor> results) const {
  std::vector<OperandValue> read;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    read.push_back(
        {tensors[i], node.inputs[i].bits, node.inputs[i].scalarType});
  return checkFinite(node.call->prototype, read, results, looksForInf);
}

Status Interpreter::runNode(size_t number) {
  const OpNode &node = *graph.nodes[number];
  CallRunner &runner = CallRunner::of(*node.call, node.inputs);
  if (Status status = giveMemory(node, runner.isView()); !status)
    return status;
  c10::SmallVector<const at::Tensor *, 6> tensors;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    tensors.push_back(node.inputs[i].node ? &values[operands[i]] : nullptr);
  std::span<at::Tensor> results(values.data() + firstValue, node.num_outputs());
  spans::Span span("call ", node.call->op->name);
  if (Status status = runner.run(node.inputs, tensors, results); !status)
    return status;
  if (looksForNan && !runner.isView())
    if (Status status = lookForNan(node, tensors, results); !status)
      return status;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (lastUse[operands[i]] == number && outputOf[operands[i]] == kNone)
      values[operands[i]].reset();
  for (size_t i = 0; i < node.num_outputs(); ++i)
    if (ValueId value = firstValue + ValueId(i);
        lastUse[value] == kNone && outputOf[value] == kNone)
      values[value].reset();
  operands += node.inputs.size();
  firstValue += ValueId(node.num_outputs());
  return {};
}

/// "; i64[3] holds -1 to 12" for the operands that may be indices.
std::string Interpreter::rangesOf(const OpNode &node) const {
  std::string text;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].node)
      continue;
    const at::Tensor &tensor = values[operands[i]];
    const TensorType &type =
        node.inputs[i].ltc().result(node.inputs[i].index).type;
    if (!isInteger(type.dtype) || tensor.numel() == 0)
      continue;
    auto [least, greatest] = at::aminmax(tensor.flatten());
    text += "; " + type.str() + " holds " +
            std::to_string(least.item<int64_t>()) + " to " +
            std::to_string(greatest.item<int64_t>());
  }
  return text;
}

/// As a launch says it (runtime/engine/launch.cpp).
Error Interpreter::atNode(Error error, const OpNode &node) const {
  if (error.op != node.call->op->name && !error.source.empty())
    return error;
  if (error.code == ErrorCode::OutOfRange)
    error.message += rangesOf(node);
  std::string types;
  for (const Operand &operand : node.inputs)
    types += (types.empty() ? "" : ", ") +
             (operand.node ? operand.ltc().result(operand.index).type.str()
                           : ValueType::scalar(operand.scalarType).str());
  error.message = node.call->op->name + "(" + types + "): " + error.message;
  error.op = node.call->op->name;
  error.source = sourceOf(node.source);
  return error;
}

Result<std::vector<BufferPtr>> Interpreter::run() {
  static Counter &calls = counter("execute.calls");
  findLifetimes();
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    if (graph.inputs[i].data)
      values[i] = tensorOver(*graph.arguments[i].buffer);
  buffers.resize(graph.outputs.size());
  operands = graph.operands.data();
  firstValue = ValueId(graph.inputs.size());
  kernels::noteThreadCount();
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (Status status = runNode(i); !status)
      return atNode(status.takeError(), *graph.nodes[i]);
  calls.add(int64_t(graph.nodes.size()));
  return std::move(buffers);
}

/// More than that is not updated twice in memory: a graph that steps a large
/// model is compiled at once, and writes its parameters in place.
constexpr size_t kMostDonated = size_t(1) << 28;

bool canInterpret(const Collection &collection) {
  size_t donated = 0;
  for (size_t i = 0; i < collection.outputs.size(); ++i)
    if (collection.outputs[i].donated)
      donated += collection.outputTypes[i]->type.bytes();
  return donated <= kMostDonated &&
         std::ranges::all_of(collection.nodes, [](const OpNode *node) {
           return CallRunner::of(*node->call, node->inputs).serves();
         });
}

bool hasKernels(const Collection &collection) {
  return std::ranges::all_of(collection.nodes, [](const OpNode *node) {
    return CallRunner::of(*node->call, node->inputs).hasKernel();
  });
}

Result<std::vector<BufferPtr>> interpret(Engine &engine,
                                         const Collection &collection) {
  return Interpreter(engine, collection).run();
}

} // namespace ltc::backend
