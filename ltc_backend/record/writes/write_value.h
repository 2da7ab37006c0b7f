//===- writes/write_value.h - Tensors get new values ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functionalisation puts another tensor in the place of the one inside what is
// written to, and of its base's. A thread that reads either just then, without
// a lock, would find memory that has been freed. Here both stay, for as long as
// the tensor is not resized or shown otherwise, and get the new value.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/Tensor.h>

namespace ltc::backend {

/// Gives a functional lazy tensor, and the base that it is a view of, the value
/// of a bare one of its sizes and device, cast to its dtype. Any thread; what
/// several write to different parts of a base all stays.
void writeValue(const at::Tensor &self, at::Tensor value);

/// The same of all of the base, with the storages' lock.
void writeBase(const at::Tensor &view, const at::Tensor &value);

} // namespace ltc::backend
