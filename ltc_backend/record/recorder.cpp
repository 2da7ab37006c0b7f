//===- record/recorder.cpp - A torch op call becomes an LTC node ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The hot path: one call_key() over the arguments finds the CallShape of an
// earlier equal call, which holds everything but the operands.
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/recorder.h"

#include "ltc/settings.h"
#include "ltc_backend/backend.h"
#include "ltc_backend/graph/executor.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/custom_op.h"
#include "ltc_backend/record/lazy_tensor.h"

namespace ltc::backend {
using c10::IValue;

namespace {
/// Collects the operands of one call and the key of its CallShape.
class CallReader {
public:
  CallReader(const OpInfo &info, c10::ArrayRef<IValue> arguments) : info(info) {
    for (size_t i = 0; i < arguments.size(); ++i)
      read(info.arguments[i], arguments[i]);
    if (device < 0)
      device = currentDevice();
    for (auto &[position, tensor] : hostTensors)
      operands[position] = uploadOperand(tensor);
  }

  OpNode::Operands operands;
  int64_t device = -1;
  int64_t offset = 0; ///< into the storage of a view's base
  Hash128 key() const { return hasher.finish(); }

private:
  enum Tag : uint64_t {
    kNone = 1,
    kBool,
    kInt,
    kDouble,
    kString,
    kList,
    kTensor,
    kScalar,
    kDevice,
    kStride,
    kOther
  };

  void read(const ArgumentInfo &argument, const IValue &value) {
    switch (argument.kind) {
    case ArgumentKind::Placement:
      if (value.isDevice() && value.toDevice().has_index() && device < 0) {
        device = value.toDevice().index();
        if (device != 0)
          checkOrdinal(device);
      }
      return;
    case ArgumentKind::Tensor:
      return readTensor(value);
    case ArgumentKind::TensorList:
      if (value.isNone())
        return void(hasher.add(kNone));
      hasher.add(kList).add(value.toListRef().size());
      for (const IValue &element : value.toListRef())
        readTensor(element, /*comesAlong=*/argument.name == "indices");
      return;
    default:
      if (argument.lifts(value))
        return readNumber(value);
      return readAttribute(value);
    }
  }

  /// A scalar of the host may stand beside lazy tensors, as beside any
  /// device's; so may x[indices], which `comesAlong` to the device.
  void readTensor(const IValue &value, bool comesAlong = false) {
    if (!value.isTensor() || !value.toTensor().defined())
      return void(hasher.add(kNone));
    const at::Tensor &tensor = value.toTensor();
    if (torch::lazy::LTCTensorImpl *impl = lazyImpl(tensor))
      return readLazy(*impl);
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number() &&
        !tensor.is_complex())
      return readNumber(tensor.item());
    if (!tensor.is_cpu() || (tensor.dim() != 0 && !comesAlong))
      raise({ErrorCode::InvalidArgument, Stage::Record,
             "Expected all tensors to be on the same device, but found at "
             "least two devices, lazy:" +
                 std::to_string(std::max<int64_t>(device, 0)) + " and " +
                 tensor.device().str() + "!",
             info.name, sourceOf(currentSource()),
             "move it with .to('lazy') first"});
    bool isNumber = tensor.unsafeGetTensorImpl()->is_wrapped_number();
    hasher.add(isNumber ? kScalar : kTensor)
        .add(makeResultType(tensor.scalar_type(), tensor.sizes()).hash);
    hostTensors.emplace_back(operands.size(), tensor);
    operands.emplace_back();
  }

  void readLazy(torch::lazy::LTCTensorImpl &impl) {
    auto data = std::static_pointer_cast<TensorData>(impl.tensor()->data());
    int64_t ordinal = deviceOf(*data);
    if (device < 0)
      device = ordinal;
    else if (device != ordinal)
      raise({ErrorCode::InvalidArgument, Stage::Record,
             "Expected all tensors to be on the same device, but found at "
             "least two devices, lazy:" +
                 std::to_string(device) +
                 " and lazy:" + std::to_string(ordinal) + "!",
             info.name, sourceOf(currentSource()),
             "move one of them with .to(...)"});
    operands.push_back(operandOf(data));
    const Operand &operand = operands.back();
    hasher.add(kTensor).add(operand.ltc().result(operand.index).hash);
    if (!isRowMajor(impl.sizes(), impl.strides()))
      for (int64_t stride : impl.strides())
        hasher.add(kStride).add(uint64_t(stride));
    if (info.view)
      offset = impl.storage_offset();
  }

  void readNumber(const IValue &value) {
    if (value.isList()) {
      hasher.add(kList).add(value.toListRef().size());
      for (const IValue &element : value.toListRef())
        readNumber(element);
      return;
    }
    Operand operand;
    if (value.isDouble()) {
      double real = value.toDouble();
      std::memcpy(&operand.bits, &real, sizeof real);
    } else if (value.isBool()) {
      operand.scalarType = DType::Bool;
      operand.bits = value.toBool();
    } else {
      operand.scalarType = DType::I64;
      operand.bits = uint64_t(value.toInt());
    }
    hasher.add(kScalar).add(uint64_t(operand.scalarType));
    operands.push_back(std::move(operand));
  }

  void readAttribute(const IValue &value) {
    if (value.isNone())
      hasher.add(kNone);
    else if (value.isInt())
      hasher.add(kInt).add(uint64_t(value.toInt()));
    else if (value.isBool())
      hasher.add(kBool).add(value.toBool());
    else if (value.isDouble()) {
      double real = value.toDouble();
      uint64_t bits;
      std::memcpy(&bits, &real, sizeof bits);
      hasher.add(kDouble).add(bits);
    } else if (value.isString())
      hasher.add(kString).add(std::string_view(value.toStringRef()));
    else if (value.isIntList()) {
      // The commonest list by far, without boxing its elements.
      auto list = value.toIntList();
      hasher.add(kList).add(list.size());
      for (size_t i = 0; i < list.size(); ++i)
        hasher.add(uint64_t(list.get(i)));
    } else if (value.isList()) {
      hasher.add(kList).add(value.toListRef().size());
      for (const IValue &element : value.toListRef())
        readAttribute(element);
    } else {
      std::ostringstream text;
      text << value;
      hasher.add(kOther).add(std::string_view(text.str()));
    }
  }

  Operand uploadOperand(const at::Tensor &tensor) {
    return {std::make_shared<DataNode>(upload(tensor, device))};
  }

  const OpInfo &info;
  Hasher hasher;
  c10::SmallVector<std::pair<size_t, at::Tensor>, 1> hostTensors;
};
} // namespace

static Operand seedOperand(c10::ArrayRef<IValue> arguments) {
  Operand seed;
  seed.scalarType = DType::I64;
  seed.bits = drawSeed(arguments);
  return seed;
}

static void pushResults(torch::jit::Stack &stack,
                        const std::shared_ptr<OpNode> &node, int64_t offset) {
  size_t index = 0;
  auto next = [&] {
    const Layout &layout = node->result(index).layout;
    at::Tensor bare = makeTensor(node, index++, layout);
    if (offset)
      bare.unsafeGetTensorImpl()->set_storage_offset(offset + layout.offset);
    return wrap(bare);
  };
  for (int kind : node->call->returns) {
    if (kind == CallShape::kUndefined) {
      stack.emplace_back(at::Tensor());
    } else if (kind == CallShape::kTensor) {
      stack.emplace_back(next());
    } else {
      c10::List<at::Tensor> list;
      for (int i = 0; i < kind; ++i)
        list.push_back(next());
      stack.emplace_back(std::move(list));
    }
  }
}

static void boundPending(int64_t device) {
  PendingList &list = pendingList(device);
  if (list.nodes > size_t(settings().max_pending_ops))
    markStep(device, /*wait=*/false);
}

void record(const OpInfo &info, torch::jit::Stack &stack) {
  if (customOpsWait.load(std::memory_order_relaxed)) [[unlikely]]
    adoptCustomOps();
  if (!info.fallbackReason.empty())
    return runFallback(info, stack, info.fallbackReason);
  auto arguments = torch::jit::last(stack, info.arguments.size());
  if (info.random && drawEagerly(info, stack))
    return;

  CallReader call(info, arguments);
  Hash128 key = call.key();
  std::shared_ptr<const CallShape> shape = info.findCall(key);
  if (!shape) {
    std::string reason;
    shape = inferCall(info, arguments, reason);
    if (!shape)
      return runFallback(info, stack, reason);
    info.rememberCall(key, shape);
  }
  if (info.random)
    call.operands.push_back(seedOperand(arguments));

  static Counter &recorded = counter("record.ops");
  recorded.add();
  auto node = std::make_shared<OpNode>(
      std::move(shape), std::move(call.operands), currentSource(), call.device);
  torch::jit::drop(stack, info.arguments.size());
  pushResults(stack, node, call.offset);
  boundPending(call.device);
}

at::Tensor recordOne(const OpInfo &info, torch::jit::Stack stack) {
  c10::impl::ExcludeDispatchKeyGuard bare(c10::DispatchKey::Functionalize);
  record(info, stack);
  return stack.at(0).toTensor();
}

} // namespace ltc::backend
