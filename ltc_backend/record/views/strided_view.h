//===- views/strided_view.h - Views that ask about strides ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"

#include <torch/library.h>

#include <optional>

namespace ltc::backend {

/// All that eager's storage of a lazy tensor holds now, flat, in the dtype it
/// was made with, as a tensor of its own. None for any other tensor, and where
/// there are gaps in the storage.
LTC_API std::optional<at::Tensor> storageValues(const at::Tensor &self);

/// Whether a functional tensor is a view that takes its storage for another
/// dtype.
bool changesElements(const at::Tensor &self);

/// view() refuses what its strides cannot do, and as_strided() looks at the
/// storage under its tensor. `library` is aten's on the Functionalize key.
void registerStridedViews(torch::Library &library);

} // namespace ltc::backend
