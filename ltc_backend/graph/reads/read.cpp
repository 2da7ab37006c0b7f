//===- reads/read.cpp - The values of lazy tensors ------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/reads/read.h"

#include "ltc_backend/graph/executor.h"
#include "ltc_backend/graph/results.h"
#include "ltc_backend/graph/sync_cause.h"
#include "ltc_backend/tensors/deferred_view.h"
#include "ltc_backend/tensors/lazy_tensor.h"

namespace ltc::backend {

std::shared_ptr<DeviceData> readyData(const at::Tensor &tensor) {
  materialise(tensor);
  TensorDataPtr data = tensorData(tensor);
  std::shared_ptr<DeviceData> ready = deviceData(*data);
  // Another thread may write to it between a sync and the next look.
  while (!ready) {
    sync(deviceOf(*data), /*wait=*/false, data);
    ready = deviceData(*data);
  }
  return ready;
}

at::Tensor toCpu(const at::Tensor &tensor) {
  SyncCause cause(profile::Cause::Read);
  return download(*readyData(tensor));
}

} // namespace ltc::backend
