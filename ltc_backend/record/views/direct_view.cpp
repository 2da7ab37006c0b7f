//===- views/direct_view.cpp - The commonest views, without detours -------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/views/direct_view.h"

#include "ltc/freelist.h"
#include "ltc_backend/record/no_grad.h"
#include "ltc_backend/record/stock_call.h"
#include "ltc_backend/record/views/view_op.h"
#include "ltc_backend/tensors/view_geometry.h"

#include <cstring>

namespace ltc::backend {
namespace {
using c10::IValue;
using c10::SymInt;

template <typename T> struct Owned {
  using Type = T;
};
template <> struct Owned<at::IntArrayRef> {
  using Type = Integers;
};

template <typename... Known>
std::shared_ptr<OwnViewMeta> makeMeta(const ViewOp &op,
                                      const Known &...attributes) {
  using Meta = DirectViewMeta<typename Owned<Known>::Type...>;
  return std::allocate_shared<Meta>(Freelist<Meta>(), op, attributes...);
}

template <typename... Known>
at::Tensor viewOf(const at::Tensor &self, const Geometry &geometry,
                  const ViewOp &op, const Known &...attributes) {
  at::Tensor view = makeView(self, geometry, makeMeta(op, attributes...));
  if (view.defined())
    countVersions(view);
  return view;
}

/// What a view is made of; none for a size that is a symbol.
std::optional<int64_t> known(int64_t value) { return value; }
std::optional<bool> known(bool value) { return value; }
std::optional<int64_t> known(const SymInt &value) {
  return value.maybe_as_int();
}
std::optional<std::optional<int64_t>>
known(const std::optional<SymInt> &value) {
  if (!value)
    return std::optional<int64_t>();
  if (auto integer = value->maybe_as_int())
    return integer;
  return std::nullopt;
}
std::optional<at::IntArrayRef> known(at::IntArrayRef values) { return values; }
std::optional<at::IntArrayRef> known(c10::SymIntArrayRef values) {
  return c10::asIntArrayRefSlowOpt(values);
}

/// As PyTorch takes it: what a mode of the dispatcher or inference mode has its
/// own kernel for, and what is an error.
IValue takeStock(const ViewOp &op, c10::DispatchKeySet keys,
                 torch::jit::Stack stack) {
  callStock(op.stock, op.view, keys, stack);
  return std::move(stack.back());
}

// Never destroyed: views may outlive the library.
const ViewOp &viewOp(const char *name, const char *overload) {
  return *new ViewOp(name, overload);
}
const ViewOp &sliceOp() {
  static const ViewOp &op = viewOp("slice", "Tensor");
  return op;
}
const ViewOp &selectOp() {
  static const ViewOp &op = viewOp("select", "int");
  return op;
}
const ViewOp &plainViewOp() {
  static const ViewOp &op = viewOp("view", "");
  return op;
}
bool showAs(Geometry &geometry, at::IntArrayRef sizes) {
  return geometry.view(sizes);
}

std::string nameOf(const ViewOp &op) {
  return c10::toString(op.view.operator_name()).substr(strlen("aten::"));
}

/// Undefined: the long way.
template <typename Show, typename... Known>
at::Tensor takeDirectly(const ViewOp &op, const at::Tensor &self,
                        bool forAutograd, Show show,
                        const std::optional<Known> &...known) {
  if (!(known.has_value() && ...))
    return {};
  const Shown from = shownBy(self);
  Geometry to(from);
  if (!show(to, *known...))
    return {};
  // Of what shows all of self as it is, nothing is ever recorded.
  const bool isAll = to == from;
  std::shared_ptr<OwnViewMeta> meta, kept;
  if (!isAll || forAutograd)
    meta = makeMeta(op, *known...);
  if (forAutograd)
    kept = meta;
  at::Tensor view =
      isAll ? shareStorage(self) : makeView(self, to, std::move(meta));
  if (!view.defined())
    return {};
  if (forAutograd)
    showToAutograd(self, from, view, to, std::move(kept));
  else
    countVersions(view);
  return view;
}

/// On AutogradLazy: autograd's kernel, where there is something to do for it,
/// gets the view from the one on Functionalize at once.
template <typename... Args, typename Take>
void addAutogradOverride(const ViewOp &op, Take take) {
  if (!isLeftToAutograd(op.view))
    return;
  auto stock = std::make_shared<AutogradOverride>(op.view);
  auto kernel = [&op, stock, take](c10::DispatchKeySet keys,
                                   const at::Tensor &self, Args... args) {
    auto below = keys.remove(c10::DispatchKey::ADInplaceOrView);
    bool isDirect =
        below != keys && isFunctionalisedNext(below) && stock->isStock();
    if (isDirect && !isTracked(self) && op.takesDirectly(self))
      if (at::Tensor view = take(self, args...); view.defined())
        return view;
    at::Tensor view =
        stock->callAutograd<at::Tensor, const at::Tensor &, Args...>(
            isDirect ? below : keys, self, args...);
    keepPlaces(view);
    return view;
  };
  implement(autogradLibrary(), nameOf(op).c_str(), kernel);
}

/// Whether a kernel below ADInplaceOrView was called instead of the one there.
bool standsForAutograd(const at::Tensor &self) {
  return self.key_set().has(c10::DispatchKey::ADInplaceOrView) &&
         !c10::impl::tls_is_dispatch_key_excluded(
             c10::DispatchKey::ADInplaceOrView);
}

/// `show` makes of a tensor's geometry the view's.
template <typename... Args, typename Show>
void add(torch::Library &library, const ViewOp &op, Show show) {
  auto kernel = [&op, show](c10::DispatchKeySet keys, const at::Tensor &self,
                            Args... args) {
    bool forAutograd = standsForAutograd(self);
    if (op.takesDirectly(self))
      if (at::Tensor view =
              takeDirectly(op, self, forAutograd, show, known(args)...);
          view.defined())
        return view;
    if (forAutograd)
      return op.forAutograd.call<at::Tensor, const at::Tensor &, Args...>(
          op.view, keys.add(c10::DispatchKey::ADInplaceOrView), self, args...);
    return takeStock(op, keys, {IValue(self), IValue(args)...}).toTensor();
  };
  implement(library, nameOf(op).c_str(), kernel);
  addAutogradOverride<Args...>(op, [&op, show](const at::Tensor &self,
                                               const Args &...args) {
    return takeDirectly(op, self, /*forAutograd=*/true, show, known(args)...);
  });
}

/// Ends reshape(), matmul() and linear(): a view to functionalisation, and an
/// op like any other to autograd.
void addUnsafeView(torch::Library &library) {
  const ViewOp &op = *new ViewOp("_unsafe_view", "", /*shows=*/"view");
  auto kernel = [&op](c10::DispatchKeySet keys, const at::Tensor &self,
                      c10::SymIntArrayRef sizes) {
    if (op.takesDirectly(self))
      if (at::Tensor view = takeDirectly(op, self, /*forAutograd=*/false,
                                         showAs, known(sizes));
          view.defined())
        return view;
    return takeStock(op, keys, {IValue(self), IValue(sizes)}).toTensor();
  };
  library.impl("_unsafe_view", torch::CppFunction(kernel));
}

using Views = std::vector<at::Tensor>;

/// Consecutive slices of these lengths; none if they are not all of `self`.
Views takeSlices(const at::Tensor &self, at::IntArrayRef lengths, int64_t dim) {
  Views views;
  int64_t start = 0;
  const Shown whole = shownBy(self);
  for (int64_t length : lengths) {
    Geometry part(whole);
    if (length < 0 || !part.slice(dim, start, start + length, 1))
      return {};
    views.push_back(viewOf(self, part, sliceOp(), dim, std::optional(start),
                           std::optional(start + length), int64_t(1)));
    start += length;
    if (!views.back().defined())
      return {};
  }
  return !views.empty() && start == self.size(dim) ? views : Views();
}

Views takeSlices(const at::Tensor &self, int64_t length, int64_t dim) {
  if (length <= 0 || dim < -self.dim() || dim >= self.dim())
    return {};
  int64_t size = self.size(dim);
  c10::DimVector lengths(size_t((size + length - 1) / length), length);
  if (!lengths.empty())
    lengths.back() = size - length * int64_t(lengths.size() - 1);
  return takeSlices(self, lengths, dim);
}

Views takeEach(const at::Tensor &self, int64_t dim) {
  if (dim < -self.dim() || dim >= self.dim())
    return {};
  Views views;
  const Shown whole = shownBy(self);
  for (int64_t i = 0; i < self.size(dim); ++i) {
    Geometry part(whole);
    part.select(dim, i);
    views.push_back(viewOf(self, part, selectOp(), dim, i));
    if (!views.back().defined())
      return {};
  }
  return views;
}

/// For an op of several views: each is one of another op.
template <typename... Args, typename Take>
void addSeveral(torch::Library &library, const char *name, const char *overload,
                Take take) {
  const ViewOp &op = viewOp(name, overload);
  auto kernel = [&op, take](c10::DispatchKeySet keys, const at::Tensor &self,
                            Args... args) {
    if (op.takesDirectly(self) && (known(args).has_value() && ...))
      if (Views views = take(self, *known(args)...); !views.empty())
        return views;
    return takeStock(op, keys, {IValue(self), IValue(args)...})
        .toTensorVector();
  };
  std::string fullName = nameOf(op);
  implement(library, fullName.c_str(), kernel);
  registerNoGrad<Views, const at::Tensor &, Args...>(fullName.c_str(), op.view);
}

/// PyTorch's kernel takes a view of all, which stays one: a gradient, which is
/// detached when autograd keeps it, would be updated as a view ever after.
void addDetach(torch::Library &library) {
  const ViewOp &op = viewOp("detach", "");
  auto kernel = [&op](c10::DispatchKeySet keys, const at::Tensor &self) {
    if (op.takesDirectly(self) && self.is_inference()) {
      using Version = c10::VariableVersion;
      auto version = c10::InferenceMode::is_enabled()
                         ? Version(Version::DISABLED)
                         : Version(/*version=*/0);
      return at::Tensor(self.unsafeGetTensorImpl()->shallow_copy_and_detach(
          std::move(version), true));
    }
    if (op.takesDirectly(self))
      return shareStorage(self);
    return takeStock(op, keys, {IValue(self)}).toTensor();
  };
  library.impl("detach", torch::CppFunction(kernel));
}
} // namespace

at::Tensor takeViewAs(const at::Tensor &self, c10::SymIntArrayRef sizes) {
  const ViewOp &op = plainViewOp();
  return op.takesDirectly(self) && !standsForAutograd(self)
             ? takeDirectly(op, self, /*forAutograd=*/false, showAs,
                            known(sizes))
             : at::Tensor();
}

void registerDirectViews(torch::Library &library) {
  // as_strided is not here: it looks at the storage (strided_view.cpp).
  using Start = std::optional<SymInt>;
  using Ints = at::IntArrayRef;
  using SymInts = c10::SymIntArrayRef;
  add<int64_t, Start, Start, SymInt>(
      library, sliceOp(),
      [](Geometry &g, auto... args) { return g.slice(args...); });
  add<int64_t, SymInt>(library, selectOp(), [](Geometry &g, auto... args) {
    return g.select(args...);
  });
  add<SymInts>(library, plainViewOp(), showAs);
  add<>(library, viewOp("t", ""), [](Geometry &g) { return g.t(); });
  add<int64_t, int64_t>(
      library, viewOp("transpose", "int"),
      [](Geometry &g, auto... args) { return g.transpose(args...); });
  add<Ints>(library, viewOp("permute", ""),
            [](Geometry &g, Ints dims) { return g.permute(dims); });
  add<int64_t>(library, viewOp("unsqueeze", ""),
               [](Geometry &g, int64_t dim) { return g.unsqueeze(dim); });
  add<>(library, viewOp("squeeze", ""),
        [](Geometry &g) { return g.squeeze(); });
  add<int64_t>(library, viewOp("squeeze", "dim"),
               [](Geometry &g, int64_t dim) { return g.squeeze(dim); });
  add<Ints>(library, viewOp("squeeze", "dims"),
            [](Geometry &g, Ints dims) { return g.squeeze(dims); });
  add<SymInts, bool>(
      library, viewOp("expand", ""),
      [](Geometry &g, Ints sizes, bool) { return g.expand(sizes); });
  add<int64_t, int64_t, int64_t>(
      library, viewOp("unfold", ""),
      [](Geometry &g, auto... args) { return g.unfold(args...); });
  add<int64_t, int64_t, int64_t>(
      library, viewOp("diagonal", ""),
      [](Geometry &g, auto... args) { return g.diagonal(args...); });
  addSeveral<SymInt, int64_t>(
      library, "split", "Tensor",
      [](const at::Tensor &self, int64_t length, int64_t dim) {
        return takeSlices(self, length, dim);
      });
  addSeveral<SymInts, int64_t>(
      library, "split_with_sizes", "",
      [](const at::Tensor &self, Ints lengths, int64_t dim) {
        return takeSlices(self, lengths, dim);
      });
  addSeveral<int64_t>(library, "unbind", "int", takeEach);
  addUnsafeView(library);
  addDetach(library);
}

} // namespace ltc::backend
