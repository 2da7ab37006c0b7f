//===- record/direct_transfer.cpp - Casts and copies, directly ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/direct_transfer.h"

#include "ltc_backend/record/direct.h"
#include "ltc_backend/record/immediate_call.h"
#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/record/no_grad.h"
#include "ltc_backend/record/transfer.h"
#include "ltc_backend/tensors/deferred_view.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/lazy_tensor.h"
#include "ltc_backend/tensors/wrapper.h"

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>

namespace ltc::backend {
using at::MemoryFormat;
using at::Tensor;
using c10::DispatchKeySet;
using c10::IValue;

static const OpInfo &toCopyInfo() {
  static const OpInfo &info = opInfo("aten::_to_copy", "");
  return info;
}

/// As transfer.cpp records it.
static CallReader readCast(const Tensor &self, at::ScalarType type) {
  return CallReader(toCopyInfo(), self, IValue(type), IValue(), IValue(),
                    IValue(), IValue(false), IValue());
}

static Tensor valueOf(const Tensor &self) {
  return at::functionalization::impl::from_functional_tensor(
      materialised(self));
}

/// Whether a new tensor of this one's sizes is beside it and row-major too.
static bool staysBeside(const Tensor &self, std::optional<at::Layout> layout,
                        std::optional<at::Device> device,
                        std::optional<MemoryFormat> format) {
  auto wanted = format.value_or(MemoryFormat::Preserve);
  const Shown shown = shownBy(self);
  return layout.value_or(at::kStrided) == at::kStrided &&
         (!device || *device == self.device()) &&
         (wanted == MemoryFormat::Preserve ||
          wanted == MemoryFormat::Contiguous) &&
         isRowMajor(shown.sizes, shown.strides);
}

static Tensor toCopy(const Tensor &self, std::optional<at::ScalarType> dtype,
                     std::optional<at::Layout> layout,
                     std::optional<at::Device> device,
                     std::optional<bool> pinMemory, bool nonBlocking,
                     std::optional<MemoryFormat> format) {
  std::array<Tensor, 1> made;
  if (runAtOnce<1, Tensor, std::optional<at::ScalarType>,
                std::optional<at::Layout>, std::optional<at::Device>,
                std::optional<bool>, bool, std::optional<MemoryFormat>>(
          toCopyInfo(), made, self, dtype, layout, device, pinMemory,
          nonBlocking, format))
    return makeWrapper(made[0]);
  if (!isPlain(self) || !isOrdinary(toCopyInfo()) ||
      !staysBeside(self, layout, device, format))
    return {};
  at::ScalarType type = dtype.value_or(self.scalar_type());
  if (type == self.scalar_type())
    return makeWrapper(sameValue(valueOf(self), Layout()));
  CallReader call = readCast(self, type);
  Tensor cast = recordBare(call);
  if (!cast.defined())
    return {};
  if (!isRowMajor(cast.sizes(), cast.strides())) [[unlikely]]
    setLayout(*cast.unsafeGetTensorImpl(), cast.sizes(), Layout());
  return makeWrapper(cast);
}

/// PyTorch's kernel does not keep the order of the dimensions for a tensor of
/// ours that has gaps.
static bool hasGaps(const Tensor &self, std::optional<at::Layout> layout,
                    std::optional<MemoryFormat> format) {
  return isFunctionalLazy(self) &&
         layout.value_or(at::kStrided) == at::kStrided &&
         format.value_or(MemoryFormat::Preserve) == MemoryFormat::Preserve &&
         !self.is_non_overlapping_and_dense();
}

static Tensor emptyLike(const Tensor &self, std::optional<at::ScalarType> dtype,
                        std::optional<at::Layout> layout,
                        std::optional<at::Device> device,
                        std::optional<bool> pinMemory,
                        std::optional<MemoryFormat> format) {
  // As transfer.cpp's memory without values is recorded.
  static const OpInfo &zeros = opInfo("aten::zeros", "");
  if (hasGaps(self, layout, format)) [[unlikely]]
    return at::empty_strided(
        self.sizes(), at::infer_dense_strides(self.sizes(), self.strides()),
        dtype.value_or(self.scalar_type()), layout,
        device.value_or(self.device()), pinMemory);
  if (!isFunctionalLazy(self) || pinMemory.value_or(false) ||
      fillsForDeterminism() || !isOrdinary(zeros) ||
      !staysBeside(self, layout, device, format))
    return {};
  CallReader call(zeros, CallReader::Makes(), self.sizes(),
                  IValue(dtype.value_or(self.scalar_type())), IValue(),
                  IValue(self.device()), IValue());
  Tensor made = recordFactory(call);
  return made.defined() ? makeNewWrapper(made) : made;
}

bool wroteCopy(const Tensor &self, const Tensor &source) {
  if (!isPlain(self) || !isPlain(source) || !isOrdinary(toCopyInfo()))
    return false;
  if (self.is_same(source))
    return true;
  // The long way warns of an imaginary part that is lost.
  if (!isAlone(self) || self.device() != source.device() ||
      self.is_complex() != source.is_complex() ||
      self.sizes() != source.sizes())
    return false;
  if (source.scalar_type() == self.scalar_type())
    return takeValue(self, valueOf(source));
  CallReader call = readCast(source, self.scalar_type());
  return replaceDirectly(self, call);
}

template <typename... Args>
static void registerDirect(torch::Library &library, const char *name,
                           Tensor (*direct)(Args... arguments)) {
  c10::OperatorHandle op = atenOp(name);
  auto stock = std::make_shared<KernelOverride>(op);
  library.impl(name, torch::CppFunction([op, stock, direct](DispatchKeySet keys,
                                                            Args... arguments) {
                 if (Tensor result = direct(arguments...); result.defined())
                   return result;
                 return stock->stock.call<Tensor, Args...>(op, keys,
                                                           arguments...);
               }));
  registerNoGradOp<Args...>(name, op, direct);
}

/// item() of a tensor, whose value is read as it is inside.
static void registerDirectNumber(torch::Library &library) {
  const char *name = "_local_scalar_dense";
  c10::OperatorHandle op = atenOp(name);
  auto stock = std::make_shared<KernelOverride>(op);
  implement(library, name,
            [op, stock](DispatchKeySet keys, const Tensor &self) -> at::Scalar {
              if (at::Tensor value = valueAtOnce(self); value.defined())
                return at::_local_scalar_dense(value);
              if (isPlain(self) && isUnwatched(toCopyInfo())) {
                materialise(self); // a view that is read again has its value
                return readNumber(
                    at::functionalization::impl::from_functional_tensor(self));
              }
              return stock->stock.call<at::Scalar, const Tensor &>(op, keys,
                                                                   self);
            });
}

void registerDirectTransfers(torch::Library &library) {
  registerDirectNumber(library);
  registerDirect(library, "_to_copy", toCopy);
  registerDirect(library, "empty_like", emptyLike);
}

} // namespace ltc::backend
