//===- host/host_call.cpp - Calls that the CPU answers --------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/host/host_call.h"

#include "ltc_backend/current_source.h"
#include "ltc_backend/graph/reads/call_memory.h"
#include "ltc_backend/graph/reads/read.h"
#include "ltc_backend/graph/results.h"
#include "ltc_backend/graph/sync_cause.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/host/quantized.h"
#include "ltc_backend/record/host/sparse.h"
#include "ltc_backend/tensors/device_data.h"
#include "ltc_backend/tensors/lazy_tensor.h"
#include "ltc_backend/tensors/map_tensors.h"
#include "ltc_backend/tensors/schema.h"
#include "ltc_backend/tensors/wrapper.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>

namespace ltc::backend {
using at::Tensor;
using c10::IValue;

/// f of each dense lazy tensor of a value, in whatever stands around it.
template <typename F> static void forEachDense(const IValue &value, F f) {
  forEachTensor(value, [&](const Tensor &tensor) {
    if (!tensor.defined() || !tensor.device().is_lazy())
      return;
    if (isSparse(tensor))
      std::ranges::for_each(membersOf(tensor), f);
    else if (isLazy(tensor))
      f(tensor);
  });
}

/// At most one graph for all operands, rather than one sync each.
static void syncOperands(c10::ArrayRef<IValue> arguments) {
  std::vector<Tensor> operands;
  for (const IValue &value : arguments)
    forEachDense(value,
                 [&](const Tensor &tensor) { operands.push_back(tensor); });
  computeAll(operands);
}

static Tensor denseToDevice(const Tensor &cpu, c10::Device device) {
  Tensor plain = cpu.resolve_conj().resolve_neg();
  return makeTensor(upload(plain, device.index()), device.index(),
                    layoutOfCopy(plain, std::nullopt));
}

/// The same as a program holds it, wherever this is called.
static Tensor memberOn(c10::Device device, const Tensor &cpu) {
  return makeWrapper(denseToDevice(cpu, device));
}

namespace {
class HostCall {
public:
  HostCall(const c10::OperatorHandle &op, torch::jit::Stack &stack)
      : op(op), schema(op.schema()),
        arguments(torch::jit::pop(stack, schema.arguments().size())) {}

  void run(torch::jit::Stack &stack) {
    syncOperands(arguments);
    torch::jit::Stack call;
    call.reserve(arguments.size());
    for (const IValue &value : arguments)
      call.push_back(toHost(value));
    // Of the last device that is named, as of `device=` behind tensors.
    {
      profile::Timed timed(profile::Part::Execute);
      op.callBoxed(&call);
    }
    for (size_t i = 0; i < arguments.size(); ++i)
      if (isWritten(schema.arguments()[i]))
        forEachTensor(arguments[i],
                      [&](const Tensor &tensor) { writeBack(tensor); });
    for (const IValue &result : call)
      stack.push_back(mapTensors(
          result, [&](const Tensor &tensor) { return toDevice(tensor); }));
  }

private:
  /// A lazy tensor, the CPU's in its place, and what that held if it is sparse.
  struct Pair {
    Tensor tensor, cpu;
    std::vector<Tensor> members;
  };

  IValue toHost(const IValue &value) {
    if (value.isDevice()) {
      target = value.toDevice();
      return target->is_lazy() ? IValue(c10::Device(at::kCPU)) : value;
    }
    return mapTensors(value,
                      [&](const Tensor &tensor) { return toHost(tensor); });
  }

  Tensor toHost(const Tensor &tensor) {
    if (!tensor.defined() || !tensor.device().is_lazy())
      return tensor;
    for (const Pair &pair : pairs)
      if (pair.tensor.is_same(tensor))
        return pair.cpu;
    auto toDenseHost = [&](const Tensor &member) {
      return denseToHost(member);
    };
    Tensor cpu = isSparse(tensor)        ? mapMembers(tensor, toDenseHost)
                 : tensor.is_quantized() ? quantizedOnHost(tensor)
                                         : denseToHost(tensor);
    if (tensor.requires_grad()) // some kernels save less if nothing does
      cpu.set_requires_grad(true);
    here = tensor.device();
    pairs.push_back({tensor, cpu, {}});
    if (isSparse(cpu))
      pairs.back().members = membersOf(cpu);
    return cpu;
  }

  /// The value where it lies, unless the call may write to it.
  Tensor denseToHost(const Tensor &tensor) const {
    Tensor value =
        schema.is_mutable() ? toCpu(tensor) : readOnHost(readyData(tensor));
    return lay(value, layoutOfCopy(tensor, std::nullopt));
  }

  Tensor toDevice(const Tensor &cpu) const {
    c10::Device device = place();
    if (!cpu.defined() || !device.is_lazy() || !cpu.is_cpu())
      return cpu;
    for (const Pair &pair : pairs)
      if (pair.cpu.is_same(cpu))
        return pair.tensor;
    if (cpu.is_nested())
      refuseNested(op);
    if (isSparse(cpu))
      return mapMembers(
          cpu, [&](const Tensor &member) { return memberOn(device, member); });
    if (cpu.is_quantized())
      return quantizedOn(device, cpu, quantizedArguments());
    return wrap(denseToDevice(cpu, device));
  }

  void writeBack(const Tensor &tensor) const {
    auto found = std::ranges::find_if(
        pairs, [&](const Pair &pair) { return pair.tensor.is_same(tensor); });
    if (found == pairs.end())
      return;
    if (isSparse(tensor))
      writeMembers(*found);
    else if (tensor.is_quantized())
      assignQuantized(tensor, found->cpu);
    else
      at::_copy_from_and_resize(found->cpu, tensor);
  }

  /// Members that the call has written to stay where the program may see them.
  static void writeMembers(const Pair &pair) {
    std::vector<Tensor> before = pair.members, after = membersOf(pair.cpu);
    std::vector<Tensor> members = membersOf(pair.tensor);
    for (size_t i = 0; i < members.size(); ++i) {
      bool stays = before[i].is_same(after[i]) &&
                   before[i].sizes() == members[i].sizes() && isWrappedHere();
      if (!stays)
        members[i] = memberOn(pair.tensor.device(), after[i]);
      else
        members[i].copy_(after[i]);
    }
    size_t next = 0;
    assignMembers(pair.tensor, mapMembers(pair.cpu, [&](const Tensor &) {
                    return members[next++];
                  }));
  }

  /// Where results go: to the device that the call names, or else to that of
  /// its tensors.
  c10::Device place() const {
    c10::Device device = target.value_or(here.value_or(at::kCPU));
    if (device.is_lazy() && !device.has_index())
      device = here && here->is_lazy()
                   ? *here
                   : c10::Device(at::kLazy, c10::DeviceIndex(currentDevice()));
    return device;
  }

  std::vector<Tensor> quantizedArguments() const {
    std::vector<Tensor> found;
    for (const Pair &pair : pairs)
      if (pair.tensor.is_quantized())
        found.push_back(pair.tensor);
    return found;
  }

  const c10::OperatorHandle &op;
  const c10::FunctionSchema &schema;
  std::vector<IValue> arguments;
  std::vector<Pair> pairs;
  std::optional<c10::Device> target, here;
};
} // namespace

void refuseNested(const c10::OperatorHandle &op, const std::string &found) {
  raise({ErrorCode::Unsupported, Stage::Record,
         "there are no nested tensors on a lazy device" + found,
         c10::toString(op.operator_name()), sourceOf(currentSource()),
         "pad on the CPU: torch.nested.to_padded_tensor"});
}

void callOnHost(const c10::OperatorHandle &op, torch::jit::Stack &stack) {
  SyncCause cause(profile::Cause::Fallback, op.schema().name());
  at::AutoDispatchBelowADInplaceOrView belowAutograd;
  HostCall(op, stack).run(stack);
}

} // namespace ltc::backend
