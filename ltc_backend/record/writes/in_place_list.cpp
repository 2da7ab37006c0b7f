//===- writes/in_place_list.cpp - In-place ops of lists -------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/writes/in_place_list.h"

#include "ltc_backend/record/direct.h"
#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/record/ops/mixed_list.h"
#include "ltc_backend/record/ops/packed_numbers.h"
#include "ltc_backend/record/writes/write_check.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/map_tensors.h"
#include "ltc_backend/tensors/schema.h"
#include "ltc_backend/tensors/wrapper.h"

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

/// Whether a tensor that is written to shares memory with one at another place
/// of the lists, which eager's kernels come to later, or came to before.
bool areCrossed(c10::ArrayRef<IValue> arguments) {
  auto storageOf = [](const at::Tensor &tensor) -> const void * {
    return tensor.defined() && tensor.has_storage()
               ? tensor.unsafeGetTensorImpl()
                     ->unsafe_storage()
                     .unsafeGetStorageImpl()
               : nullptr;
  };
  c10::SmallVector<std::pair<const void *, size_t>, 16> written;
  for (const IValue &self : arguments[0].toListRef())
    written.emplace_back(storageOf(self.toTensor()), written.size());
  if (written.size() < 2)
    return false;
  std::ranges::sort(written);
  for (size_t i = 1; i < written.size(); ++i)
    if (written[i - 1].first == written[i].first)
      return true;
  bool found = false;
  for (const IValue &value : arguments.slice(1)) {
    size_t place = value.isList() ? 0 : written.size();
    forEachTensor(value, [&](const at::Tensor &tensor) {
      const void *storage = storageOf(tensor);
      auto same = std::ranges::lower_bound(written, std::pair(storage, 0ul));
      found |= storage && same != written.end() && same->first == storage &&
               same->second != place;
      ++place;
    });
  }
  return found;
}

bool areOfTwoDevices(c10::ArrayRef<IValue> arguments) {
  std::optional<c10::Device> first;
  bool found = false;
  for (const IValue &value : arguments)
    forEachTensor(value, [&](const at::Tensor &tensor) {
      found |= first.value_or(tensor.device()) != tensor.device();
      first = tensor.device();
    });
  return found;
}

/// torch._foreach_add_ and its like: PyTorch's kernel, unless all tensors can
/// be updated directly. That one makes everything fit, and computes everything
/// before it writes.
class ListKernel final : public KernelOverride {
public:
  ListKernel(const c10::OperatorHandle &op, const OpInfo &twin)
      : KernelOverride(op), info(twin), check(op) {}

  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    if (calledWithNumbers(op, *stack))
      return;
    auto values = torch::jit::last(*stack, info.arguments.size());
    // A copy: the stack is popped before its last use.
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
    const IValue list = values[0];
    if (info.name == "aten::_foreach_copy" && areOfTwoDevices(values) &&
        areSideBySide(values)) {
      copyEach(list.toListRef(), values[1].toListRef(), values[2].toBool());
      return torch::jit::drop(*stack, values.size());
    }
    if (isMixed(values) && areSideBySide(values)) {
      std::vector<IValue> all = torch::jit::pop(*stack, values.size());
      for (size_t i = 0; i < list.toListRef().size(); ++i) {
        torch::jit::Stack call = alone(all, i);
        op.callBoxed(&call);
      }
      return;
    }
    if (areCrossed(values) && areSideBySide(values)) {
      std::vector<IValue> all = torch::jit::pop(*stack, values.size());
      return callAlone(op, keys, all, list.toListRef().size());
    }
    try {
      if (!update(list, values)) {
        if (areLazy(list) && mayNotFit(values))
          check.askOnce(values);
        torch::jit::Stack call{list};
        for (const IValue &value : values.slice(1))
          call.push_back(mapTensors(value, materialised));
        stock.callBoxed(op, keys, &call);
      }
    } catch (const c10::Error &) {
      callThoseBefore(op, keys, values);
      throw;
    } catch (const std::runtime_error &) { // of a number that does not fit
      callThoseBefore(op, keys, values);
      throw;
    }
    torch::jit::drop(*stack, values.size());
    countWrites(list);
  }

private:
  static void copyEach(c10::ArrayRef<IValue> selves,
                       c10::ArrayRef<IValue> sources, bool nonBlocking) {
    for (size_t i = 0; i < selves.size(); ++i)
      selves[i].toTensor().copy_(sources[i].toTensor(), nonBlocking);
  }

  /// With the first `count` tensors of the lists, one after the other.
  void callAlone(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                 c10::ArrayRef<IValue> arguments, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      torch::jit::Stack call = alone(arguments, i);
      (*this)(op, keys, &call);
    }
  }

  /// What eager refuses at one tensor, it has done to those before.
  void callThoseBefore(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                       c10::ArrayRef<IValue> arguments) {
    size_t count = arguments[0].toListRef().size();
    if (count < 2 || !areSideBySide(arguments))
      return;
    try {
      callAlone(op, keys, arguments, count - 1);
    } catch (const std::exception &) { // the same again, of one of them
    }
  }

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

bool wroteOneByOne(const c10::OperatorHandle &op, torch::jit::Stack &stack) {
  const auto &schema = op.schema().arguments();
  auto arguments = torch::jit::last(stack, schema.size());
  auto isList = [](const IValue &value) { return value.isList(); };
  if (!op.schema().returns().empty() || !isWritten(schema[0]) ||
      !arguments[0].isTensorList() ||
      std::ranges::any_of(arguments.slice(1), isList) ||
      !areCrossed(arguments.slice(0, 1)))
    return false;
  std::vector<IValue> all = torch::jit::pop(stack, schema.size());
  for (size_t i = 0; i < all[0].toListRef().size(); ++i) {
    torch::jit::Stack call = alone(c10::ArrayRef(all).slice(0, 1), i);
    call.insert(call.end(), all.begin() + 1, all.end());
    op.callBoxed(&call);
  }
  return true;
}

} // namespace ltc::backend
