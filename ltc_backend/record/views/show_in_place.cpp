//===- views/show_in_place.cpp - Tensors that become views ----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/views/show_in_place.h"

#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/record/views/math_bits.h"
#include "ltc_backend/record/views/replayed_view.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/map_tensors.h"
#include "ltc_backend/tensors/wrapper.h"

namespace ltc::backend {
namespace {
/// They go by what is inside a tensor and its arguments.
struct ShowInPlaceKernel : KernelOverride {
  using KernelOverride::KernelOverride;
  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    for (const c10::IValue &value :
         torch::jit::last(*stack, op.schema().arguments().size()))
      forEachTensor(value, [](const at::Tensor &t) { materialise(t); });
    stock.callBoxed(op, keys, stack);
  }
};

/// PyTorch's kernels note a view before they take it: one that is refused would
/// stay with the tensor. So they get a copy, which becomes self where they
/// succeed.
struct ViewInPlaceKernel final : ShowInPlaceKernel {
  using ShowInPlaceKernel::ShowInPlaceKernel;
  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    size_t count = op.schema().arguments().size();
    at::Tensor self = torch::jit::peek(*stack, 0, count).toTensor();
    if (!isFunctionalLazy(self))
      return stock.callBoxed(op, keys, stack);
    TORCH_CHECK(op.schema().name() != "aten::t_" || self.dim() <= 2,
                "t_() expects a tensor with <= 2 dimensions, but self is ",
                self.dim(), "D"); // the kernel names t()
    at::Tensor shown = shareStorage(self);
    torch::jit::peek(*stack, 0, count) = shown;
    ShowInPlaceKernel::operator()(op, keys, stack);
    self.unsafeGetTensorImpl()->shallow_copy_from(shown.getIntrusivePtr());
    renewPlaces(self);
    stack->back() = std::move(self);
  }
};

/// PyTorch's kernel forbids writes to what `self` was, and with it to all views
/// of that: to x itself, after x.set_(x).
struct SetKernel final : KernelOverride {
  using KernelOverride::KernelOverride;
  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    at::Tensor self = torch::jit::peek(*stack, 0, 2).toTensor();
    at::Tensor source = torch::jit::peek(*stack, 1, 2).toTensor();
    if (!isFunctionalLazy(self) || !isFunctionalLazy(source) ||
        self.device() != source.device())
      return stock.callBoxed(op, keys, stack);
    // In the words of Python's check, which C++ does without.
    TORCH_CHECK(self.dtype() == source.dtype(), "Could not set tensor of type ",
                source.dtype(), " to a tensor of type ", self.dtype());
    materialise(source);
    at::Tensor memory = shareStorage(source);
    copyMathBits(/*from=*/self, memory);
    self.unsafeGetTensorImpl()->shallow_copy_from(memory.getIntrusivePtr());
    torch::jit::drop(*stack, 2);
    stack->emplace_back(std::move(self));
  }
};
} // namespace

void registerShowInPlace(torch::Library &library) {
  implementBoxed<SetKernel>(library, "set_.source_Tensor",
                            atenOp("set_", "source_Tensor"));
  forEachAtenOp([&](const c10::OperatorHandle &op, const char *name) {
    std::string_view given = name;
    if (!op.hasKernelForDispatchKey(c10::DispatchKey::Functionalize))
      return;
    if (given.starts_with("set_") || given.starts_with("resize"))
      implementBoxed<ShowInPlaceKernel>(library, name, op);
    else if (op.hasTag(at::Tag::inplace_view))
      implementBoxed<ViewInPlaceKernel>(library, name, op);
  });
}

} // namespace ltc::backend
