//===- record/direct_transfer.cpp - Casts and copies, directly ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/direct_transfer.h"

#include "ltc_backend/record/direct.h"
#include "ltc_backend/record/over_stock.h"
#include "ltc_backend/record/untracked.h"
#include "ltc_backend/record/views/math_bits.h"
#include "ltc_backend/record/wrapper.h"

namespace ltc::backend {
using at::MemoryFormat;
using at::Tensor;
using c10::DispatchKeySet;
using c10::IValue;

static const OpInfo &toCopyInfo() {
  static const OpInfo &info = opInfo("aten::_to_copy", "");
  return info;
}

/// Whether its value can be taken as it is inside.
static bool isPlain(const Tensor &tensor) {
  return isFunctionalLazy(tensor) && !hasMathBits(tensor);
}

/// As transfer.cpp records it.
static CallReader readCast(const Tensor &self, at::ScalarType type) {
  return CallReader(toCopyInfo(), self, IValue(type), IValue(), IValue(),
                    IValue(), IValue(false), IValue());
}

static Tensor valueOf(const Tensor &self) {
  settle(self);
  return at::functionalization::impl::from_functional_tensor(self);
}

static Tensor toCopy(const Tensor &self, std::optional<at::ScalarType> dtype,
                     std::optional<at::Layout> layout,
                     std::optional<at::Device> device, std::optional<bool>,
                     bool, std::optional<MemoryFormat> format) {
  auto wanted = format.value_or(MemoryFormat::Preserve);
  if (!isPlain(self) || !isOrdinary(toCopyInfo()) ||
      layout.value_or(at::kStrided) != at::kStrided ||
      device.value_or(self.device()) != self.device() ||
      (wanted != MemoryFormat::Preserve &&
       wanted != MemoryFormat::Contiguous) ||
      !isRowMajor(self.sizes(), self.strides()))
    return {};
  at::ScalarType type = dtype.value_or(self.scalar_type());
  if (type == self.scalar_type())
    return makeWrapper(sameValue(valueOf(self), Layout()));
  CallReader call = readCast(self, type);
  Tensor cast = recordDirectly(call);
  if (!cast.defined())
    return {};
  if (!isRowMajor(cast.sizes(), cast.strides())) [[unlikely]]
    setLayout(*cast.unsafeGetTensorImpl(), cast.sizes(), Layout());
  return makeWrapper(cast);
}

static bool wroteCopy(const Tensor &self, const Tensor &source) {
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
static void registerToCopy(torch::Library &library,
                           Tensor (*direct)(Args... arguments)) {
  c10::OperatorHandle op = atenOp("_to_copy");
  auto stock = std::make_shared<OverStock>(op);
  library.impl("_to_copy",
               torch::CppFunction([op, stock, direct](DispatchKeySet keys,
                                                      Args... arguments) {
                 if (Tensor result = direct(arguments...); result.defined())
                   return result;
                 return kernelInside(stock->stock)
                     .template call<Tensor, Args...>(op, keys, arguments...);
               }));
  registerUntrackedOp<Args...>("_to_copy", op, direct);
}

static void registerCopy(torch::Library &library) {
  c10::OperatorHandle op = atenOp("copy_");
  auto stock = std::make_shared<OverStock>(op);
  library.impl("copy_",
               torch::CppFunction([op, stock](DispatchKeySet keys, Tensor &self,
                                              const Tensor &source,
                                              bool nonBlocking) -> Tensor & {
                 if (wroteCopy(self, source))
                   return self;
                 return kernelInside(stock->stock)
                     .call<Tensor &, Tensor &, const Tensor &, bool>(
                         op, keys, self, source, nonBlocking);
               }));
  registerUntracked<Tensor &, Tensor &, const Tensor &, bool>("copy_", op);
}

void registerDirectTransfers(torch::Library &library) {
  registerToCopy(library, toCopy);
  registerCopy(library);
}

} // namespace ltc::backend
