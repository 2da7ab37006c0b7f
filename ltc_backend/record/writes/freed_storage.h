//===- writes/freed_storage.h - Storages without memory ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"

#include <ATen/core/Tensor.h>

namespace ltc::backend {

/// `storage.resize_(0)` frees the memory of all tensors of a storage, which
/// keep their sizes and cannot be read; resize_() to its whole length makes
/// memory of any contents, to write to. FSDP does so with gathered parameters.
/// `tensor` is any of the storage's. False, and nothing done, for other
/// lengths.
LTC_API bool resizeStorage(const at::Tensor &tensor, int64_t bytes);

} // namespace ltc::backend
