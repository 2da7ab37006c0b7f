//===- tensors/wrapper.cpp - The tensors that programs hold ---------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/tensors/wrapper.h"

#include "ltc/freelist.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/torch_private.h"

#include <c10/core/WrapDimMinimal.h>

#include <span>

namespace ltc::backend {
namespace functional = at::functionalization;
using at::FunctionalTensorWrapper;
using c10::VariableVersion;

namespace {
/// What tensors of inference mode are without.
constexpr c10::DispatchKeySet kAutogradKeys =
    c10::autograd_dispatch_keyset_with_ADInplaceOrView;

class Wrapper final : public FunctionalTensorWrapper {
public:
  using FunctionalTensorWrapper::FunctionalTensorWrapper;

  static void *operator new(size_t) { return Freelist<Wrapper>().allocate(1); }
  static void operator delete(void *memory) {
    Freelist<Wrapper>().deallocate(static_cast<Wrapper *>(memory), 1);
  }

  /// A copy, which shares the storage.
  Wrapper(const FunctionalTensorWrapper &other, const VariableVersion &version)
      : FunctionalTensorWrapper(other.value(), &other, anyMeta()) {
    take(other, version, /*allowChange=*/true);
  }

  /// A view of `self` that has not been taken, with the placeholder inside.
  Wrapper(const at::Tensor &nothing, const at::Tensor &self,
          const Geometry &geometry, std::shared_ptr<OwnViewMeta> meta)
      : FunctionalTensorWrapper(
            nothing, functional::impl::unsafeGetFunctionalWrapper(self),
            anyMeta()) {
    metasOf(*this).back() = std::move(meta);
    setNotTaken(*this);
    key_set_ = key_set_ | (self.key_set() & kMathBits);
    sizes_and_strides_.set_sizes(geometry.sizes);
    sizes_and_strides_.set_strides(geometry.strides);
    storage_offset_ = geometry.offset;
    refresh_numel();
    refresh_contiguous();
    takeAutogradKeys(self);
  }

  void takeAutogradKeys(const at::Tensor &from) {
    key_set_ = (key_set_ - kAutogradKeys) | (from.key_set() & kAutogradKeys);
  }

  Shown shown() const {
    const c10::impl::SizesAndStrides &now = own();
    return {now.sizes_arrayref(), now.strides_arrayref(), storage_offset_};
  }

  at::IntArrayRef sizes_custom() const override {
    return own().sizes_arrayref();
  }
  at::IntArrayRef strides_custom() const override {
    return own().strides_arrayref();
  }
  /// Optimizers may write to it in the place of the parameter.
  bool isDataOfUpdated = false;

  int64_t dim_custom() const override { return int64_t(own().size()); }
  int64_t numel_custom() const override { return own(), numel_; }
  c10::SymBool
  sym_is_contiguous_custom(at::MemoryFormat format) const override {
    return own(), is_contiguous_default(format);
  }
  c10::SymIntArrayRef sym_sizes_custom() const override {
    return c10::fromIntArrayRefKnownNonNegative(sizes_custom());
  }
  c10::SymInt sym_size_custom(int64_t dim) const override {
    at::IntArrayRef sizes = sizes_custom();
    return sizes[c10::maybe_wrap_dim(dim, int64_t(sizes.size()),
                                     /*wrap_scalar=*/false)];
  }
  c10::SymIntArrayRef sym_strides_custom() const override {
    return c10::fromIntArrayRefKnownNonNegative(strides_custom());
  }
  c10::SymInt sym_storage_offset_custom() const override {
    return own(), storage_offset_;
  }

  c10::intrusive_ptr<c10::TensorImpl>
  shallow_copy_and_detach(const VariableVersion &version,
                          bool allowChange) const override {
    if (key_set().has(c10::DispatchKey::Python)) {
      materialise(*const_cast<Wrapper *>(this));
      return FunctionalTensorWrapper::shallow_copy_and_detach(version,
                                                              allowChange);
    }
    auto copy = c10::make_intrusive<Wrapper>(*this, version);
    copy->isDataOfUpdated = requires_grad() && grad().defined();
    // As eager's copies of a tensor of inference mode, which count outside it.
    if (copy->is_inference())
      copy->version_counter_ = c10::InferenceMode::is_enabled()
                                   ? VariableVersion(VariableVersion::DISABLED)
                                   : version;
    return copy;
  }
  c10::intrusive_ptr<c10::TensorImpl>
  shallow_copy_and_detach(VariableVersion &&version,
                          bool allowChange) const override {
    return shallow_copy_and_detach(std::as_const(version), allowChange);
  }
  /// PyTorch's takes a lazy tensor with a math bit for one of another kind.
  void
  shallow_copy_from(const c10::intrusive_ptr<c10::TensorImpl> &from) override {
    take(static_cast<const FunctionalTensorWrapper &>(*from), version_counter(),
         allow_tensor_metadata_change());
  }

private:
  /// Stands for a view while the constructor runs that makes no new storage.
  /// Nobody owns it, so that copies are not counted.
  static const std::shared_ptr<functional::ViewMeta> &anyMeta() {
    struct Meta final : functional::ViewMeta {
      Meta() : ViewMeta(/*has_symbolic_inputs=*/false) {}
      at::Tensor forward(const at::Tensor &base) override { return base; }
      at::Tensor reverse(const at::Tensor &, const at::Tensor &view) override {
        return view;
      }
    };
    static const auto *meta = new std::shared_ptr<functional::ViewMeta>(
        std::shared_ptr<void>(), new Meta);
    return *meta;
  }

  void take(const FunctionalTensorWrapper &other,
            const VariableVersion &version, bool allowChange) {
    // Another thread may take it in the midst of this.
    bool isLate = isNotTaken(other);
    copy_tensor_metadata(&other, this, version, allowChange);
    if (isLate)
      setNotTaken(*this);
  }

  /// The value's sizes and strides, in memory of this tensor's own.
  const c10::impl::SizesAndStrides &own() const {
    if (isNotTaken(*this))
      return sizes_and_strides_;
    const c10::TensorImpl &inside = *value().unsafeGetTensorImpl();
    at::IntArrayRef sizes = inside.sizes(), strides = inside.strides();
    if (!isSame(sizes_and_strides_.sizes_arrayref(), sizes) ||
        !isSame(sizes_and_strides_.strides_arrayref(), strides)) [[unlikely]]
      return copied(sizes, strides);
    return sizes_and_strides_;
  }

  [[gnu::noinline, gnu::cold]] const c10::impl::SizesAndStrides &
  copied(at::IntArrayRef sizes, at::IntArrayRef strides) const {
    const_cast<Wrapper *>(this)->set_sizes_and_strides(
        sizes, strides, value().storage_offset());
    return sizes_and_strides_;
  }
};
} // namespace

at::Tensor makeWrapper(const at::Tensor &bare) {
  return at::detail::make_tensor<Wrapper>(bare);
}

at::Tensor makeNewWrapper(const at::Tensor &bare) {
  at::Tensor wrapper = makeWrapper(bare);
  countVersions(wrapper);
  return wrapper;
}

bool isWrappedHere() {
  return !c10::impl::tls_local_dispatch_key_set().excluded_.has(
      c10::DispatchKey::Functionalize);
}

at::Tensor wrap(const at::Tensor &bare) {
  return isWrappedHere() ? makeWrapper(bare) : bare;
}

/// Whether a view of `self` that shows this shows its storage's base as it is:
/// the gradient of a weight, turned over twice.
static bool showsBase(const FunctionalTensorWrapper &self,
                      const Geometry &geometry) {
  if (self.isBaseTensor())
    return false;
  auto lock = lockStorages();
  const at::Tensor &base = storageOf(self).base();
  return base.dtype() == self.dtype() &&
         geometry == Shown{base.sizes(), base.strides(), base.storage_offset()};
}

at::Tensor makeView(const at::Tensor &self, const Geometry &geometry,
                    std::shared_ptr<OwnViewMeta> meta) {
  auto *base = functional::impl::unsafeGetFunctionalWrapper(self);
  const at::Tensor &inside = base->value();
  const at::Tensor &nothing =
      placeholder(inside.scalar_type(), inside.device().index());
  if (nothing.key_set() - kAutogradKeys != inside.key_set() - kAutogradKeys)
    return {};
  auto view =
      c10::make_intrusive<Wrapper>(nothing, self, geometry, std::move(meta));
  if (showsBase(*base, geometry))
    metasOf(*view).clear();
  return at::Tensor(std::move(view));
}

void countVersions(const at::Tensor &view) {
  c10::TensorImpl &impl = *view.unsafeGetTensorImpl();
  if (!impl.is_inference())
    impl.set_version_counter(VariableVersion(/*version=*/0));
}

void shareInference(const at::Tensor &self, const at::Tensor &view) {
  if (!isFunctionalLazy(view) || view.is_inference() == self.is_inference())
    return;
  auto &wrapper = static_cast<Wrapper &>(*view.unsafeGetTensorImpl());
  wrapper.set_version_counter(VariableVersion(VariableVersion::DISABLED));
  wrapper.takeAutogradKeys(self);
  countVersions(view);
}

Shown shownBy(const at::Tensor &self) {
  const c10::TensorImpl &impl = *self.unsafeGetTensorImpl();
  if (typeid(impl) == typeid(Wrapper))
    return static_cast<const Wrapper &>(impl).shown();
  return {self.sizes(), self.strides(), self.storage_offset()};
}

bool isDataOfUpdated(const c10::TensorImpl &impl) {
  return typeid(impl) == typeid(Wrapper) &&
         static_cast<const Wrapper &>(impl).isDataOfUpdated;
}

at::Tensor shareStorage(const at::Tensor &self) {
  auto *wrapper = functional::impl::unsafeGetFunctionalWrapper(self);
  return at::Tensor(
      c10::make_intrusive<Wrapper>(*wrapper, wrapper->version_counter()));
}

bool isWrapper(const c10::TensorImpl &impl) {
  return dynamic_cast<const Wrapper *>(&impl);
}

at::Tensor materialised(const at::Tensor &tensor) {
  if (!isFunctionalLazy(tensor)) {
    materialise(tensor);
    return tensor;
  }
  auto lock = lockStorages();
  bool isBase = functional::impl::isBaseTensor(tensor);
  at::Tensor readable = isBase ? tensor : shareStorage(tensor);
  materialise(readable);
  return readable;
}

} // namespace ltc::backend
