//===- tensor_slot.cpp - A reusable tensor over borrowed memory -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tensor_slot.h"

#include "../convert.h"
#include "overloads.h"

#include <ATen/EmptyTensor.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/TensorImpl.h>

namespace ltc::backend {

static at::IntArrayRef sizesOf(const KernelView &view) {
  return {view.sizes, view.rank};
}
static at::IntArrayRef stridesOf(const KernelView &view) {
  return {view.strides, view.rank};
}

static void reshape(const at::Tensor &tensor, const KernelView &view) {
  at::TensorImpl *impl = tensor.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(sizesOf(view), stridesOf(view));
  impl->unsafe_storage().set_nbytes(at::detail::computeStorageNbytes(
      sizesOf(view), stridesOf(view), impl->itemsize()));
}

/// By whom a kernel has memory allocated there.
static c10::Allocator *allocatorOf(at::Device device) {
  return device.is_cpu() ? c10::GetCPUAllocator()
                         : c10::GetAllocator(device.type());
}

at::Tensor borrow(const KernelView &view, at::Device device) {
  at::Storage storage(at::Storage::use_byte_size_t(), 0,
                      at::DataPtr(view.data, device), allocatorOf(device),
                      /*resizable=*/true);
  auto tensor = at::detail::make_tensor<at::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(denseKeyOf(device)),
      c10::scalarTypeToTypeMeta(toScalarType(view.dtype)));
  reshape(tensor, view);
  return tensor;
}

/// A kernel may say so of a result instead of changing its elements.
static bool isLazilyNegated(const at::Tensor &tensor) {
  return tensor.is_conj() || tensor.is_neg();
}

const at::Tensor &TensorSlot::point(const KernelView &view) {
  // A kernel may have kept the tensor or its memory (a view of it): then those
  // must not see other data, and a new one is made.
  bool ours = tensor.defined() && tensor.use_count() == 1 &&
              tensor.storage().use_count() == 1 &&
              tensor.storage_offset() == 0 && !isLazilyNegated(tensor) &&
              tensor.scalar_type() == toScalarType(view.dtype);
  if (!ours) {
    tensor = borrow(view, device);
    return tensor;
  }
  if (tensor.sizes() != sizesOf(view) || tensor.strides() != stridesOf(view))
    reshape(tensor, view);
  tensor.storage().unsafeGetStorageImpl()->set_data_ptr_noswap(
      at::DataPtr(view.data, device));
  return tensor;
}

bool TensorSlot::isStill(const KernelView &view) const {
  return tensor.const_data_ptr() == view.data && !isLazilyNegated(tensor) &&
         tensor.sizes() == sizesOf(view) && tensor.strides() == stridesOf(view);
}

std::string describe(const KernelView &view) {
  if (!view.isScalar)
    return TensorType{view.dtype, {view.sizes, view.sizes + view.rank}}.str();
  std::string value = view.dtype == DType::F64 ? std::to_string(view.real)
                                               : std::to_string(view.integer);
  return ValueType::scalar(view.dtype).str() + " " + value;
}

} // namespace ltc::backend
