//===- torch_private.h - What PyTorch keeps to itself -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No public function of PyTorch gives what stands here, and all of it is used:
// who moves to another PyTorch looks here first (2.11 to 2.14 are alike).
// Members are named by explicit instantiations, which may name private ones, so
// that the compiler notices one that is gone; torch_layout.h notices a release
// that has it elsewhere than the headers say. Classes are told by their names,
// since PyTorch exports neither them nor their declarations:
// tests/python/record/test_overlap.py and test_strides.py notice one that
// is renamed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/lazy/core/tensor_impl.h>
#include <torch/library.h>

#include <algorithm>
#include <initializer_list>
#include <list>
#include <string_view>
#include <typeinfo>

namespace ltc::backend {

/// In each file for itself: such an instantiation may stand in a program once.
namespace {
template <auto Generation, auto Value, auto Metas> struct WrapperMembers {
  friend size_t &generationOf(at::FunctionalTensorWrapper &wrapper) {
    return wrapper.*Generation;
  }
  friend at::Tensor &insideOf(at::FunctionalTensorWrapper &wrapper) {
    return wrapper.*Value;
  }
  friend std::vector<std::shared_ptr<at::functionalization::ViewMeta>> &
  metasOf(at::FunctionalTensorWrapper &wrapper) {
    return wrapper.*Metas;
  }
};
template <auto Generation> struct StorageMember {
  friend size_t &
  generationOf(at::functionalization::FunctionalStorageImpl &storage) {
    return storage.*Generation;
  }
};
template <auto Definition> struct OperatorMember {
  friend const c10::impl::OperatorEntry &
  entryOf(const c10::OperatorHandle &op) {
    return (op.*Definition)->op;
  }
};
using KernelTable =
    ska::flat_hash_map<c10::DispatchKey, std::list<c10::impl::AnnotatedKernel>>;
template <auto Kernels> struct EntryMember {
  friend const KernelTable &kernelsOf(const c10::impl::OperatorEntry &entry) {
    return entry.*Kernels;
  }
};
using FallbackTable =
    std::array<c10::impl::AnnotatedKernel, c10::num_runtime_entries>;
template <auto Fallbacks> struct DispatcherMember {
  friend FallbackTable &fallbacksOf(c10::Dispatcher &dispatcher) {
    return dispatcher.*Fallbacks;
  }
};
template <auto Key> struct LibraryMember {
  friend std::optional<c10::DispatchKey> keyOf(const torch::Library &library) {
    return library.*Key;
  }
};
template <auto Undo> struct RegistrationMember {
  friend std::function<void()> &undoOf(c10::RegistrationHandleRAII &handle) {
    return handle.*Undo;
  }
};
template <auto Tensor> struct LazyImplMember {
  friend torch::lazy::LazyTensor &
  lazyTensorOf(torch::lazy::LTCTensorImpl &impl) {
    return *(impl.*Tensor);
  }
};

/// The number of the storage's value that a wrapper has taken: sync_() sets it,
/// but only with PyTorch's own way to the value.
size_t &generationOf(at::FunctionalTensorWrapper &wrapper);
/// The number of writes to a storage: add_update() counts, but also has its
/// base replaced by another tensor.
size_t &generationOf(at::functionalization::FunctionalStorageImpl &storage);
/// A wrapper's value: replace_() and set_() change sizes or the storage too.
at::Tensor &insideOf(at::FunctionalTensorWrapper &wrapper);
/// The views that lead to it from its storage's base.
std::vector<std::shared_ptr<at::functionalization::ViewMeta>> &
metasOf(at::FunctionalTensorWrapper &wrapper);
/// The op's table of kernels. getComputedKernelForDispatchKey() makes a copy
/// that is called with boxed arguments alone.
const c10::impl::OperatorEntry &entryOf(const c10::OperatorHandle &op);
/// All kernels that were registered for each key, the newest first; the table
/// has that one.
const KernelTable &kernelsOf(const c10::impl::OperatorEntry &entry);
/// The kernels of keys for ops that have none: PyTorch's own are never given
/// back.
FallbackTable &fallbacksOf(c10::Dispatcher &dispatcher);
/// The key of a library's kernels.
std::optional<c10::DispatchKey> keyOf(const torch::Library &library);
/// What takes a registration back.
std::function<void()> &undoOf(c10::RegistrationHandleRAII &handle);
/// What LTCTensorImpl::tensor() gives, without a reference to be counted.
torch::lazy::LazyTensor &lazyTensorOf(torch::lazy::LTCTensorImpl &impl);

template struct WrapperMembers<&at::FunctionalTensorWrapper::generation_,
                               &at::FunctionalTensorWrapper::value_,
                               &at::FunctionalTensorWrapper::view_metas_>;
template struct StorageMember<
    &at::functionalization::FunctionalStorageImpl::generation_>;
template struct OperatorMember<&c10::OperatorHandle::operatorDef_>;
template struct EntryMember<&c10::impl::OperatorEntry::kernels_>;
template struct DispatcherMember<&c10::Dispatcher::backendFallbackKernels_>;
template struct LibraryMember<&torch::Library::dispatch_key_>;
template struct RegistrationMember<
    &c10::RegistrationHandleRAII::onDestruction_>;
template struct LazyImplMember<&torch::lazy::LTCTensorImpl::tensor_>;
} // namespace

/// Whether a view is one of PyTorch's of these classes.
inline bool isOneOf(const at::functionalization::ViewMeta &view,
                    std::initializer_list<std::string_view> classes) {
  std::string_view name = typeid(view).name();
  return std::ranges::any_of(classes, [&](std::string_view each) {
    return name.find(each) != name.npos;
  });
}

} // namespace ltc::backend
