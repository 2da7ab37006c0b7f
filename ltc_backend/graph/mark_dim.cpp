//===- graph/mark_dim.cpp - What a program knows of its sizes -------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/backend.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/lazy_tensor.h"

#include <ATen/WrapDimUtils.h>

namespace ltc::backend {

void markDim(const at::Tensor &tensor, int64_t dim, DimMark::Kind kind) {
  if (!isLazy(tensor))
    raise({ErrorCode::InvalidArgument,
           Stage::Record,
           "cannot mark a dimension of a tensor that is " +
               (tensor.defined() ? "on " + tensor.device().str()
                                 : std::string("undefined")) +
               "; wanted is a lazy one",
           "",
           {},
           "move it with .to('lazy') first"});
  auto wrapped = uint32_t(at::maybe_wrap_dim(dim, tensor.dim(), false));
  std::shared_ptr<DeviceData> data = readyData(tensor);
  std::lock_guard lock(pendingList(data->device().ordinal()).mutex);
  std::erase_if(data->marks,
                [&](const auto &mark) { return mark.first == wrapped; });
  data->marks.emplace_back(wrapped, kind);
}

} // namespace ltc::backend
