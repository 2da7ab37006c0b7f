//===- views/replayed_view.cpp - Views that autograd takes again ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/views/replayed_view.h"

#include "ltc_backend/record/direct.h"
#include "ltc_backend/record/views/view_geometry.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/variable.h>

namespace ltc::backend {
using torch::autograd::ViewFunc;
using torch::autograd::ViewInfo;

namespace {
class Replay final : public ViewFunc {
public:
  /// Without an op, the places always count.
  Replay(std::unique_ptr<ViewFunc> op, const at::Tensor &base,
         const at::Tensor &view)
      : op(std::move(op)), base(base), view(view) {}
  Replay(std::unique_ptr<ViewFunc> op, const Replay &like)
      : op(std::move(op)), base(like.base), view(like.view) {}

  at::Tensor operator()(const at::Tensor &from) const override {
    if (op && from.sizes() == base.sizes && from.strides() == base.strides)
      return (*op)(from);
    return from.as_strided(view.sizes, view.strides,
                           view.offset - base.offset + from.storage_offset());
  }

  std::unique_ptr<ViewFunc>
  clone_and_set(std::optional<std::vector<c10::SymInt>> symbols,
                std::optional<std::vector<at::Tensor>> tensors) const override {
    return std::make_unique<Replay>(
        op ? op->clone_and_set(std::move(symbols), std::move(tensors))
           : nullptr,
        *this);
  }
  std::vector<c10::SymInt> get_symints() const override {
    return op ? op->get_symints() : ViewFunc::get_symints();
  }
  size_t num_symints() const override { return op ? op->num_symints() : 0; }
  std::vector<at::Tensor> get_tensors() const override {
    return op ? op->get_tensors() : ViewFunc::get_tensors();
  }
  size_t num_tensors() const override { return op ? op->num_tensors() : 0; }

private:
  std::unique_ptr<ViewFunc> op;
  Geometry base, view;
};
} // namespace

/// What autograd knows of a view; null if it is none, is taken by places
/// anyway, or is one of a tensor that has no such sizes, as jagged ones.
static ViewInfo *infoOf(const at::Tensor &view) {
  auto *meta = torch::autograd::impl::get_view_autograd_meta(view);
  if (!meta || !meta->has_bw_view())
    return nullptr;
  const ViewInfo &info = meta->get_backward_view();
  return info.has_view_fn() && isFunctionalLazy(info.base_) &&
                 isFunctionalLazy(view)
             ? const_cast<ViewInfo *>(&info)
             : nullptr;
}

void keepPlaces(const at::Tensor &view) {
  if (ViewInfo *info = infoOf(view))
    info->view_fn_ =
        std::make_unique<Replay>(std::move(info->view_fn_), info->base_, view);
}

void keepPlaces(const std::vector<at::Tensor> &views) {
  for (const at::Tensor &view : views)
    keepPlaces(view);
}

void renewPlaces(const at::Tensor &self) {
  if (ViewInfo *info = infoOf(self))
    info->view_fn_ = std::make_unique<Replay>(nullptr, info->base_, self);
}

} // namespace ltc::backend
