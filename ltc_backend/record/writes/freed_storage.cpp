//===- writes/freed_storage.cpp - Storages without memory -----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/writes/freed_storage.h"

#include "ltc_backend/convert.h"
#include "ltc_backend/graph/failed_nodes.h"
#include "ltc_backend/record/writes/write_value.h"
#include "ltc_backend/tensors/bare_tensor.h"
#include "ltc_backend/tensors/deferred_view.h"
#include "ltc_backend/tensors/device_data.h"

#include <ATen/ATen.h>

namespace ltc::backend {

/// A value that takes no memory, and that nobody may read.
static at::Tensor noValue(const at::Tensor &base) {
  TensorType type{*toDType(base.scalar_type()), base.sizes().vec()};
  Error reason{
      ErrorCode::InvalidArgument,
      Stage::Execute,
      "the storage of a " + type.str() +
          " tensor was freed by resize_(0), and read since",
      {},
      {},
      "make memory for it, storage.resize_(...), and write its values"};
  int64_t device = base.device().index();
  return makeTensor(std::make_shared<DeviceData>(
                        device,
                        torch::lazy::Shape(base.scalar_type(), base.sizes()),
                        unrunBuffer(type, std::move(reason))),
                    device);
}

bool resizeStorage(const at::Tensor &tensor, int64_t bytes) {
  at::AutoDispatchSkipFunctionalize below;
  auto lock = lockStorages();
  auto &storage = storageOf(tensor);
  const at::Tensor &base = materialisedBase(storage);
  auto whole = int64_t(base.numel() * base.itemsize());
  if (bytes != 0 && bytes != whole)
    return false;
  if (bytes == int64_t(storage.nbytes()))
    return true;
  // Zeros that are all overwritten are never computed.
  writeBase(tensor,
            bytes ? at::zeros(base.sizes(), base.options()) : noValue(base));
  storage.set_nbytes(size_t(bytes));
  return true;
}

} // namespace ltc::backend
