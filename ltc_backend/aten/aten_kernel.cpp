//===- aten_kernel.cpp - A kernel that calls ATen ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "aten_kernel.h"

#include "../convert.h"
#include "../lent_generator.h"
#include "../raise.h"
#include "../warnings.h"
#include "clean_thread_state.h"
#include "device_index_check.h"
#include "index_range.h"
#include "placement.h"
#include "stream_capture.h"

#include "ltc/cpu_kernels.h"
#include "ltc/metrics.h"
#include "ltc/op_facts.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/ops/full.h>
#include <c10/core/StreamGuard.h>

#include <cstring>

namespace ltc::backend {

using c10::IValue;

static at::Generator newGenerator(at::Device device) {
  if (device.is_cpu())
    return at::detail::createCPUGenerator();
  return at::globalContext()
      .getAcceleratorHooksInterface(device.type())
      .getNewGenerator(device.index());
}

AtenKernel::AtenKernel(CallPlan bound)
    : plan(std::move(bound)), direct(directCall(plan)),
      byIndex(factsOf(plan.name).has(OpFact::WritesByIndex)),
      operandSlots(plan.operands, TensorSlot(plan.device)),
      resultSlots(plan.results, TensorSlot(plan.device)) {
  stack.reserve(plan.arguments.size() + plan.results);
  if (plan.seed)
    generator = newGenerator(plan.device);
}

static at::Scalar scalarOf(const KernelView &view) {
  if (view.dtype == DType::F64)
    return view.real;
  if (view.dtype == DType::Bool)
    return view.integer != 0;
  return view.integer;
}

static double realOf(const KernelView &view) {
  return view.dtype == DType::F64 ? view.real : double(view.integer);
}

/// A c10::List<T> of f(operand) for each operand.
template <typename T, typename F>
static IValue listOf(const std::vector<ValueId> &operands, F f) {
  c10::List<T> list;
  list.reserve(operands.size());
  for (ValueId operand : operands)
    list.push_back(f(operand));
  return list;
}

/// How many steps an optimizer has made; GPUs read that from their memory.
static at::Tensor stepNumber(const at::Scalar &number, at::Device device) {
  if (device.is_cpu())
    return wrappedNumber(number);
  return at::full({}, number, at::TensorOptions(at::kFloat).device(device));
}

/// The tensor with its dimensions in that order in memory.
static at::Tensor ordered(const at::Tensor &given, at::IntArrayRef order) {
  std::vector<int64_t> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    inverse[size_t(order[i])] = int64_t(i);
  return given.permute(order).contiguous().permute(inverse);
}

IValue AtenKernel::bound(const Binding &binding, Views operands) {
  auto tensor = [&](ValueId operand) {
    const at::Tensor &given = operandSlots[operand].point(operands[operand]);
    if (!plan.orders.empty())
      return ordered(given, plan.orders[operand]);
    return plan.needsDense ? given.contiguous() : given;
  };
  const auto &list = binding.operands;
  switch (binding.kind) {
  case Binding::Tensor:
    return tensor(list[0]);
  case Binding::WrappedNumber:
    return wrappedNumber(scalarOf(operands[list[0]]));
  case Binding::TensorList:
    return listOf<at::Tensor>(list, tensor);
  case Binding::OptionalTensorList:
    return listOf<std::optional<at::Tensor>>(
        list, [&](ValueId operand) -> std::optional<at::Tensor> {
          if (operand == kNoValue)
            return std::nullopt;
          return tensor(operand);
        });
  case Binding::NumberList:
    return listOf<at::Tensor>(list, [&](ValueId operand) {
      return stepNumber(scalarOf(operands[operand]), plan.device);
    });
  case Binding::Scalar:
    return scalarOf(operands[list[0]]);
  case Binding::Float:
    return realOf(operands[list[0]]);
  case Binding::Int:
    return operands[list[0]].integer;
  case Binding::Bool:
    return operands[list[0]].integer != 0;
  case Binding::ScalarList:
    return listOf<at::Scalar>(
        list, [&](ValueId operand) { return scalarOf(operands[operand]); });
  case Binding::FloatList:
    return listOf<double>(
        list, [&](ValueId operand) { return realOf(operands[operand]); });
  case Binding::IntList:
    return listOf<int64_t>(
        list, [&](ValueId operand) { return operands[operand].integer; });
  }
  return {};
}

void AtenKernel::pushArguments(Views operands) {
  stack.assign(plan.arguments.begin(), plan.arguments.end());
  for (const Binding &binding : plan.bindings)
    stack[binding.argument] = bound(binding, operands);
}

void AtenKernel::seedFrom(Views operands) {
  if (!plan.seed)
    return;
  generator.set_current_seed(uint64_t(operands[*plan.seed].integer));
  if (plan.generator)
    stack[*plan.generator] = generator;
}

bool AtenKernel::callDirect(Views results) {
  if (!direct(stack, outs, generator))
    return false;
  settle(results);
  return true;
}

/// Where the plan lets a call write over its first operand, ATen must be given
/// one tensor for both: it then copies nothing, and changes a few elements.
/// Without elements, two tensors may have one address by chance.
static void unite(IValue &first, const at::Tensor &out) {
  if (!first.isTensor() || !first.toTensor().defined())
    return;
  const at::Tensor &operand = first.toTensor();
  if (out.numel() != 0 && operand.const_data_ptr() == out.const_data_ptr() &&
      operand.scalar_type() == out.scalar_type() &&
      operand.sizes() == out.sizes() && operand.strides() == out.strides())
    first = out;
}

void AtenKernel::callOut(Views results) {
  if (outs.size() == 1 && !stack.empty())
    unite(stack[0], outs[0]);
  stack.insert(stack.end(), outs.begin(), outs.end());
  plan.out->callBoxed(&stack);
  settle(results);
}

void AtenKernel::settle(Views results) {
  for (size_t i = 0; i < results.size(); ++i) {
    if (resultSlots[i].isStill(results[i]))
      continue;
    at::Tensor elsewhere = std::move(outs[i]);
    store(elsewhere, results, i);
  }
}

/// True when `value` is the result's own memory, laid out as it should be.
static bool isInPlace(const at::Tensor &value, const KernelView &result) {
  return value.const_data_ptr() == result.data &&
         value.scalar_type() == toScalarType(result.dtype) &&
         value.strides() == at::IntArrayRef(result.strides, result.rank) &&
         !value.is_neg() && !value.is_conj();
}

/// Dense to dense of the same type, where a plain copy beats ATen's dispatch
/// and its threads; larger ones are left to those.
static bool copyBytes(const at::Tensor &value, const KernelView &result) {
  constexpr size_t kMost = size_t(1) << 18;
  bool plain =
      value.nbytes() <= kMost &&
      value.scalar_type() == toScalarType(result.dtype) &&
      value.strides() == at::IntArrayRef(result.strides, result.rank) &&
      value.is_non_overlapping_and_dense() && !value.is_neg() &&
      !value.is_conj() && !value._is_zerotensor();
  if (plain && value.nbytes())
    std::memcpy(result.data, value.const_data_ptr(), value.nbytes());
  return plain;
}

void AtenKernel::store(const at::Tensor &value, Views results, size_t number) {
  at::IntArrayRef wanted(results[number].sizes, results[number].rank);
  TORCH_CHECK(value.sizes() == wanted, "result ", number, " has shape ",
              value.sizes(), ", but was recorded as ",
              describe(results[number]));
  if (isInPlace(value, results[number]))
    return;
  TORCH_CHECK(!value.unsafeGetTensorImpl()->is_python_dispatch() ||
                  value.const_data_ptr() || value.nbytes() == 0,
              "result ", number,
              " is of a tensor subclass that has no memory of its own");
  static Counter &copies = counter("execute.result_copies");
  copies.add();
  if (!plan.device.is_cpu() || !copyBytes(value, results[number]))
    borrow(results[number], plan.device).copy_(value);
}

/// Every defined tensor that the operator returned and the call wants, in
/// order: a convolution's weight gets its gradient with the bias, asked or not.
static std::vector<at::Tensor> definedTensors(const Stack &returned,
                                              const CallPlan &plan) {
  std::vector<at::Tensor> tensors;
  for (size_t i = 0; i < returned.size(); ++i) {
    const IValue &value = returned[i];
    if (i < plan.wanted.size() && !plan.wanted[i])
      continue;
    if (value.isTensor() && value.toTensor().defined())
      tensors.push_back(value.toTensor());
    else if (value.isTensorList())
      for (const at::Tensor &tensor : value.toTensorVector())
        tensors.push_back(tensor);
  }
  return tensors;
}

/// Moves values out of the way that lie in the memory of a result other than
/// their own, or are laid out in another way there.
static void untangle(std::vector<at::Tensor> &returned,
                     std::span<const KernelView> results) {
  for (size_t i = 0; i < returned.size(); ++i) {
    if (isInPlace(returned[i], results[i]))
      continue;
    for (const KernelView &result : results)
      if (result.data && returned[i].storage().data() == result.data)
        returned[i] = returned[i].clone();
  }
}

void AtenKernel::callFunctional(Views results) {
  std::vector<at::Tensor> returned;
  {
    Placement placement(results, plan.device);
    plan.op.callBoxed(&stack);
    returned = definedTensors(stack, plan);
  }
  TORCH_CHECK(returned.size() == results.size(), "the operator returned ",
              returned.size(), " tensors where ", results.size(),
              " were recorded");
  untangle(returned, results);
  for (size_t i = 0; i < results.size(); ++i)
    store(returned[i], results, i);
}

/// Whether the call may write to memory that a failure has to leave alone.
bool AtenKernel::failsHalfWay(Views operands, Views results) const {
  return byIndex && operands[0].data && operands[0].data == results[0].data &&
         mayBeOutOfRange(plan.name, stack);
}

/// Lets the call fail, in ATen's words, where that does no harm.
void AtenKernel::callElsewhere(Views operands, Views results) {
  at::Tensor copy = stack[0].toTensor().clone();
  stack.clear();
  KernelView output = results[0];
  output.data = copy.mutable_data_ptr();
  call(operands, {&output, 1});
  borrow(results[0], plan.device).copy_(copy);
}

void AtenKernel::call(Views operands, Views results) {
  pushArguments(operands);
  if (!plan.device.is_cpu())
    checkIndicesOnDevice(plan.name, stack);
  else if (failsHalfWay(operands, results)) [[unlikely]]
    return callElsewhere(operands, results);
  seedFrom(operands);
  if (direct || plan.out)
    for (size_t i = 0; i < results.size(); ++i)
      outs.push_back(resultSlots[i].point(results[i]));
  if (direct) {
    if (callDirect(results))
      return;
    kernels::lendThreads();
  }
  if (plan.out)
    return callOut(results);
  outs.clear();
  std::optional<LentGenerator> lent;
  if (plan.seed && !plan.generator)
    lent.emplace(generator);
  callFunctional(results);
}

static std::string listOperands(std::span<const KernelView> operands) {
  std::string text;
  for (const KernelView &operand : operands)
    text += (text.empty() ? "" : ", ") + describe(operand);
  return text;
}

Status AtenKernel::run(Views operands, Views results) {
  Status status;
  if (operands.size() != plan.operands || results.size() != plan.results) {
    Error error;
    error.op = plan.name;
    error.message = "the kernel was bound to other numbers of operands and "
                    "results than it is called with";
    return error;
  }
  try {
    CleanThreadState clean;
    OnlyUnheard warnings;
    if (!direct)
      kernels::lendThreads();
    call(operands, results);
  } catch (...) {
    Error error = currentError(Stage::Execute, plan.name);
    if (error.source.empty())
      error.message += " (operands: " + listOperands(operands) + ")";
    status = std::move(error);
  }
  // The slots are free again only when nobody else holds their tensors.
  stack.clear();
  outs.clear();
  return status;
}

/// PyTorch takes the handle of a stream that is not its own for its number.
static c10::Stream streamOf(at::Device device, void *handle) {
  return c10::Stream(c10::Stream::UNSAFE, device,
                     reinterpret_cast<intptr_t>(handle));
}

Status AtenKernel::runOn(void *stream, Views operands, Views results) {
  try {
    c10::StreamGuard guard(streamOf(plan.device, stream));
    return run(operands, results);
  } catch (...) {
    return currentError(Stage::Execute, plan.name);
  }
}

Uncaptured AtenKernel::uncaptured() const {
  if (!hasCaptures(plan.device.type()))
    return Uncaptured::NoCaptures;
  // A direct call is attention, whose dropout is not its own.
  bool draws = plan.seed || plan.generator ||
               (!direct && plan.op.hasTag(at::Tag::nondeterministic_seeded));
  if (draws)
    return Uncaptured::Draws;
  return looksAtIndices(plan.name) ? Uncaptured::Looks : Uncaptured::May;
}

Result<std::unique_ptr<Capture>> AtenKernel::capture(void *stream) {
  return captureStream(streamOf(plan.device, stream));
}

} // namespace ltc::backend
