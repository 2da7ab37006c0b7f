//===- record/call_reader.cpp - Operands and key of one call --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/call_reader.h"

#include "ltc_backend/current_source.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/call_key.h"
#include "ltc_backend/record/ops/random.h"
#include "ltc_backend/record/writes/step_end.h"
#include "ltc_backend/tensors/deferred_view.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/lazy_tensor.h"

#include <ATen/Context.h>

namespace ltc::backend {
using c10::IValue;

void CallReader::readValue(const Operand &value) {
  lazyTensors.emplace_back(operands.size(), nullptr);
  operands.push_back(value);
  addTag(hasher, KeyTag::Tensor);
}

CallReader::CallReader(const OpInfo &info, c10::ArrayRef<IValue> arguments)
    : info(info) {
  for (size_t i = 0; i < arguments.size(); ++i)
    read(info.arguments[i], arguments[i]);
  if (device < 0)
    device = currentDevice();
}

Hash128 CallReader::readValues() {
  for (auto [position, data] : lazyTensors) {
    if (data)
      operands[position] = valueOf(*data);
    const Operand &operand = operands[position];
    hasher.add(operand.ltc().result(operand.index).hash);
  }
  // What has no dtype of its own, or takes an integer to a real, has this one.
  auto dtype = uint64_t(c10::get_default_dtype_as_scalartype());
  // What adds where indices say does so in order then.
  auto inOrder = uint64_t(at::globalContext().deterministicAlgorithms());
  hasher.add(dtype | inOrder << 32);
  return hasher.finish();
}

std::shared_ptr<const CallShape> CallReader::findShape() {
  Hash128 key = readValues();
  if (info.random && !havePassed(info, key, operands))
    return nullptr;
  auto shape = info.findCall(key);
  return shape && shape->fallback.empty() ? shape : nullptr;
}

void CallReader::uploadHostTensors() {
  for (auto &[position, tensor] : hostTensors)
    operands[position] = {std::make_shared<DataNode>(upload(tensor, device))};
}

void CallReader::read(const ArgumentInfo &argument, const IValue &value) {
  switch (argument.kind) {
  case ArgumentKind::Placement:
    return readPlacement(value);
  case ArgumentKind::Tensor:
    return readTensor(value);
  case ArgumentKind::TensorList:
    if (value.isNone())
      return void(addTag(hasher, KeyTag::None));
    addTag(hasher, KeyTag::List).add(value.toListRef().size());
    for (const IValue &element : value.toListRef())
      if (info.facts.has(OpFact::FusedStep) && element.isTensor() &&
          argument.name == "state_steps" && element.toTensor().is_cpu())
        readNumber(element.toTensor().item().toDouble());
      else
        readTensor(element, /*comesAlong=*/argument.name == "indices");
    return;
  default:
    if (argument.lifts(value))
      return readNumber(value);
    return addAttribute(hasher, value);
  }
}

void CallReader::readPlacement(const IValue &value) {
  if (value.isGenerator()) {
    generator = value.toGenerator();
  } else if (value.isDevice() && device < 0) {
    if (value.toDevice().has_index())
      device = value.toDevice().index();
    if (device > 0)
      checkOrdinal(device);
  } else if (device >= 0 && !lazyTensors.empty()) {
    auto isThere = [this](at::Device other) {
      return other.type() == at::kLazy &&
             (!other.has_index() || other.index() == device);
    };
    leaves |= (value.isDevice() && !isThere(value.toDevice())) ||
              (value.isInt() && at::Layout(value.toInt()) != at::kStrided) ||
              (value.isBool() && value.toBool());
  }
}

void raiseTwoDevices(const std::string &op, int64_t device,
                     const at::Tensor &elsewhere) {
  if (elsewhere.device().is_lazy() && !isLazy(elsewhere))
    raise({ErrorCode::Unsupported, Stage::Record,
           "cannot read a tensor of a subclass that holds another one; its "
           "__torch_dispatch__ is disabled here",
           op, sourceOf(currentSource()),
           "call the op on the tensor that it holds"});
  raise({ErrorCode::InvalidArgument, Stage::Record,
         "Expected all tensors to be on the same device, but found at least "
         "two devices, lazy:" +
             std::to_string(device) + " and " + elsewhere.device().str() + "!",
         op, sourceOf(currentSource()),
         isLazy(elsewhere) ? "move one of them with .to(...)"
                           : "move it with .to('lazy') first"});
}

void CallReader::checkDevices() const {
  if (elsewhere.defined())
    raiseTwoDevices(info.name, device, elsewhere);
}

void CallReader::readTensor(const IValue &value, bool comesAlong) {
  static const at::Tensor none;
  readTensor(value.isTensor() ? value.toTensor() : none, comesAlong);
}

/// A scalar of the host may stand beside lazy tensors, as beside any
/// device's; so may x[indices], which `comesAlong` to the device.
void CallReader::readTensor(const at::Tensor &tensor, bool comesAlong) {
  if (elsewhere.defined())
    return;
  if (!tensor.defined())
    return void(addTag(hasher, KeyTag::None));
  if (readDeferredView(tensor))
    return;
  c10::TensorImpl *impl = tensor.unsafeGetTensorImpl();
  if (torch::lazy::LTCTensorImpl *lazy = lazyImpl(tensor)) {
    if (impl != lazy) {
      auto *wrapper = static_cast<at::FunctionalTensorWrapper *>(impl);
      if (!wrapper->is_up_to_date()) {
        endStepBefore();
        materialise(*wrapper);
        lazy = lazyImpl(tensor);
      }
      wrappers += !impl->key_set().has_any(kMathBits);
    }
    if (device < 0)
      device = lazy->device().index();
    else if (device != lazy->device().index())
      return void(elsewhere = tensor);
    return readLazy(*lazy);
  }
  bool isNumber = impl->is_wrapped_number();
  if (isNumber && !tensor.is_complex())
    return readWrappedNumber(tensor);
  if (!tensor.is_cpu() || (tensor.dim() != 0 && !comesAlong))
    return void(elsewhere = tensor);
  addTag(hasher, isNumber ? KeyTag::Scalar : KeyTag::Tensor)
      .add(makeResultType(tensor.scalar_type(), tensor.sizes()).hash);
  hostTensors.emplace_back(operands.size(), tensor);
  operands.emplace_back();
}

bool CallReader::readDeferredView(const at::Tensor &tensor) {
  c10::TensorImpl &impl = *tensor.unsafeGetTensorImpl();
  if (!impl.key_set().has(c10::DispatchKey::Functionalize))
    return false;
  auto &view = static_cast<at::FunctionalTensorWrapper &>(impl);
  std::optional<Operand> value;
  if (isNotTaken(view)) {
    endStepBefore(); // the view's nodes belong to the step that reads it
    value = valueOf(view);
  }
  if (!value)
    return false;
  int64_t here = static_cast<const OpNode &>(*value->node).device;
  if (device >= 0 && device != here) {
    elsewhere = tensor;
    return true;
  }
  device = here;
  wrappers += !impl.key_set().has_any(kMathBits);
  readValue(*value);
  readLayout(impl);
  return true;
}

void CallReader::readLazy(torch::lazy::LTCTensorImpl &impl) {
  auto &data = static_cast<TensorData &>(*sharedData(impl));
  lazyTensors.emplace_back(operands.size(), &data);
  operands.emplace_back();
  addTag(hasher, KeyTag::Tensor);
  readLayout(impl);
}

void CallReader::readLayout(const c10::TensorImpl &impl) {
  if (!isRowMajor(impl.sizes(), impl.strides()))
    for (int64_t stride : impl.strides())
      addTag(hasher, KeyTag::Stride).add(uint64_t(stride));
  if (info.view)
    byteOffset = impl.storage_offset() * int64_t(impl.itemsize());
}

void CallReader::addNumber(DType type, uint64_t bits) {
  addTag(hasher, KeyTag::Scalar).add(uint64_t(type));
  Operand &operand = operands.emplace_back();
  operand.scalarType = type;
  operand.bits = bits;
}

/// Python's numbers come as CPU tensors; item() takes 0.2 us to look into one.
void CallReader::readWrappedNumber(const at::Tensor &number) {
  constexpr c10::DispatchKeySet plain{c10::DispatchKey::CPU,
                                      c10::DispatchKey::AutogradCPU,
                                      c10::DispatchKey::ADInplaceOrView};
  if ((number.key_set() - plain).empty()) {
    if (number.scalar_type() == at::kDouble)
      return addNumber(DType::F64, std::bit_cast<uint64_t>(
                                       *number.const_data_ptr<double>()));
    if (number.scalar_type() == at::kLong)
      return addNumber(DType::I64, uint64_t(*number.const_data_ptr<int64_t>()));
  }
  readNumber(number.item());
}

void CallReader::readNumber(const IValue &value) {
  if (value.isList()) {
    addTag(hasher, KeyTag::List).add(value.toListRef().size());
    for (const IValue &element : value.toListRef())
      readNumber(element);
  } else if (value.isDouble()) {
    addNumber(DType::F64, std::bit_cast<uint64_t>(value.toDouble()));
  } else if (value.isBool()) {
    addNumber(DType::Bool, value.toBool());
  } else {
    addNumber(DType::I64, uint64_t(value.toInt()));
  }
}

void CallReader::readSymbols(c10::SymIntArrayRef values) {
  if (auto integers = c10::asIntArrayRefSlowOpt(values))
    return readIntegers(*integers);
  addTag(hasher, KeyTag::List).add(values.size());
  for (const c10::SymInt &value : values)
    addAttribute(hasher, value);
}

/// As addAttribute() adds a list of them.
void CallReader::readIntegers(at::IntArrayRef values) {
  addTag(hasher, KeyTag::List).add(values.size());
  for (int64_t value : values)
    hasher.add(uint64_t(value));
}

void CallReader::readMask(c10::ArrayRef<bool> values) {
  addTag(hasher, KeyTag::List).add(values.size());
  for (bool value : values)
    addTag(hasher, KeyTag::Bool).add(value);
}

/// As read() reads a list of them.
void CallReader::readTensors(const at::ITensorListRef &tensors) {
  addTag(hasher, KeyTag::List).add(tensors.size());
  for (const at::Tensor &tensor : tensors)
    readTensor(tensor);
}

} // namespace ltc::backend
