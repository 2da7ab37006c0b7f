//===- writes/in_place_list.cpp - In-place ops of lists -------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/writes/in_place_list.h"

#include "ltc_backend/record/direct.h"
#include "ltc_backend/record/map_tensors.h"
#include "ltc_backend/record/over_stock.h"
#include "ltc_backend/record/writes/write_check.h"

#include <ATen/ExpandUtils.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace ltc::backend {
namespace {
using c10::DispatchKey;
using c10::IValue;

/// Eager's kernels of lists call the in-place op of each tensor, which counts
/// for autograd: what it has saved is not to be used after a write.
void countWrites(const IValue &list) {
  if (!c10::impl::tls_is_dispatch_key_excluded(DispatchKey::ADInplaceOrView))
    for (const IValue &self : list.toListRef())
      self.toTensor().unsafeGetTensorImpl()->bump_version();
}

bool isComplexNumber(const IValue &value) {
  return value.isComplexDouble() ||
         (value.isList() &&
          std::ranges::any_of(value.toListRef(), isComplexNumber));
}

bool areLazy(const IValue &list) {
  return std::ranges::all_of(list.toListRef(), [](const IValue &value) {
    return isFunctionalLazy(value.toTensor());
  });
}

/// Whether results may not go to what they are assigned to: not those of floats
/// of its shape.
bool mayNotFit(c10::ArrayRef<IValue> arguments) {
  auto selves = arguments[0].toListRef();
  bool found = false;
  for (const IValue &value : arguments) {
    size_t i = 0;
    forEachTensor(value, [&](const at::Tensor &tensor) {
      size_t position = i++;
      if (position >= selves.size())
        return void(found = true);
      const at::Tensor &self = selves[position].toTensor();
      found |= !tensor.is_floating_point() ||
               (value.isList() &&
                !at::is_expandable_to(tensor.sizes(), self.sizes()));
    });
    found |= isComplexNumber(value);
  }
  return found;
}

/// torch._foreach_add_ and its like: PyTorch's kernel, unless all tensors can
/// be updated directly. That one makes everything fit.
class ListKernel final : public OverStock {
public:
  ListKernel(const c10::OperatorHandle &op, const OpInfo &twin)
      : OverStock(op), info(twin), check(op) {}

  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    auto values = torch::jit::last(*stack, info.arguments.size());
    const IValue list = values[0];
    if (update(list, values)) {
      torch::jit::drop(*stack, info.arguments.size());
    } else {
      if (areLazy(list) && mayNotFit(values))
        check.askOnce(values);
      stock.callBoxed(op, keys, stack);
    }
    countWrites(list);
  }

private:
  bool update(const IValue &list, c10::ArrayRef<IValue> values) const {
    c10::SmallVector<const at::Tensor *, 8> selves;
    for (const IValue &self : list.toListRef())
      selves.push_back(&self.toTensor());
    auto isDirect = [](const at::Tensor *self) {
      return isFunctionalLazy(*self) && isAlone(*self);
    };
    if (!isOrdinary(info) || !std::ranges::all_of(selves, isDirect))
      return false;
    CallReader call(info, values);
    return updateDirectly(selves, call);
  }

  const OpInfo &info; ///< of the twin
  WriteCheck check;
};
} // namespace

void registerInPlaceList(torch::Library &library, const char *name,
                         const c10::OperatorHandle &op,
                         const c10::OperatorHandle &twin) {
  implementBoxed<ListKernel>(library, name, op, opInfo(twin));
}

} // namespace ltc::backend
