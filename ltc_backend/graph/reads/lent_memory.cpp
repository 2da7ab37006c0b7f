//===- reads/lent_memory.cpp - Device memory in other hands -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/reads/lent_memory.h"

#include "ltc_backend/graph/reads/read.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/tensors/deferred_view.h"
#include "ltc_backend/tensors/device_data.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/layout.h"
#include "ltc_backend/waiting.h"

#include <ATen/ATen.h>

namespace ltc::backend {

/// Whether what the tensor shows of its storage can be found in the memory of
/// the storage's base.
static bool liesAsInEager(const at::Tensor &tensor, const at::Tensor &base) {
  return base.dtype() == tensor.dtype() && base.storage_offset() == 0 &&
         isRowMajor(base.sizes(), base.strides());
}

at::Tensor lendMemory(const at::Tensor &tensor) {
  at::Tensor owner = tensor;
  c10::DimVector strides = c10::contiguous_strides(tensor.sizes());
  int64_t offset = 0;
  if (isFunctionalLazy(tensor)) {
    auto lock = lockStorages();
    materialise(tensor);
    if (at::Tensor base = materialisedBase(storageOf(tensor));
        liesAsInEager(tensor, base)) {
      owner = base;
      strides = tensor.strides();
      offset = tensor.storage_offset() * int64_t(tensor.itemsize());
    }
  }
  std::shared_ptr<DeviceData> data = readyData(owner);
  waitFor(*data->buffer());
  raiseIfFailed(data->buffer()->wait());
  auto *memory = static_cast<const char *>(data->buffer()->hostPointer());
  if (!memory)
    return {};
  return at::from_blob(
      const_cast<char *>(memory) + offset, tensor.sizes(), strides,
      [data](void *) {}, at::device(at::kCPU).dtype(tensor.dtype()));
}

} // namespace ltc::backend
