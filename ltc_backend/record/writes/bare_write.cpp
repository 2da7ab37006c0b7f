//===- writes/bare_write.cpp - Writes below functionalisation -------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functionalisation leaves no writes, but it hands an op that it does not know
// to its kernel as it is, and that kernel may write to tensors of its own. Such
// a write goes up once more: wrapped, functionalised, and its results assigned.
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/writes/bare_write.h"

#include "ltc_backend/current_source.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/tensors/lazy_tensor.h"
#include "ltc_backend/tensors/map_tensors.h"
#include "ltc_backend/tensors/schema.h"
#include "ltc_backend/tensors/wrapper.h"

namespace ltc::backend {
namespace {
namespace functional = at::functionalization::impl;
using c10::IValue;

void refuseShared(const at::Tensor &bare) {
  if (!bare.defined() || functional::isFunctionalTensor(bare) ||
      !isLazy(bare) || !tensorData(bare)->isShared)
    return;
  raise({ErrorCode::Unsupported, Stage::Record,
         "a kernel of its own, such as a custom op's, writes to a tensor that "
         "it has taken a view of, or to the view",
         "", sourceOf(currentSource()),
         "register the kernel for CompositeImplicitAutograd, or let it write "
         "to a clone"});
}

/// The bare tensors of one call, each with its wrapper.
class Wrappers {
public:
  at::Tensor wrap(const at::Tensor &bare) {
    if (!bare.defined() || functional::isFunctionalTensor(bare) ||
        !isLazy(bare))
      return bare;
    for (auto &[known, wrapper] : pairs)
      if (known.is_same(bare))
        return wrapper;
    return pairs.emplace_back(bare, makeWrapper(bare)).second;
  }

  at::Tensor unwrap(const at::Tensor &wrapper) {
    for (auto &[bare, known] : pairs)
      if (known.is_same(wrapper))
        return bare;
    if (!wrapper.defined() || !functional::isFunctionalTensor(wrapper))
      return wrapper;
    materialise(wrapper);
    return functional::from_functional_tensor(wrapper);
  }

  /// Gives the bare tensors the values of wrappers that have others inside now.
  void assignAll() {
    for (auto &[bare, wrapper] : pairs) {
      materialise(wrapper);
      TensorDataPtr data = tensorData(bare);
      TensorDataPtr value =
          tensorData(functional::from_functional_tensor(wrapper));
      if (value == data)
        continue;
      refuseShared(bare);
      assign(data, operandOf(value));
      setLayout(*bare.unsafeGetTensorImpl(), wrapper.sizes(),
                layoutOf(wrapper));
    }
  }

private:
  std::vector<std::pair<at::Tensor, at::Tensor>> pairs;
};
} // namespace

void writeBare(const c10::OperatorHandle &op, torch::jit::Stack &stack) {
  Wrappers wrappers;
  torch::jit::Stack call =
      torch::jit::pop(stack, op.schema().arguments().size());
  // To the size that it has it writes nothing.
  bool isResize = op.schema().name() == "aten::resize_";
  for (size_t i = 0; i < call.size(); ++i)
    if (isWritten(op.schema().arguments()[i]) && !isResize)
      forEachTensor(call[i], refuseShared);
  for (IValue &value : call)
    value = mapTensors(
        value, [&](const at::Tensor &tensor) { return wrappers.wrap(tensor); });
  {
    auto local = c10::impl::tls_local_dispatch_key_set();
    local.excluded_ = local.excluded_.remove(c10::DispatchKey::Functionalize);
    c10::impl::ForceDispatchKeyGuard functionalize(local);
    op.callBoxed(&call);
  }
  wrappers.assignAll();
  for (const IValue &value : call)
    stack.push_back(mapTensors(value, [&](const at::Tensor &tensor) {
      return wrappers.unwrap(tensor);
    }));
}

void noteBareView(const c10::OperatorHandle &op,
                  c10::ArrayRef<IValue> arguments,
                  c10::ArrayRef<IValue> results) {
  auto note = [](const at::Tensor &tensor) {
    if (tensor.defined() && isLazy(tensor))
      tensorData(tensor)->isShared = true;
    return tensor;
  };
  const auto &schema = op.schema();
  for (size_t i = 0; i < arguments.size(); ++i)
    if (schema.arguments()[i].alias_info())
      mapTensors(arguments[i], note);
  for (const IValue &result : results)
    mapTensors(result, note);
}

} // namespace ltc::backend
