//===- record/direct_view.cpp - Views met before, without detours ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/direct_view.h"

#include "ltc_backend/record/direct.h"
#include "ltc_backend/record/recorder.h"

#include <ATen/FunctionalTensorWrapper.h>
#include <c10/core/InferenceMode.h>

namespace ltc::backend {
namespace {
namespace functional = at::functionalization;
using c10::DispatchKey;
using c10::IValue;
using c10::SymInt;

/// One view op.
struct ViewOp {
  explicit ViewOp(const c10::OperatorHandle &view)
      : view(view), info(opInfo(find("_copy", overloadOf(view)).value())),
        stock(view.getComputedKernelForDispatchKey(DispatchKey::Functionalize)),
        isView(view.schema().name() == "aten::view") {
    if (auto op = find("_scatter", ""))
      scatter = &opInfo(*op);
  }

  c10::OperatorHandle view;
  const OpInfo &info; ///< of the op that copies what the view shows
  /// The op that writes it back, where there is one.
  const OpInfo *scatter = nullptr;
  c10::SafeKernelFunction stock; ///< on the Functionalize key
  bool isView;                   ///< aten::view itself

private:
  static std::string overloadOf(const c10::OperatorHandle &op) {
    return op.schema().overload_name();
  }
  std::optional<c10::OperatorHandle> find(const char *suffix,
                                          const std::string &overload) const {
    return c10::Dispatcher::singleton().findSchema(
        {view.schema().name() + suffix, overload});
  }
};

/// What functionalisation keeps of a view, to take it again of another value of
/// the base, and to give the base what was written to it.
struct DirectViewMeta final : functional::ViewMeta {
  DirectViewMeta(const ViewOp &op, std::vector<IValue> attributes)
      : ViewMeta(/*has_symbolic_inputs=*/false), op(op),
        attributes(std::move(attributes)) {}

  at::Tensor forward(const at::Tensor &base) override {
    torch::jit::Stack stack = room();
    stack.emplace_back(base);
    return call(op.info, std::move(stack));
  }

  at::Tensor reverse(const at::Tensor &base,
                     const at::Tensor &mutated) override {
    torch::jit::Stack stack = room();
    if (op.scatter) {
      stack.emplace_back(base);
      stack.emplace_back(mutated);
      return call(*op.scatter, std::move(stack));
    }
    if (op.isView)
      return recordOne(op.info, {mutated, base.sizes()});
    // Only PyTorch's own view of the base knows the inverse.
    stack.emplace_back(functional::impl::to_functional_tensor(base));
    stack.insert(stack.end(), attributes.begin(), attributes.end());
    op.stock.callBoxed(op.view, stack[0].toTensor().key_set(), &stack);
    at::Tensor view = std::move(stack.back()).toTensor();
    const auto &metas =
        functional::impl::unsafeGetFunctionalWrapper(view)->view_metas();
    return metas.back()->reverse(base, mutated);
  }

private:
  torch::jit::Stack room() const {
    torch::jit::Stack stack;
    stack.reserve(attributes.size() + 2);
    return stack;
  }

  at::Tensor call(const OpInfo &info, torch::jit::Stack stack) const {
    stack.insert(stack.end(), attributes.begin(), attributes.end());
    if (isLazy(stack[0].toTensor()))
      return recordOne(info, std::move(stack));
    // overlap.cpp takes views of positions, which are on the host.
    info.handle.callBoxed(&stack);
    return std::move(stack.back()).toTensor();
  }

  const ViewOp &op;
  std::vector<IValue> attributes;
};

/// What a call's key is made of; none for a size that is a symbol.
std::optional<IValue> known(int64_t value) { return IValue(value); }
std::optional<IValue> known(const SymInt &value) {
  auto integer = value.maybe_as_int();
  return integer ? std::optional<IValue>(*integer) : std::nullopt;
}
std::optional<IValue> known(const std::optional<SymInt> &value) {
  return value ? known(*value) : std::optional(IValue());
}
std::optional<at::IntArrayRef> known(at::IntArrayRef values) { return values; }
std::optional<at::IntArrayRef> known(c10::SymIntArrayRef values) {
  return c10::asIntArrayRefSlowOpt(values);
}

/// Undefined if the view cannot be taken directly.
template <typename... Known>
at::Tensor takeView(const ViewOp &op, const at::Tensor &self,
                    const std::optional<Known> &...attributes) {
  if (!(attributes.has_value() && ...))
    return {};
  CallReader call(op.info, self, *attributes...);
  at::Tensor bare = recordDirectly(call);
  if (!bare.defined())
    return {};
  return at::detail::make_tensor<at::FunctionalTensorWrapper>(
      bare, functional::impl::unsafeGetFunctionalWrapper(self),
      std::make_shared<DirectViewMeta>(
          op, std::vector<IValue>{IValue(*attributes)...}));
}

template <typename... Args>
void add(torch::Library &library, const char *name, const char *overload) {
  auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(
      (std::string("aten::") + name).c_str(), overload);
  // Never destroyed: views may outlive the library.
  auto *op = new ViewOp(handle);
  auto kernel = [op](c10::DispatchKeySet keys, const at::Tensor &self,
                     Args... args) {
    // Inference mode has a kernel of its own in front of the stock one, and so
    // has view(), which refuses some strides.
    if (isFunctionalLazy(self) && isOrdinary(op->info) &&
        !c10::InferenceMode::is_enabled() &&
        !(op->isView && !self.is_contiguous()))
      if (at::Tensor view = takeView(*op, self, known(args)...); view.defined())
        return view;
    torch::jit::Stack stack{IValue(self), IValue(args)...};
    op->stock.callBoxed(op->view, keys, &stack);
    return std::move(stack.back()).toTensor();
  };
  std::string full = name;
  if (*overload)
    full += std::string(".") + overload;
  library.impl(full.c_str(), torch::CppFunction(kernel));
}
} // namespace

void registerDirectViews(torch::Library &library) {
  // expand, unfold and as_strided are not here: see overlap.h.
  using Start = std::optional<SymInt>;
  add<int64_t, Start, Start, SymInt>(library, "slice", "Tensor");
  add<int64_t, SymInt>(library, "select", "int");
  add<c10::SymIntArrayRef>(library, "view", "");
  add<>(library, "t", "");
  add<int64_t, int64_t>(library, "transpose", "int");
  add<at::IntArrayRef>(library, "permute", "");
  add<int64_t>(library, "unsqueeze", "");
  add<int64_t>(library, "squeeze", "dim");
}

} // namespace ltc::backend
