//===- views/replayed_view.h - Views that autograd takes again --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After a write, autograd takes a view of its base again: in eager by
// as_strided(), for devices that PyTorch knows to be without strides by the op
// that made it. That op would give something else of a base that has become
// another view of its memory since (x.t_()), or for a view that has. Then the
// places of the view's elements count here, too. PyTorch keeps an object for
// each view of a chain, with copies of those for the ones before, and a
// function for the inverse that holds them all: of our own views the ops are
// enough.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/deferred_view.h"
#include "ltc_backend/tensors/view_geometry.h"

#include <vector>

namespace ltc::backend {

/// Makes `view`, which has just been taken of `self`, one of autograd's, as the
/// kernel on ADInplaceOrView would. `from` and `to` are what both show now.
void showToAutograd(const at::Tensor &self, const Shown &from,
                    const at::Tensor &view, const Geometry &to,
                    std::shared_ptr<OwnViewMeta> meta);

/// Of a view that has just been taken with gradients; nothing if the above has
/// done it.
void keepPlaces(const at::Tensor &view);
void keepPlaces(const std::vector<at::Tensor> &views);

/// Of a tensor that has become another view in place; nothing if it was none.
void renewPlaces(const at::Tensor &self);

} // namespace ltc::backend
