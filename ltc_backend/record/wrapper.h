//===- record/wrapper.h - The tensors that programs hold --------*- C++ -*-===//
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
// wrappers' own. Any thread, as far as PyTorch's tensors allow.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/core/stack.h>
#include <torch/library.h>

namespace ltc::backend {

/// What functionalisation keeps of a view that is taken here.
struct OwnViewMeta : at::functionalization::ViewMeta {
  explicit OwnViewMeta(size_t index, bool hasInverse = true)
      : ViewMeta(/*has_symbolic_inputs=*/false, /*is_multi_output=*/false,
                 /*is_as_strided=*/false, int64_t(index)),
        hasInverse(hasInverse) {}
  at::Tensor forward(const at::Tensor &base) final {
    return taken.defined() ? std::exchange(taken, {}) : take(base);
  }

  at::Tensor taken;      ///< what forward() returns the next time, if defined
  const bool hasInverse; ///< whether reverse() is right (see overlap.h)

protected:
  /// Takes the view, bare, of a bare tensor.
  virtual at::Tensor take(const at::Tensor &base) = 0;
};

/// Wraps a bare lazy tensor.
at::Tensor makeWrapper(const at::Tensor &bare);

/// Wraps a view of the functional tensor `self`, which is up to date. PyTorch
/// takes one of a storage that was ever written to for out of date at once, and
/// takes it again when it is read; this one is not.
at::Tensor makeView(const at::Tensor &bare, const at::Tensor &self,
                    const std::shared_ptr<OwnViewMeta> &meta);

/// Another tensor of the same storage, which shows of it what `self` does.
at::Tensor shareStorage(const at::Tensor &self);

/// Calls PyTorch's kernel on the Functionalize key, with wrappers like these in
/// the place of those that it makes.
void callStock(const c10::SafeKernelFunction &stock,
               const c10::OperatorHandle &op, c10::DispatchKeySet keys,
               torch::jit::Stack &stack);
/// Puts that in front of the kernels of ops which have one of their own on the
/// Lazy key and make new tensors. `library` is aten's on the Functionalize key.
void registerWrappers(torch::Library &library);

} // namespace ltc::backend
