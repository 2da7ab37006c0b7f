//===- views/view_op.h - Views as the recorder keeps them -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/current_source.h"
#include "ltc_backend/record/call_reader.h"
#include "ltc_backend/record/direct.h"
#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/record/recorder.h"
#include "ltc_backend/record/shape_rule.h"
#include "ltc_backend/tensors/deferred_view.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/lazy_tensor.h"
#include "ltc_backend/tensors/wrapper.h"

namespace ltc::backend {

/// One view op.
struct ViewOp {
  /// `shows` is the view that shows the same as an op without a form that
  /// copies.
  ViewOp(const char *name, const char *overload, const char *shows = nullptr)
      : view(atenOp(name, overload)),
        info(opInfo(
            atenOp(std::string(shows ? shows : name) + "_copy", overload))),
        stock(kernelOf(view, c10::DispatchKey::Functionalize)),
        forAutograd(kernelOf(view, c10::DispatchKey::ADInplaceOrView)),
        isView(info.handle.schema().name() == "aten::view_copy"),
        repeats(view.schema().name() == "aten::expand" ||
                view.schema().name() == "aten::unfold") {
    if (auto op = c10::Dispatcher::singleton().findSchema(
            {view.schema().name() + "_scatter", ""}))
      scatter = &opInfo(*op);
  }

  c10::OperatorHandle view;
  const OpInfo &info; ///< of the op that copies what the view shows
  /// The op that writes it back, where there is one.
  const OpInfo *scatter = nullptr;
  c10::KernelFunction stock;       ///< on the Functionalize key
  c10::KernelFunction forAutograd; ///< on the ADInplaceOrView key
  bool isView;                     ///< shows what aten::view does
  bool repeats;                    ///< may show a place of the base twice

  bool takesDirectly(const at::Tensor &self) const {
    return isFunctionalLazy(self) && isOrdinary(info);
  }
};

using Integers = c10::SmallVector<int64_t, 6>;

/// What functionalisation keeps of a view, to take it of any value of the base,
/// and to give the base what was written to it.
template <typename... Attributes> struct DirectViewMeta final : OwnViewMeta {
  template <typename... Known>
  explicit DirectViewMeta(const ViewOp &op, const Known &...attributes)
      : OwnViewMeta(/*hasInverse=*/!op.repeats), op(op),
        attributes(attributes...), source(currentSource()) {}

  bool takeKnown(Taking &taking) override {
    // Tensors that show the same, and views of them, share the node.
    auto node = latest.lock();
    if (!node || !node->pending || node->inputs[0].node != taking.value.node ||
        node->inputs[0].index != taking.value.index) {
      taking.held.push_back(std::move(node));
      CallReader call = reader(taking);
      auto shape = call.findShape();
      if (!shape)
        return false;
      node = addNode(call, taking.list, std::move(shape), source);
      latest = node;
    }
    taking.held.push_back(std::exchange(taking.value, {node}).node);
    return true;
  }

  bool learn(const Taking &taking) override {
    auto arguments = stackOf(makeTensor(taking.value, taking.device));
    std::string reason;
    auto shape = inferCall(op.info, arguments, reason);
    if (!shape || shape->results.size() != 1)
      return false;
    op.info.rememberCall(reader(taking).readValues(), std::move(shape));
    return true;
  }

  at::Tensor again(const at::Tensor &self) override {
    torch::jit::Stack stack = stackOf(self);
    op.view.callBoxed(&stack);
    return std::move(stack.back()).toTensor();
  }

  at::Tensor forward(const at::Tensor &base) override {
    return call(op.info, stackOf(base));
  }

  at::Tensor reverse(const at::Tensor &base,
                     const at::Tensor &mutated) override {
    if (op.scatter)
      return call(*op.scatter, stackOf(base, mutated));
    if (op.isView)
      return recordOne(op.info, {mutated, base.sizes()});
    // Only PyTorch's own view of the base knows the inverse.
    torch::jit::Stack stack = stackOf(makeWrapper(base));
    op.stock.callBoxed(op.view, stack[0].toTensor().key_set(), &stack);
    at::Tensor view = stack.back().toTensor();
    const auto &metas =
        at::functionalization::impl::unsafeGetFunctionalWrapper(view)
            ->view_metas();
    return metas.back()->reverse(base, mutated);
  }

private:
  CallReader reader(const Taking &taking) const {
    return std::apply(
        [&](const auto &...each) {
          return CallReader(op.info, taking.value, taking.device, each...);
        },
        attributes);
  }

  template <typename... Tensors>
  torch::jit::Stack stackOf(const Tensors &...tensors) const {
    return std::apply(
        [&](const auto &...each) {
          return torch::jit::Stack{c10::IValue(tensors)..., boxed(each)...};
        },
        attributes);
  }
  template <typename T> static c10::IValue boxed(const T &value) {
    return value;
  }
  static c10::IValue boxed(const Integers &values) {
    return at::IntArrayRef(values);
  }

  at::Tensor call(const OpInfo &info, torch::jit::Stack stack) const {
    if (isLazy(stack[0].toTensor()))
      return recordOne(info, std::move(stack));
    // overlap.cpp takes views of positions, which are on the host.
    info.handle.callBoxed(&stack);
    return std::move(stack.back()).toTensor();
  }

  const ViewOp &op;
  std::tuple<Attributes...> attributes;
  SourceId source;
  /// Of the value that was taken last, for as long as it is pending. Guarded by
  /// the list's lock.
  std::weak_ptr<OpNode> latest;
};

} // namespace ltc::backend
