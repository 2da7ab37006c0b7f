//===- views/storage_view.cpp - All of a storage as a tensor --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/views/storage_view.h"

#include "ltc_backend/current_source.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/record/views/math_bits.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/lazy_tensor.h"
#include "ltc_backend/tensors/wrapper.h"

#include <ATen/ATen.h>

#include <numeric>

namespace ltc::backend {
using at::Tensor;
namespace functional = at::functionalization;

/// The elements of `flat`, as many as there are whole ones, taken for a dtype.
static Tensor takenFor(Tensor flat, at::ScalarType type) {
  if (flat.scalar_type() == type)
    return flat;
  int64_t size = int64_t(flat.itemsize()),
          wanted = int64_t(c10::elementSize(type));
  int64_t bytes = flat.numel() * size / wanted * wanted;
  return flat.slice(0, 0, bytes / size).view(type);
}

static Tensor baseOf(const c10::Storage &storage) {
  auto lock = lockStorages();
  auto &impl = static_cast<functional::FunctionalStorageImpl &>(
      *storage.unsafeGetStorageImpl());
  return materialisedBase(impl);
}

Tensor storageView(const c10::Storage &storage, at::ScalarType type) {
  Tensor base = makeWrapper(baseOf(storage));
  base.unsafeGetTensorImpl()->set_storage_keep_dtype(storage);
  bool isOwn = base.scalar_type() == type;
  if (isRowMajor(base.sizes(), base.strides()))
    return isOwn ? base : takenFor(base.view(-1), type);
  if (!base.is_non_overlapping_and_dense())
    raise({ErrorCode::Unsupported, Stage::Record,
           "as_strided() of a tensor whose storage has gaps or overlaps",
           "aten::as_strided", sourceOf(currentSource()),
           "as_strided() of x.contiguous()"});
  std::vector<int64_t> order(base.dim());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(),
                           [&](int64_t dim) { return base.stride(dim); });
  base = base.permute(order);
  return isOwn ? base : takenFor(base.view(-1), type);
}

std::optional<Tensor> storageValues(const Tensor &self) {
  if (!isFunctionalLazy(self))
    return std::nullopt;
  Tensor base = baseOf(self.storage());
  if (base.storage_offset() != 0 || !base.is_non_overlapping_and_dense())
    return std::nullopt;
  Tensor values = makeWrapper(sameValue(base, layoutOf(base)));
  return values.as_strided({base.numel()}, {1}, 0);
}

/// In eager's words.
static void checkIsOfDevice(const c10::Storage &storage, at::Device device) {
  TORCH_CHECK(storage.device() == device,
              "Attempted to set the storage of a tensor on device \"", device,
              "\" to a storage on different device \"", storage.device(),
              "\".  This is no longer allowed; the devices must match.");
}

/// Makes a tensor show what another one shows, memory and all.
static void become(const Tensor &self, const Tensor &shown) {
  Tensor same = shareStorage(shown);
  copyMathBits(/*from=*/self, same);
  self.unsafeGetTensorImpl()->shallow_copy_from(same.getIntrusivePtr());
}

namespace {
/// PyTorch's kernels want a storage with memory, and take any device's.
struct SetStorageKernel final : KernelOverride {
  using KernelOverride::KernelOverride;
  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    size_t count = op.schema().arguments().size();
    auto arguments = torch::jit::last(*stack, count);
    Tensor self = arguments[0].toTensor();
    if (!isFunctionalLazy(self))
      return stock.callBoxed(op, keys, stack);
    at::AutoDispatchBelowADInplaceOrView belowAutograd;
    become(self, count == 1 ? at::empty({0}, self.options())
                            : shown(self, arguments));
    torch::jit::drop(*stack, count);
    stack->emplace_back(std::move(self));
  }

private:
  static Tensor shown(const Tensor &self,
                      c10::ArrayRef<c10::IValue> arguments) {
    c10::Storage storage = arguments[1].toStorage();
    checkIsOfDevice(storage, self.device());
    Tensor all = storageView(storage, self.scalar_type());
    if (arguments.size() == 2)
      return all.view(-1);
    int64_t offset = arguments[2].toInt();
    std::vector<int64_t> size = arguments[3].toIntVector(),
                         strides = arguments[4].toIntVector();
    int64_t end = offset + c10::multiply_integers(size);
    bool isDense = strides.empty() || isRowMajor(size, strides);
    if (isDense && offset >= 0 && end <= all.numel()) // may be another dtype
      return all.view(-1).slice(0, offset, end).view(size);
    if (strides.empty()) {
      auto dense = c10::contiguous_strides(size);
      strides.assign(dense.begin(), dense.end());
    }
    return all.as_strided(size, strides, offset);
  }
};
} // namespace

void registerSetStorage(torch::Library &library) {
  for (const char *overload :
       {"", "source_Storage", "source_Storage_storage_offset"}) {
    std::string name = *overload ? std::string("set_.") + overload : "set_";
    implementBoxed<SetStorageKernel>(library, name.c_str(),
                                     atenOp("set_", overload));
  }
}

} // namespace ltc::backend
