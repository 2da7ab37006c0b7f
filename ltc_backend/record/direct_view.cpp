//===- record/direct_view.cpp - Views met before, without detours ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/direct_view.h"

#include "ltc_backend/record/direct.h"
#include "ltc_backend/record/map_tensors.h"
#include "ltc_backend/record/recorder.h"
#include "ltc_backend/record/recycled.h"
#include "ltc_backend/record/wrapper.h"

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
        isView(view.schema().name() == "aten::view"),
        repeats(view.schema().name() == "aten::expand" ||
                view.schema().name() == "aten::unfold") {
    if (auto op = find("_scatter", ""))
      scatter = &opInfo(*op);
  }

  c10::OperatorHandle view;
  const OpInfo &info; ///< of the op that copies what the view shows
  /// The op that writes it back, where there is one.
  const OpInfo *scatter = nullptr;
  c10::SafeKernelFunction stock; ///< on the Functionalize key
  bool isView;                   ///< aten::view itself
  bool repeats;                  ///< may show a place of the base twice

  /// Inference mode has a kernel of its own in front of the stock one, and so
  /// has view(), which refuses some strides.
  bool takesDirectly(const at::Tensor &self) const {
    return isFunctionalLazy(self) && isOrdinary(info) &&
           !c10::InferenceMode::is_enabled() &&
           !(isView && !self.is_contiguous());
  }

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
struct DirectViewMeta final : OwnViewMeta {
  using Attributes = c10::SmallVector<IValue, 4>;
  DirectViewMeta(const ViewOp &op, Attributes attributes, size_t index)
      : OwnViewMeta(index, /*hasInverse=*/!op.repeats), op(op),
        attributes(std::move(attributes)) {}

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
    stack.emplace_back(makeWrapper(base));
    stack.insert(stack.end(), attributes.begin(), attributes.end());
    op.stock.callBoxed(op.view, stack[0].toTensor().key_set(), &stack);
    at::Tensor view = result(stack);
    const auto &metas =
        functional::impl::unsafeGetFunctionalWrapper(view)->view_metas();
    return metas.back()->reverse(base, mutated);
  }

private:
  at::Tensor take(const at::Tensor &base) override {
    torch::jit::Stack stack = room();
    stack.emplace_back(base);
    return call(op.info, std::move(stack));
  }

  torch::jit::Stack room() const {
    torch::jit::Stack stack;
    stack.reserve(attributes.size() + 2);
    return stack;
  }

  at::Tensor call(const OpInfo &info, torch::jit::Stack stack) const {
    stack.insert(stack.end(), attributes.begin(), attributes.end());
    if (isLazy(stack[0].toTensor())) {
      c10::impl::ExcludeDispatchKeyGuard bare(DispatchKey::Functionalize);
      record(info, stack);
    } else {
      // overlap.cpp takes views of positions, which are on the host.
      info.handle.callBoxed(&stack);
    }
    return result(stack);
  }

  at::Tensor result(const torch::jit::Stack &stack) const {
    const IValue &value = stack.back();
    return value.isTensor() ? value.toTensor()
                            : value.toListRef()[out_index].toTensor();
  }

  const ViewOp &op;
  Attributes attributes;
};

at::Tensor wrapView(const at::Tensor &bare, const at::Tensor &self,
                    const ViewOp &op, DirectViewMeta::Attributes attributes,
                    size_t index = 0) {
  return makeView(
      bare, self,
      std::allocate_shared<DirectViewMeta>(Recycled<DirectViewMeta>(), op,
                                           std::move(attributes), index));
}

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

/// Takes a view the long way. From then on it is one like those taken directly,
/// unless a mode of the dispatcher or inference mode has its own.
IValue takeStock(const ViewOp &op, c10::DispatchKeySet keys,
                 torch::jit::Stack stack) {
  at::Tensor self = stack[0].toTensor();
  bool isOurs = isFunctionalLazy(self) && isOrdinary(op.info) &&
                !c10::InferenceMode::is_enabled();
  DirectViewMeta::Attributes attributes(stack.begin() + 1, stack.end());
  callStock(op.stock, op.view, keys, stack);
  if (!isOurs)
    return std::move(stack.back());
  size_t index = 0;
  return mapTensors(stack.back(), [&](const at::Tensor &view) {
    if (!isFunctionalLazy(view) || !view.is_alias_of(self))
      return view;
    return wrapView(functional::impl::unsafeGetFunctionalWrapper(view)->value(),
                    self, op, attributes, index++);
  });
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
  return wrapView(bare, self, op, {IValue(*attributes)...});
}

const ViewOp &viewOp(const char *name, const char *overload) {
  // Never destroyed: views may outlive the library.
  return *new ViewOp(c10::Dispatcher::singleton().findSchemaOrThrow(
      (std::string("aten::") + name).c_str(), overload));
}

std::string fullName(const char *name, const char *overload) {
  return *overload ? std::string(name) + "." + overload : name;
}

template <typename... Args>
void add(torch::Library &library, const char *name, const char *overload) {
  const ViewOp &op = viewOp(name, overload);
  auto kernel = [&op](c10::DispatchKeySet keys, const at::Tensor &self,
                      Args... args) {
    if (op.takesDirectly(self))
      if (at::Tensor view = takeView(op, self, known(args)...); view.defined())
        return view;
    return takeStock(op, keys, {IValue(self), IValue(args)...}).toTensor();
  };
  library.impl(fullName(name, overload).c_str(), torch::CppFunction(kernel));
}

/// For views that are not so common, or are several.
struct BoxedViewKernel final : c10::OperatorKernel {
  explicit BoxedViewKernel(const ViewOp &op)
      : op(op), arguments(op.view.schema().arguments().size()) {}

  void operator()(const c10::OperatorHandle &, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    torch::jit::Stack call = torch::jit::pop(*stack, arguments);
    at::Tensor self = call[0].toTensor();
    std::vector<at::Tensor> views;
    if (op.takesDirectly(self)) {
      CallReader reader(op.info, call);
      views = recordAllDirectly(reader);
    }
    if (views.empty())
      return stack->push_back(takeStock(op, keys, std::move(call)));
    DirectViewMeta::Attributes attributes(call.begin() + 1, call.end());
    for (size_t i = 0; i < views.size(); ++i)
      views[i] = wrapView(views[i], self, op, attributes, i);
    if (op.view.schema().returns()[0].type()->kind() ==
        c10::TypeKind::TensorType)
      stack->emplace_back(std::move(views[0]));
    else
      stack->emplace_back(std::move(views));
  }

private:
  const ViewOp &op;
  size_t arguments;
};

/// PyTorch's kernel takes a view of all, which stays one: a gradient, which is
/// detached when autograd keeps it, would be updated as a view ever after.
void addDetach(torch::Library &library) {
  const ViewOp &op = viewOp("detach", "");
  auto kernel = [&op](c10::DispatchKeySet keys, const at::Tensor &self) {
    if (op.takesDirectly(self))
      return shareStorage(self);
    torch::jit::Stack stack{IValue(self)};
    callStock(op.stock, op.view, keys, stack);
    return std::move(stack.back()).toTensor();
  };
  library.impl("detach", torch::CppFunction(kernel));
}

void addBoxed(torch::Library &library, const char *name, const char *overload) {
  library.impl(fullName(name, overload).c_str(),
               torch::CppFunction::makeFromBoxedFunctor(
                   std::make_unique<BoxedViewKernel>(viewOp(name, overload))));
}
} // namespace

void registerDirectViews(torch::Library &library) {
  // as_strided is not here: it looks at the storage (strided_view.cpp).
  using Start = std::optional<SymInt>;
  add<int64_t, Start, Start, SymInt>(library, "slice", "Tensor");
  add<int64_t, SymInt>(library, "select", "int");
  add<c10::SymIntArrayRef>(library, "view", "");
  add<>(library, "t", "");
  add<int64_t, int64_t>(library, "transpose", "int");
  add<at::IntArrayRef>(library, "permute", "");
  add<int64_t>(library, "unsqueeze", "");
  add<int64_t>(library, "squeeze", "dim");
  addDetach(library);
  addBoxed(library, "squeeze", "");
  addBoxed(library, "squeeze", "dims");
  addBoxed(library, "expand", "");
  addBoxed(library, "unfold", "");
  addBoxed(library, "diagonal", "");
  addBoxed(library, "split", "Tensor");
  addBoxed(library, "split_with_sizes", "");
  addBoxed(library, "unbind", "int");
}

} // namespace ltc::backend
