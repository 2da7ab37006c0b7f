//===- tensors/wrapper.h - The tensors that programs hold -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functionalisation's wrapper hands out the sizes of the value inside, which a
// later read exchanges for another one if the storage was written to. Kernels
// of several ops hold on to the sizes of their arguments, as they may in eager:
// there they stay where they are for as long as the tensor lives. So do these
// wrappers' own, and a view has them before it has a value. Any thread, as far
// as PyTorch's tensors allow.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/deferred_view.h"
#include "ltc_backend/tensors/view_geometry.h"

#include <ATen/FunctionalTensorWrapper.h>

namespace ltc::backend {

/// Wraps a bare lazy tensor.
at::Tensor makeWrapper(const at::Tensor &bare);

/// The same for what a function such as zeros() makes: PyTorch copies that if
/// it shares its version counter, as wrappers do with what is inside.
at::Tensor makeNewWrapper(const at::Tensor &bare);

/// Whether a kernel on the Lazy key is called from outside functionalisation.
bool isWrappedHere();
/// Wraps for functionalisation then.
at::Tensor wrap(const at::Tensor &bare);

/// A view of the functional tensor `self`, of which nothing is recorded before
/// its value is asked for: many views are only there to take another one of.
/// Undefined if what is inside self is no plain lazy tensor. It is one of
/// inference mode if self is. The view has no version counter: autograd gives
/// views their base's.
at::Tensor makeView(const at::Tensor &self, const Geometry &geometry,
                    std::shared_ptr<OwnViewMeta> meta);

/// Gives a view that autograd does not take part in a counter of its own;
/// tensors of inference mode have none.
void countVersions(const at::Tensor &view);

/// Makes a view a tensor of inference mode if `self` is one, and an ordinary
/// one if not, whatever mode it was taken in.
void shareInference(const at::Tensor &self, const at::Tensor &view);

/// What a functional tensor shows of its memory.
Shown shownBy(const at::Tensor &self);

/// Whether makeWrapper() and its like made it, and not PyTorch.
bool isWrapper(const c10::TensorImpl &impl);

/// Whether it is what data() gave of a leaf that had a gradient.
bool isDataOfUpdated(const c10::TensorImpl &impl);

/// Another tensor of the same storage, which shows of it what `self` does.
at::Tensor shareStorage(const at::Tensor &self);

/// `tensor` with all writes to its storage, for who reads the value inside; in
/// the place of a view another one. A view that only ops read thus gets no
/// value of its own, be the call one that was met before or not, which would be
/// a result of the graph; and PyTorch's kernels may exchange what is inside.
at::Tensor materialised(const at::Tensor &tensor);

} // namespace ltc::backend
