//===- host/quantized.cpp - Quantized tensors of a lazy device ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/host/quantized.h"

#include <ATen/quantized/QTensorImpl.h>

namespace ltc::backend {
using c10::DispatchKey;
using c10::Storage;

static void release(void *hostStorage) {
  delete static_cast<Storage *>(hostStorage);
}

static Storage storageOn(c10::Device device, const Storage &host) {
  auto *held = new Storage(host);
  c10::DataPtr memory(host.mutable_data(), held, &release, device);
  return {Storage::use_byte_size_t(), host.nbytes(), std::move(memory),
          /*allocator=*/nullptr, /*resizable=*/false};
}

static const Storage &hostStorage(const at::Tensor &tensor) {
  const c10::DataPtr &memory = tensor.storage().data_ptr();
  TORCH_INTERNAL_ASSERT(memory.get_deleter() == &release);
  return *static_cast<const Storage *>(memory.get_context());
}

static at::QTensorImpl &implOf(const at::Tensor &tensor) {
  return static_cast<at::QTensorImpl &>(*tensor.unsafeGetTensorImpl());
}

static at::Tensor show(Storage storage, DispatchKey key,
                       const at::Tensor &like) {
  auto tensor = at::detail::make_tensor<at::QTensorImpl>(
      std::move(storage), c10::DispatchKeySet(key), like.dtype(),
      implOf(like).quantizer());
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(
      like.sizes(), like.strides(), like.storage_offset());
  return tensor;
}

at::Tensor quantizedOn(c10::Device device, const at::Tensor &cpu,
                       c10::ArrayRef<at::Tensor> like) {
  for (const at::Tensor &other : like)
    if (hostStorage(other).is_alias_of(cpu.storage()))
      return show(other.storage(), DispatchKey::QuantizedLazy, cpu);
  return show(storageOn(device, cpu.storage()), DispatchKey::QuantizedLazy,
              cpu);
}

at::Tensor quantizedOnHost(const at::Tensor &tensor) {
  return show(hostStorage(tensor), DispatchKey::QuantizedCPU, tensor);
}

void assignQuantized(const at::Tensor &tensor, const at::Tensor &cpu) {
  at::QTensorImpl &impl = implOf(tensor);
  if (!hostStorage(tensor).is_alias_of(cpu.storage()))
    impl.set_storage_keep_dtype(storageOn(tensor.device(), cpu.storage()));
  impl.set_quantizer_(implOf(cpu).quantizer());
  impl.set_sizes_and_strides(cpu.sizes(), cpu.strides(), cpu.storage_offset());
}

} // namespace ltc::backend
