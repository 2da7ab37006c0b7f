//===- views/storage_view.h - All of a storage as a tensor ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The storage of a functional tensor has no memory: it has a base, whose value
// is all of it. Who wants bytes of a storage gets a view of that.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"

#include <torch/library.h>

#include <optional>

namespace ltc::backend {

/// All of a lazy tensor's storage, with the dimensions in memory's order; if it
/// is asked for as another dtype than the base has, flat and of that. Raises
/// where there are gaps in the storage, or elements that overlap.
at::Tensor storageView(const c10::Storage &storage, at::ScalarType type);

/// All that eager's storage of a lazy tensor holds now, flat, in the dtype it
/// was made with, as a tensor of its own. None for any other tensor, and where
/// there are gaps in the storage.
LTC_API std::optional<at::Tensor> storageValues(const at::Tensor &self);

/// set_() of a storage, and of nothing. `library` is aten's on the
/// Functionalize key.
void registerSetStorage(torch::Library &library);

} // namespace ltc::backend
