//===- built/compiled_call.cpp - Built graphs on CPU tensors --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/built/compiled_call.h"

#include "ltc_backend/convert.h"
#include "ltc_backend/graph/results.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/waiting.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>

namespace ltc::backend {

CompiledCall::CompiledCall(HostProgram program)
    : graph(std::move(program.graph)), arguments(std::move(program.arguments)),
      results(std::move(program.results)), places(graph->inputTypes.size()),
      isWritten(graph->inputTypes.size()) {
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].input)
      places[*arguments[i].input] = i;
  std::vector<uint32_t> taken;
  for (const BuiltGraph::Write &write : graph->writes)
    if (write.isInPlace) {
      isWritten[write.input] = true;
      taken.push_back(*write.value.result);
    }
  for (const BuiltGraph::Output &output : graph->outputs) {
    isShared.push_back(!output.result ||
                       std::ranges::find(taken, *output.result) != taken.end());
    if (output.result)
      taken.push_back(*output.result);
  }
}

static bool isPlain(const at::Tensor &tensor) {
  constexpr c10::DispatchKeySet kOthers{c10::DispatchKey::Python,
                                        c10::DispatchKey::Functionalize,
                                        c10::DispatchKey::FuncTorchBatched,
                                        c10::DispatchKey::FuncTorchGradWrapper};
  return tensor.device().is_cpu() && tensor.layout() == c10::kStrided &&
         !tensor.unsafeGetTensorImpl()->key_set().has_any(kOthers);
}

static bool fits(const HostArgument &wanted, const c10::IValue &given) {
  if (given.isTensor() != wanted.isTensor)
    return false;
  if (!wanted.isTensor)
    return given.tagKind() == wanted.number.tagKind() && given == wanted.number;
  const at::Tensor &tensor = given.toTensor();
  return tensor.scalar_type() == wanted.type && isPlain(tensor) &&
         tensor.sizes() == wanted.sizes && tensor.strides() == wanted.strides &&
         (wanted.isCopied || !(tensor.is_conj() || tensor.is_neg()));
}

bool CompiledCall::fits(c10::ArrayRef<c10::IValue> given) const {
  if (given.size() != arguments.size())
    return false;
  for (size_t i = 0; i < given.size(); ++i)
    if (!backend::fits(arguments[i], given[i]))
      return false;
  return true;
}

/// A CPU tensor that owns the buffer's memory. It may be resized as any other.
static at::Tensor owning(BufferPtr buffer, at::ScalarType type,
                         const HostResult &geometry) {
  size_t bytes = buffer->type().bytes();
  auto *memory = const_cast<void *>(buffer->hostPointer());
  c10::DataPtr data(
      memory, new BufferPtr(std::move(buffer)),
      [](void *owner) { delete static_cast<BufferPtr *>(owner); }, at::kCPU);
  auto storage = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), bytes, std::move(data),
      at::getCPUAllocator(), /*resizable=*/true);
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU),
      c10::scalarTypeToTypeMeta(type));
  c10::TensorImpl &impl = *tensor.unsafeGetTensorImpl();
  impl.set_sizes_and_strides(geometry.sizes, geometry.strides);
  impl.set_storage_offset(geometry.offset);
  return tensor;
}

/// One run. The arguments live until it is destroyed, and by then the launch is
/// done: not so long a wait as to look at signals.
class CompiledCall::Run {
public:
  Run(const CompiledCall &call, c10::ArrayRef<c10::IValue> arguments)
      : call(call), graph(*call.graph), arguments(arguments) {}
  ~Run() {
    if (running)
      waitUninterrupted(*running);
  }

  std::vector<c10::IValue> run();

private:
  const at::Tensor &argument(size_t input) const {
    return arguments[call.places[input]].toTensor();
  }
  /// The input as the graph is to see it: dense, in the order of its memory.
  at::Tensor dense(size_t input) const;
  BufferPtr import(size_t input);
  /// The value of an output that no launch makes, in memory of its own.
  at::Tensor copyOf(const BuiltGraph::Output &output) const;
  at::Tensor copyOfResult(const BuiltGraph::Output &output) const;
  void write();
  at::Tensor outputOf(const HostResult &result);
  c10::IValue give(const HostResult &result);

  const CompiledCall &call;
  const BuiltGraph &graph;
  const c10::ArrayRef<c10::IValue> arguments;
  std::vector<BufferPtr> inputs, buffers;
  BufferPtr running;               ///< one of the results, until it is ready
  std::vector<at::Tensor> copies;  ///< of inputs
  std::vector<at::Tensor> values;  ///< by output: what the launch does not make
  std::vector<at::Tensor> written; ///< the same, by write
};

at::Tensor CompiledCall::Run::dense(size_t input) const {
  const at::Tensor &tensor = argument(input);
  if (call.arguments[call.places[input]].isCopied)
    return tensor.resolve_conj().resolve_neg().contiguous();
  const TensorType &type = graph.inputTypes[input];
  return tensor.as_strided(type.dims, c10::contiguous_strides(type.dims));
}

BufferPtr CompiledCall::Run::import(size_t input) {
  Engine &device = engine(graph.device);
  const TensorType &type = graph.inputTypes[input];
  const at::Tensor *tensor = &argument(input);
  if (call.arguments[call.places[input]].isCopied)
    tensor = &copies.emplace_back(dense(input));
  const void *memory = call.isWritten[input] ? tensor->mutable_data_ptr()
                                             : tensor->const_data_ptr();
  if (!memory) // of no elements
    return valueOrRaise(device.allocate(type));
  return valueOrRaise(device.import(type, const_cast<void *>(memory)));
}

at::Tensor CompiledCall::Run::copyOf(const BuiltGraph::Output &output) const {
  if (output.source.kind == BuiltGraph::Source::Input)
    return dense(output.source.input).clone();
  const DeviceData &constant = *output.source.constant;
  at::Tensor copy =
      at::empty(constant.shape().sizes().vec(), constant.shape().scalar_type());
  raiseIfFailed(engine(graph.device)
                    .download(constant.buffer(), copy.mutable_data_ptr()));
  return copy;
}

at::Tensor
CompiledCall::Run::copyOfResult(const BuiltGraph::Output &output) const {
  const Buffer &buffer = *buffers[*output.result];
  at::IntArrayRef sizes = output.shape.sizes();
  at::Tensor copy = at::empty(sizes, output.shape.scalar_type());
  std::memcpy(copy.mutable_data_ptr(), buffer.hostPointer(), copy.nbytes());
  return copy;
}

at::Tensor CompiledCall::Run::outputOf(const HostResult &result) {
  const BuiltGraph::Output &output = graph.outputs[result.index];
  at::Tensor &value = values[result.index];
  if (value.defined())
    return value.as_strided(result.sizes, result.strides, result.offset);
  if (call.isShared[result.index]) {
    value = copyOfResult(output);
    return value.as_strided(result.sizes, result.strides, result.offset);
  }
  value = owning(buffers[*output.result], output.shape.scalar_type(), result);
  return value;
}

c10::IValue CompiledCall::Run::give(const HostResult &result) {
  switch (result.kind) {
  case HostResult::Argument:
    return arguments[result.index];
  case HostResult::ViewOfArgument: {
    const at::Tensor &base = arguments[result.index].toTensor();
    return base.as_strided(result.sizes, result.strides,
                           base.storage_offset() + result.offset);
  }
  case HostResult::Result:
    return outputOf(result);
  case HostResult::Number:
    return result.number;
  }
  return {};
}

void CompiledCall::Run::write() {
  for (size_t i = 0; i < graph.writes.size(); ++i) {
    const BuiltGraph::Write &write = graph.writes[i];
    bool isCopied = call.arguments[call.places[write.input]].isCopied;
    if (write.isInPlace && !isCopied)
      continue;
    at::Tensor value =
        written[i].defined() ? written[i] : copyOfResult(write.value);
    const at::Tensor &to = argument(write.input);
    if (isCopied)
      to.copy_(value);
    else
      to.as_strided(value.sizes(), value.strides()).copy_(value);
  }
}

std::vector<c10::IValue> CompiledCall::Run::run() {
  // Before anything is written.
  values.resize(graph.outputs.size());
  for (size_t i = 0; i < values.size(); ++i)
    if (!graph.outputs[i].result)
      values[i] = copyOf(graph.outputs[i]);
  written.resize(graph.writes.size());
  for (size_t i = 0; i < written.size(); ++i)
    if (!graph.writes[i].value.result)
      written[i] = copyOf(graph.writes[i].value);
  if (graph.executable) {
    inputs.reserve(graph.inputTypes.size());
    for (size_t i = 0; i < graph.inputTypes.size(); ++i)
      inputs.push_back(import(i));
    buffers = graph.launch(inputs);
    inputs.clear();
    running = buffers.front();
    waitForResult(graph.device, *running);
    running = nullptr;
  }
  write();
  std::vector<c10::IValue> given;
  given.reserve(call.results.size());
  for (const HostResult &result : call.results)
    given.push_back(give(result));
  return given;
}

std::vector<c10::IValue>
CompiledCall::run(c10::ArrayRef<c10::IValue> given) const {
  at::AutoDispatchBelowADInplaceOrView noAutograd;
  return Run(*this, given).run();
}

} // namespace ltc::backend
