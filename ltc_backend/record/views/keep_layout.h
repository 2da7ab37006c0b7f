//===- views/keep_layout.h - Writes that leave strides alone ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/record/views/layout.h"

#include <ATen/FunctionalTensorWrapper.h>
#include <c10/util/SmallVector.h>

namespace ltc::backend {

at::functionalization::FunctionalStorageImpl &storageOf(const at::Tensor &view);

/// Functionalisation gives a tensor that is written to a new value, and with it
/// the new value's strides. This gives back the old ones to the tensors it was
/// told of and to what they are views of, unless the write resized them.
class LayoutKeeper {
public:
  /// What a tensor that the write resized reports.
  enum class Resized { AsComputed, RowMajor };
  explicit LayoutKeeper(Resized resized = Resized::AsComputed)
      : resized(resized) {}
  /// `written` may be any tensor; only functional ones are remembered.
  void add(const at::Tensor &written);
  void restore() const;

private:
  struct Kept {
    at::Tensor tensor;
    c10::SmallVector<int64_t, 5> sizes;
    Layout own, base; ///< a tensor that is no view is its own base
    bool isView = false;
  };
  c10::SmallVector<Kept, 1> kept;
  Resized resized;
};

} // namespace ltc::backend
