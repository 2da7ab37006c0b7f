//===- views/replayed_view.cpp - Views that autograd takes again ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/views/replayed_view.h"

#include "ltc/freelist.h"
#include "ltc_backend/tensors/functional.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/VariableTypeUtils.h>

namespace ltc::backend {
using torch::autograd::CreationMeta;
using torch::autograd::DifferentiableViewMeta;
using torch::autograd::ViewFunc;
using torch::autograd::ViewInfo;

namespace {
using Metas = c10::SmallVector<std::shared_ptr<OwnViewMeta>, 4>;

class Replay final : public ViewFunc {
public:
  /// Without an op, the places always count.
  Replay(std::unique_ptr<ViewFunc> op, const at::Tensor &base,
         const at::Tensor &view)
      : op(std::move(op)), base(base), view(view) {}
  Replay(std::shared_ptr<OwnViewMeta> meta, const Shown &base,
         const Geometry &view)
      : base(base), view(view) {
    metas.push_back(std::move(meta));
  }
  /// One of our own views of another.
  Replay(const Replay &before, std::shared_ptr<OwnViewMeta> meta,
         const Geometry &view)
      : metas(before.metas), base(before.base), view(view) {
    metas.push_back(std::move(meta));
  }
  Replay(std::unique_ptr<ViewFunc> op, const Replay &like)
      : op(std::move(op)), metas(like.metas), base(like.base), view(like.view) {
  }

  static void *operator new(size_t) { return Freelist<Replay>().allocate(1); }
  static void operator delete(void *memory) {
    Freelist<Replay>().deallocate(static_cast<Replay *>(memory), 1);
  }

  at::Tensor operator()(const at::Tensor &from) const override {
    bool isSame = from.sizes() == base.sizes && from.strides() == base.strides;
    if (isSame && op)
      return (*op)(from);
    if (!isSame || metas.empty())
      return from.as_strided(view.sizes, view.strides,
                             view.offset - base.offset + from.storage_offset());
    at::Tensor shown = from;
    for (const auto &meta : metas)
      shown = meta->again(shown);
    return shown;
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

  std::unique_ptr<ViewFunc> op;
  Metas metas; ///< from the base on
  Geometry base, view;
};
} // namespace

/// PyTorch's views have one where they have a function that takes them again.
static at::Tensor noInverse(const at::Tensor &) {
  TORCH_CHECK_NOT_IMPLEMENTED(false,
                              "views on lazy devices have no reverse function");
}

static bool isReplay(const ViewFunc &function) {
  return typeid(function) == typeid(Replay);
}

/// How a view was taken, if by our own ones alone.
static const Replay *ownReplay(const DifferentiableViewMeta &meta) {
  if (!meta.shared_view_info())
    return nullptr;
  const ViewInfo &info = meta.get_backward_view();
  if (!info.has_view_fn() || !isReplay(info.view_fn()))
    return nullptr;
  auto &replay = static_cast<const Replay &>(info.view_fn());
  return replay.metas.empty() ? nullptr : &replay;
}

void showToAutograd(const at::Tensor &self, const Shown &from,
                    const at::Tensor &view, const Geometry &to,
                    std::shared_ptr<OwnViewMeta> meta) {
  auto creation = at::GradMode::is_enabled() ? CreationMeta::DEFAULT
                                             : CreationMeta::NO_GRAD_MODE;
  auto *selfMeta = torch::autograd::impl::get_view_autograd_meta(self);
  const Replay *before = selfMeta ? ownReplay(*selfMeta) : nullptr;
  auto replay = before ? std::make_unique<Replay>(*before, std::move(meta), to)
                       : std::make_unique<Replay>(std::move(meta), from, to);
  if (selfMeta && !before) {
    torch::autograd::as_view(self, view, /*is_bw_differentiable=*/true,
                             /*is_fw_differentiable=*/true, std::move(replay),
                             noInverse, creation);
    return keepPlaces(view);
  }
  ViewInfo info(before ? selfMeta->get_backward_view().base_ : self,
                std::move(replay), noInverse);
  if (before)
    creation = torch::autograd::propagate_creation_meta(
        selfMeta->get_creation_meta(), creation);
  c10::TensorImpl *impl = view.unsafeGetTensorImpl();
  impl->set_autograd_meta(std::make_unique<DifferentiableViewMeta>(
      impl, std::move(info), std::nullopt, /*shared_view_info=*/true,
      creation));
}

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
  ViewInfo *info = infoOf(view);
  if (info && !isReplay(info->view_fn()))
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
