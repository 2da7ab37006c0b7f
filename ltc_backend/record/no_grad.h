//===- record/no_grad.h - Calls that autograd has no part in ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Autograd's kernel of a call without gradients still holds a tensor, which
// takes the GIL twice, guards, and dispatches anew: a seventh of an op's
// instructions. Kernels in front of it go on to what comes below, and stand
// back where somebody has put another kernel in its place.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/record/views/replayed_view.h"
#include "ltc_backend/torch_private.h"

namespace ltc::backend {

/// Whether functionalisation comes next after autograd.
bool isFunctionalisedNext(c10::DispatchKeySet keys);

/// Whether either mode of autograd follows what becomes of the tensor.
bool isTracked(const at::Tensor &tensor);
inline bool isTracked(const std::optional<at::Tensor> &tensor) {
  return tensor && isTracked(*tensor);
}
bool isTracked(const at::ITensorListRef &tensors);
inline bool isTracked(at::TensorList tensors) {
  return isTracked(at::ITensorListRef(tensors));
}
template <typename T> bool isTracked(const T &) { return false; }

/// A kernel on AutogradLazy in front of the op's for any device's autograd.
struct AutogradOverride : KernelOverride {
  explicit AutogradOverride(const c10::OperatorHandle &op);
  /// Whether autograd's kernel is the one that was met first.
  bool isStock() const;
  /// What would be called if this were not.
  template <typename Result, typename... Args>
  Result callAutograd(c10::DispatchKeySet keys, Args... arguments) const {
    return current.call<Result, Args...>(op, keys, arguments...);
  }
  c10::OperatorHandle op;

private:
  /// The op's kernel for a device that has no autograd of its own.
  const c10::KernelFunction &current;
};

/// Whether the op has a kernel of autograd's, and none of ours before it.
bool isLeftToAutograd(const c10::OperatorHandle &op);
/// Aten's on the AutogradLazy key.
torch::Library &autogradLibrary();

/// For an op that has a function which gives the result, or an undefined tensor
/// where the call has to go the long way. `name` is the op's without the
/// namespace.
template <typename... Args, typename Direct>
void registerNoGradOp(const char *name, const c10::OperatorHandle &op,
                      Direct direct) {
  if (!isLeftToAutograd(op))
    return;
  auto stock = std::make_shared<AutogradOverride>(op);
  implement(autogradLibrary(), name,
            [stock, direct](c10::DispatchKeySet keys, Args... arguments) {
              if (isFunctionalisedNext(keys) &&
                  !(isTracked(arguments) || ...) && stock->isStock())
                if (at::Tensor result = direct(arguments...); result.defined())
                  return result;
              return stock->callAutograd<at::Tensor, Args...>(keys,
                                                              arguments...);
            });
}

/// For in-place ops and views of several parts, which have a kernel for that
/// below autograd's. (Other views: direct_view.cpp; ops with a direct kernel:
/// direct.cpp.)
template <typename Result, typename... Args>
void registerNoGrad(const char *name, const c10::OperatorHandle &op) {
  using c10::DispatchKey;
  if (!isLeftToAutograd(op) ||
      !op.hasKernelForDispatchKey(DispatchKey::ADInplaceOrView))
    return;
  struct Kernel : AutogradOverride {
    explicit Kernel(const c10::OperatorHandle &op)
        : AutogradOverride(op),
          below(kernelOf(op, DispatchKey::ADInplaceOrView)) {}
    c10::KernelFunction below;
  };
  auto kernel = std::make_shared<Kernel>(op);
  implement(
      autogradLibrary(), name,
      [kernel](c10::DispatchKeySet keys, Args... arguments) -> Result {
        c10::DispatchKeySet rest = keys & c10::after_autograd_keyset;
        if (rest.highestPriorityTypeId() != DispatchKey::ADInplaceOrView ||
            (isTracked(arguments) || ...) || !kernel->isStock()) {
          auto &&result = kernel->template callAutograd<Result, Args...>(
              keys, arguments...);
          if constexpr (!std::is_reference_v<Result>)
            keepPlaces(result);
          return std::forward<Result>(result);
        }
        return kernel->below.template call<Result, Args...>(kernel->op, rest,
                                                            arguments...);
      });
}

} // namespace ltc::backend
