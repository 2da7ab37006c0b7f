//===- record/immediate_call.cpp - Calls that run when they are made ------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/immediate_call.h"

#include "ltc_backend/graph/reads/immediate.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/record/direct.h"
#include "ltc_backend/record/no_grad.h"
#include "ltc_backend/tensors/deferred_view.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/map_tensors.h"
#include "ltc_backend/tensors/wrapper.h"

#include <ATen/ATen.h>

namespace ltc::backend {

/// The same memory with other sizes and strides.
static at::Tensor shownAs(const at::Tensor &values, const Shown &shown) {
  at::Tensor view = at::detail::make_tensor<c10::TensorImpl>(
      c10::TensorImpl::VIEW, c10::Storage(values.storage()), values.key_set(),
      values.dtype());
  c10::TensorImpl &impl = *view.unsafeGetTensorImpl();
  impl.set_sizes_and_strides(shown.sizes, shown.strides);
  impl.set_storage_offset(values.storage_offset() + shown.offset);
  return view;
}

/// The values of a tensor below functionalisation, if they are there.
static at::Tensor valuesOfBare(const at::Tensor &bare) {
  torch::lazy::LTCTensorImpl *impl = bareImpl(*bare.unsafeGetTensorImpl());
  if (!impl)
    return {};
  auto &data = static_cast<TensorData &>(*sharedData(*impl));
  std::lock_guard lock(pendingList(deviceOf(data)).mutex);
  return data.handle ? smallValues(static_cast<DeviceData &>(*data.handle))
                     : at::Tensor();
}

/// The values that a functional tensor shows. A view shows those of its
/// storage's base, unless somebody has written to them through a view.
static at::Tensor valuesOf(const at::Tensor &functional) {
  const auto &wrapper = static_cast<const at::FunctionalTensorWrapper &>(
      *functional.unsafeGetTensorImpl());
  const Shown shown = shownBy(functional);
  if (wrapper.isBaseTensor())
    return wrapper.is_up_to_date() && isRowMajor(shown.sizes, shown.strides)
               ? valuesOfBare(wrapper.value())
               : at::Tensor();
  auto lock = lockStorages();
  at::functionalization::FunctionalStorageImpl &storage = storageOf(wrapper);
  const at::Tensor &base = storage.base();
  if (generationOf(storage) != 0 || base.dtype() != functional.dtype() ||
      base.storage_offset() != 0 || !isRowMajor(base.sizes(), base.strides()))
    return {};
  at::Tensor values = valuesOfBare(base);
  return values.defined() ? shownAs(values, shown) : values;
}

bool ImmediateCall::mayBegin(const OpInfo &info) {
  if (!isImmediate(currentDevice())) [[likely]]
    return false;
  if (info.handle.hasTag(at::Tag::dynamic_output_shape))
    noteLook();
  return !info.random && !info.errorCheck && isUnwatched(info);
}

/// A number of the host may stand beside tensors of the device, as in eager.
at::Tensor ImmediateCall::valueOf(const at::Tensor &tensor) {
  if (!ready || !tensor.defined() || (tensor.is_cpu() && tensor.dim() == 0))
    return tensor;
  const int64_t here = tensor.device().index();
  ready = isPlain(tensor) && (device < 0 || device == here);
  if (ready && isTracked(tensor)) {
    forgetReads();
    ready = false;
  }
  if (!ready)
    return tensor;
  device = here;
  at::Tensor value = valuesOf(tensor);
  ready = value.defined();
  if (ready)
    operands.push_back(value.storage().unsafeGetStorageImpl());
  return value;
}

const at::Tensor &ImmediateCall::take(const at::Tensor &tensor) {
  if (values.empty())
    values.reserve(info.arguments.size());
  return values.emplace_back(valueOf(tensor));
}

std::optional<at::Tensor>
ImmediateCall::take(const std::optional<at::Tensor> &tensor) {
  return tensor ? std::optional(valueOf(*tensor)) : std::nullopt;
}

at::TensorList ImmediateCall::take(at::TensorList tensors) {
  for (const at::Tensor &tensor : tensors)
    list.push_back(valueOf(tensor));
  return list;
}

at::ITensorListRef ImmediateCall::take(const at::ITensorListRef &tensors) {
  for (const at::Tensor &tensor : tensors)
    list.push_back(valueOf(tensor));
  return at::TensorList(list);
}

std::optional<at::Device> ImmediateCall::take(std::optional<at::Device> there) {
  if (!there)
    return there;
  int64_t index = there->has_index() ? there->index() : currentDevice();
  ready &= there->is_lazy() && (device < 0 || device == index);
  device = index;
  return at::Device(at::kCPU);
}

std::optional<at::Layout>
ImmediateCall::take(std::optional<at::Layout> layout) {
  ready &= layout.value_or(at::kStrided) == at::kStrided;
  return layout;
}

c10::IValue ImmediateCall::take(const c10::IValue &argument) {
  if (argument.isDevice())
    return take(std::optional(argument.toDevice()));
  return mapTensors(argument,
                    [&](const at::Tensor &tensor) { return valueOf(tensor); });
}

const c10::KernelFunction &ImmediateCall::kernel() const {
  static Counter &count = counter("execute.immediate");
  count.add();
  return entryOf(info.handle).lookup(kKeys);
}

at::Tensor ImmediateCall::result(at::Tensor value) {
  if (!value.defined())
    return value;
  Layout layout;
  if (!value.is_contiguous()) {
    layout.strides = value.strides().vec();
    value = value.contiguous();
  } else if (std::ranges::find(operands,
                               value.storage().unsafeGetStorageImpl()) !=
             operands.end()) {
    value = value.clone();
  }
  if (device < 0)
    device = currentDevice();
  return makeTensor(std::make_shared<DeviceData>(device, std::move(value)),
                    device, layout);
}

bool runAtOnce(const OpInfo &info, torch::jit::Stack &stack) {
  if (info.makesLike || !ImmediateCall::mayBegin(info)) [[likely]]
    return false;
  ImmediateCall call(info);
  torch::jit::Stack values;
  values.reserve(info.arguments.size());
  for (const c10::IValue &argument :
       torch::jit::last(stack, info.arguments.size()))
    values.push_back(call.take(argument));
  if (!call.isReady())
    return false;
  {
    CleanThreadState clean;
    call.kernel().callBoxed(info.handle, ImmediateCall::kKeys, &values);
  }
  torch::jit::drop(stack, info.arguments.size());
  auto wrapped = [&](const at::Tensor &value) {
    at::Tensor result = call.result(value);
    return result.defined() ? wrapResult(info, result) : result;
  };
  for (const c10::IValue &value : values)
    stack.push_back(mapTensors(value, wrapped));
  return true;
}

at::Tensor valueAtOnce(const at::Tensor &tensor) {
  if (!isImmediate(tensor.device().index()) || !isPlain(tensor))
    return {};
  noteLook();
  return valuesOf(tensor);
}

} // namespace ltc::backend
