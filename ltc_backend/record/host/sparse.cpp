//===- host/sparse.cpp - Sparse tensors of a lazy device ------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/host/sparse.h"

#include "ltc_backend/record/kernel_override.h"

#include <ATen/NativeFunctions.h>
#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>
#include <c10/core/DeviceGuard.h>

namespace ltc::backend {
namespace {
using at::SparseTensorImpl;
using at::Tensor;
using c10::DispatchKey;
using c10::DispatchKeySet;
namespace native = at::native;

/// PyTorch's asserts when it is made that it knows the device.
class CompressedImpl final : public at::SparseCsrTensorImpl {
public:
  CompressedImpl(c10::Device device, at::Layout layout, caffe2::TypeMeta dtype)
      : SparseCsrTensorImpl(DispatchKeySet(DispatchKey::SparseCsrMeta),
                            at::kMeta, layout, dtype) {
    key_set_ = DispatchKeySet(DispatchKey::SparseCsrLazy);
    if (!c10::InferenceMode::is_enabled())
      key_set_ = key_set_ |
                 c10::getAutogradRelatedKeySetFromBackend(
                     c10::BackendComponent::LazyBit) |
                 DispatchKeySet(DispatchKey::ADInplaceOrView);
    device_opt_ = device;
  }

  c10::intrusive_ptr<c10::TensorImpl>
  shallow_copy_and_detach(const c10::VariableVersion &version,
                          bool allowChange) const override {
    auto copy =
        c10::make_intrusive<CompressedImpl>(device(), layout_impl(), dtype());
    copy->set_member_tensors(compressed_indices(), plain_indices(), values(),
                             sizes());
    copy_tensor_metadata(this, copy.get(), version, allowChange);
    copy->refresh_numel();
    return copy;
  }
  c10::intrusive_ptr<c10::TensorImpl>
  shallow_copy_and_detach(c10::VariableVersion &&version,
                          bool allowChange) const override {
    return shallow_copy_and_detach(std::as_const(version), allowChange);
  }

private:
  // The base class hides it behind one of its own.
  static void copy_tensor_metadata(const TensorImpl *from, TensorImpl *to,
                                   const c10::VariableVersion &version,
                                   bool allowChange) {
    TensorImpl::copy_tensor_metadata(from, to, version, allowChange);
  }
};

SparseTensorImpl &cooImpl(const Tensor &sparse) {
  return static_cast<SparseTensorImpl &>(*sparse.unsafeGetTensorImpl());
}

at::SparseCsrTensorImpl &compressedImpl(const Tensor &sparse) {
  return static_cast<at::SparseCsrTensorImpl &>(*sparse.unsafeGetTensorImpl());
}

Tensor makeCoo(const Tensor &indices, const Tensor &values,
               at::IntArrayRef size, int64_t sparseDim, int64_t denseDim,
               bool isCoalesced) {
  c10::DeviceGuard guard(values.device()); // the constructor asks for it
  auto sparse = at::detail::make_tensor<SparseTensorImpl>(
      DispatchKeySet(DispatchKey::SparseLazy), values.dtype());
  SparseTensorImpl &impl = cooImpl(sparse);
  impl.raw_resize_(sparseDim, denseDim, size);
  impl.set_indices_and_values_unsafe(indices, values);
  impl.set_coalesced(isCoalesced || values.size(0) < 2);
  return sparse;
}

Tensor makeCompressed(const Tensor &compressed, const Tensor &plain,
                      const Tensor &values, at::IntArrayRef size,
                      at::Layout layout) {
  auto sparse = at::detail::make_tensor<CompressedImpl>(values.device(), layout,
                                                        values.dtype());
  compressedImpl(sparse).set_member_tensors(compressed, plain, values, size);
  return sparse;
}

/// As the members of one of PyTorch's: autograd sees them as other tensors.
Tensor detached(const Tensor &tensor) {
  return Tensor(tensor.unsafeGetTensorImpl()->shallow_copy_and_detach(
      /*version_counter=*/0, /*allow_tensor_metadata_change=*/true));
}

using Sizes = c10::SymIntArrayRef;
using MaybeType = std::optional<at::ScalarType>;
using MaybeLayout = std::optional<at::Layout>;
using MaybeDevice = std::optional<at::Device>;
using MaybeBool = std::optional<bool>;

Tensor cooOf(int64_t sparseDim, int64_t denseDim, Sizes size,
             const Tensor &indices, const Tensor &values, MaybeType,
             MaybeLayout, MaybeDevice, MaybeBool, MaybeBool isCoalesced) {
  return makeCoo(detached(indices), detached(values),
                 C10_AS_INTARRAYREF_SLOW(size), sparseDim, denseDim,
                 isCoalesced.value_or(false));
}

Tensor compressedOf(const Tensor &compressed, const Tensor &plain,
                    const Tensor &values, Sizes size, MaybeType,
                    MaybeLayout layout, MaybeDevice, MaybeBool) {
  TORCH_CHECK(layout, "a sparse tensor is to be made, and of which layout is "
                      "not said");
  return makeCompressed(detached(compressed), detached(plain), detached(values),
                        C10_AS_INTARRAYREF_SLOW(size), *layout);
}

/// On Functionalize, where these two would get what is inside the wrappers.
struct OfMembers final : KernelOverride {
  OfMembers(const c10::OperatorHandle &op, DispatchKey key)
      : KernelOverride(op), made(kernelOf(op, key)) {}
  void operator()(const c10::OperatorHandle &op, DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    bool isLazy = keys.has_backend(c10::BackendComponent::LazyBit);
    (isLazy ? made : stock).callBoxed(op, keys, stack);
  }
  c10::KernelFunction made;
};
} // namespace

std::vector<Tensor> membersOf(const Tensor &sparse) {
  if (sparse.key_set().has(DispatchKey::Sparse))
    return {cooImpl(sparse).indices(), cooImpl(sparse).values()};
  at::SparseCsrTensorImpl &impl = compressedImpl(sparse);
  return {impl.compressed_indices(), impl.plain_indices(), impl.values()};
}

Tensor mapMembers(const Tensor &sparse, MapMember f) {
  std::vector<Tensor> members = membersOf(sparse);
  std::ranges::transform(members, members.begin(), f);
  const Tensor &values = members.back();
  bool isLazy = values.device().is_lazy();
  auto options = values.options().layout(sparse.layout());
  at::IntArrayRef size = sparse.sizes();
  if (!sparse.key_set().has(DispatchKey::Sparse))
    return isLazy ? makeCompressed(members[0], members[1], values, size,
                                   sparse.layout())
                  : at::_sparse_compressed_tensor_unsafe(members[0], members[1],
                                                         values, size, options);
  SparseTensorImpl &impl = cooImpl(sparse);
  int64_t sparseDim = impl.sparse_dim(), denseDim = impl.dense_dim();
  return isLazy ? makeCoo(members[0], values, size, sparseDim, denseDim,
                          impl.coalesced())
                : at::_sparse_coo_tensor_with_dims_and_tensors(
                      sparseDim, denseDim, size, members[0], values, options,
                      impl.coalesced());
}

void assignMembers(const Tensor &sparse, const Tensor &from) {
  if (sparse.key_set().has(DispatchKey::Sparse)) {
    SparseTensorImpl &to = cooImpl(sparse), &other = cooImpl(from);
    to.raw_resize_(other.sparse_dim(), other.dense_dim(), from.sizes());
    to.set_indices_and_values_unsafe(other.indices(), other.values());
    to.set_coalesced(other.coalesced());
  } else {
    at::SparseCsrTensorImpl &other = compressedImpl(from);
    compressedImpl(sparse).set_member_tensors(other.compressed_indices(),
                                              other.plain_indices(),
                                              other.values(), from.sizes());
  }
}

void registerMembers() {
  torch::Library &coo = *makeLibrary("aten", DispatchKey::SparseLazy);
  coo.impl("_indices", native::_indices_sparse);
  coo.impl("_values", native::_values_sparse);
  coo.impl("indices", native::indices_sparse);
  coo.impl("values", native::values_sparse);
  coo.impl("_nnz", native::_nnz_sparse);
  coo.impl("sparse_dim", native::sparse_dim_sparse);
  coo.impl("dense_dim", native::dense_dim_sparse);
  coo.impl("is_coalesced", native::is_coalesced_sparse);
  coo.impl("_coalesced_", native::_coalesced_sparse_);
  torch::Library &compressed = *makeLibrary("aten", DispatchKey::SparseCsrLazy);
  compressed.impl("crow_indices", native::crow_indices_sparse_csr);
  compressed.impl("col_indices", native::col_indices_sparse_csr);
  compressed.impl("ccol_indices", native::ccol_indices_sparse_csr);
  compressed.impl("row_indices", native::row_indices_sparse_csr);
  compressed.impl("values", native::values_sparse_csr);
  compressed.impl("_nnz", native::_nnz_sparse_csr);
  compressed.impl("sparse_dim", native::sparse_dim_sparse_csr);
  compressed.impl("dense_dim", native::dense_dim_sparse_csr);
  // Of dense lazy tensors, which are wrapped here and so can be members.
  coo.impl("_sparse_coo_tensor_with_dims_and_tensors", cooOf);
  compressed.impl("_sparse_compressed_tensor_unsafe", compressedOf);
  torch::Library &functionalize =
      *makeLibrary("aten", DispatchKey::Functionalize);
  implementBoxed<OfMembers>(functionalize,
                            "_sparse_coo_tensor_with_dims_and_tensors",
                            atenOp("_sparse_coo_tensor_with_dims_and_tensors"),
                            DispatchKey::SparseLazy);
  implementBoxed<OfMembers>(functionalize, "_sparse_compressed_tensor_unsafe",
                            atenOp("_sparse_compressed_tensor_unsafe"),
                            DispatchKey::SparseCsrLazy);
}

} // namespace ltc::backend
