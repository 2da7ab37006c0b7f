//===- interpreter/call_runner.cpp - One recorded call, run on the host ---===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/interpreter/call_runner.h"

#include "ltc/cpu_kernels.h"
#include "ltc_backend/aten/clean_thread_state.h"
#include "ltc_backend/graph/collect.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/tensors/op_info.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <tuple>

namespace ltc::backend {

/// Whether the numbers that an op draws by their places are those of its
/// compiled row.
static bool drawsAlike(const CallShape &call) {
  DType dtype = call.results[0].type.dtype;
  return !call.op->facts.has(OpFact::DrawsByPlace) || dtype == DType::F32 ||
         dtype == DType::F64 || dtype == DType::BF16;
}

bool mayTrap(const Node &call, DType result) {
  const Argument *mode = call.find("rounding_mode");
  auto *attribute = mode ? std::get_if<Attribute>(&mode->value) : nullptr;
  auto *rounding = attribute ? std::get_if<std::string>(attribute) : nullptr;
  return rounding && *rounding == "trunc" && isInteger(result);
}

/// Whether ATen has no kernel for what the compiled row does.
static bool isBeyondAten(const CallShape &call) {
  return mayTrap(call.prototype, call.results[0].type.dtype) ||
         (call.op->facts.has(OpFact::CountsIntegers) &&
          isInteger(call.results[0].type.dtype));
}

static bool isAtens(const CallShape &call) {
  return call.op->name.starts_with("aten::");
}

/// Whether the op visits operands by their strides.
static bool iterates(const CallShape &call) {
  return isAtens(call) && (call.op->handle.hasTag(at::Tag::pointwise) ||
                           call.op->facts.has(OpFact::ReadsAnyStrides));
}

CallRunner::CallRunner(const CallShape &call, const OpNode::Operands &operands)
    : call(call),
      isServed((isAtens(call) || call.op->facts.has(OpFact::OwnKernel)) &&
               drawsAlike(call) && !isBeyondAten(call)),
      readsAnyStrides(iterates(call) && !call.op->random) {
  if (!call.op->view)
    return;
  if (Result<ViewCall> plan = ViewCall::plan(graphOf(operands), *call.op->view))
    view = std::make_unique<const ViewCall>(std::move(*plan));
}

bool CallRunner::hasKernel() const {
  return isServed || (!isBeyondAten(call) &&
                      call.op->handle.hasComputedKernelForDispatchKey(
                          c10::DispatchKey::CPU));
}

CallRunner &CallRunner::of(const CallShape &call,
                           const OpNode::Operands &operands) {
  KeptWithCall *kept = call.runner.load(std::memory_order_acquire);
  if (kept)
    return static_cast<CallRunner &>(*kept);
  auto made = std::unique_ptr<CallRunner>(new CallRunner(call, operands));
  if (call.runner.compare_exchange_strong(kept, made.get(),
                                          std::memory_order_acq_rel))
    return *made.release();
  return static_cast<CallRunner &>(*kept);
}

Graph CallRunner::graphOf(const OpNode::Operands &operands) const {
  Graph graph;
  std::vector<ValueId> numbers;
  for (const Operand &operand : operands) {
    numbers.push_back(ValueId(numbers.size()));
    if (operand.node)
      graph.inputs.push_back({operand.ltc().result(operand.index).type, false});
    else
      graph.inputs.push_back(ValueType::scalar(operand.scalarType));
  }
  graph.nodes.push_back(numbered(call.prototype, numbers.data()));
  return graph;
}

Result<std::unique_ptr<Kernel>>
CallRunner::takeKernel(const OpNode::Operands &operands) {
  if (Kernel *kernel = idle.exchange(nullptr, std::memory_order_acquire))
    return std::unique_ptr<Kernel>(kernel);
  return kernels::resolve(graphOf(operands));
}

void CallRunner::putBack(std::unique_ptr<Kernel> kernel) {
  Kernel *none = nullptr;
  if (idle.compare_exchange_strong(none, kernel.get(),
                                   std::memory_order_release))
    std::ignore = kernel.release(); // idle has it
}

/// Graphs know dense memory alone, and so do many of ATen's kernels, whose
/// callers see to it.
bool CallRunner::reads(const at::Tensor &tensor) const {
  const OpFacts facts = call.op->facts;
  if (tensor.is_contiguous())
    return true;
  if (facts.has(OpFact::ReadsStrided))
    return tensor.is_non_overlapping_and_dense() &&
           (!facts.has(OpFact::DenseRows) || tensor.strides().back() == 1);
  return readsAnyStrides;
}

static KernelView viewOf(const at::Tensor &tensor, DType dtype) {
  KernelView view;
  view.data = const_cast<void *>(tensor.const_data_ptr());
  view.sizes = tensor.sizes().data();
  view.strides = tensor.strides().data();
  view.rank = uint32_t(tensor.dim());
  view.dtype = dtype;
  return view;
}

static KernelView viewOf(const Operand &scalar) {
  KernelView view;
  view.dtype = scalar.scalarType;
  view.isScalar = true;
  view.integer = int64_t(scalar.bits);
  return view;
}

Status CallRunner::runKernel(const OpNode::Operands &operands,
                             c10::ArrayRef<const at::Tensor *> tensors,
                             std::span<at::Tensor> results) {
  c10::SmallVector<KernelView, 6> from, to;
  c10::SmallVector<at::Tensor, 1> copies;
  copies.reserve(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].node) {
      from.push_back(viewOf(operands[i]));
      continue;
    }
    const at::Tensor *tensor = tensors[i];
    if (!reads(*tensor))
      tensor = &copies.emplace_back(tensor->contiguous());
    DType dtype = operands[i].ltc().result(operands[i].index).type.dtype;
    from.push_back(viewOf(*tensor, dtype));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const ResultType &type = call.results[i];
    if (!results[i].defined())
      results[i] =
          at::detail::empty_cpu(type.shape.sizes(), type.shape.scalar_type());
    to.push_back(viewOf(results[i], type.type.dtype));
  }
  Result<std::unique_ptr<Kernel>> kernel = takeKernel(operands);
  if (!kernel)
    return kernel.takeError();
  Status status =
      (*kernel)->run({from.data(), from.size()}, {to.data(), to.size()});
  putBack(std::move(*kernel));
  return status;
}

Status CallRunner::runView(const at::Tensor &self,
                           std::span<at::Tensor> results) {
  Result<std::vector<at::Tensor>> aliases = (*view)(self);
  if (!aliases)
    return aliases.takeError();
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i].defined())
      results[i].copy_((*aliases)[i]);
    else
      results[i] = std::move((*aliases)[i]);
  return {};
}

Status CallRunner::run(const OpNode::Operands &operands,
                       c10::ArrayRef<const at::Tensor *> tensors,
                       std::span<at::Tensor> results) {
  try {
    CleanThreadState clean;
    return view ? runView(*tensors[0], results)
                : runKernel(operands, tensors, results);
  } catch (...) { // no memory for a copy
    return currentError(Stage::Execute, call.op->name);
  }
}

} // namespace ltc::backend
