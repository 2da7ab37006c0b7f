//===- tensors/deferred_view.h - Views taken when they are read -*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Many views are only there to take another one of, or are never read. A view
// that is born has its sizes and strides (wrapper.h) and the views that lead to
// it from its storage's base; nodes, and a value, it gets when one is asked
// for. Till then it has none of the base's, so that nothing keeps that alive
// after a write. PyTorch takes it for one that is out of date: whoever syncs it
// before reading, as all must, gets the value.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/bare_tensor.h"

#include <ATen/FunctionalTensorWrapper.h>

namespace ltc::backend {

/// A value on its way from a base to a view.
struct Taking {
  PendingList &list;
  int64_t device;
  Operand value;
  /// To be let go of without the lock, which the end of a node may take.
  c10::SmallVector<std::shared_ptr<torch::lazy::Node>, 4> held;
};

/// What functionalisation keeps of a view that is taken here.
struct OwnViewMeta : at::functionalization::ViewMeta {
  explicit OwnViewMeta(bool hasInverse)
      : ViewMeta(/*has_symbolic_inputs=*/false, /*is_multi_output=*/false,
                 /*is_as_strided=*/false, kOwn),
        hasInverse(hasInverse) {}
  /// By this out_index they are told from PyTorch's, which count from 0.
  static constexpr int64_t kOwn = -1;

  /// Goes from the value to the view of it. False, and nothing is done, if no
  /// such call has been met. With the list's lock.
  virtual bool takeKnown(Taking &taking) = 0;
  /// Has it met. Without the lock. False if a graph cannot hold it.
  virtual bool learn(const Taking &taking) = 0;
  /// Takes the view of another tensor, as the program would.
  virtual at::Tensor again(const at::Tensor &self) = 0;

  const bool hasInverse; ///< whether reverse() is right (see overlap.h)
};

/// The storage of a functional tensor.
at::functionalization::FunctionalStorageImpl &
storageOf(const at::Tensor &tensor);
at::functionalization::FunctionalStorageImpl &
storageOf(const c10::TensorImpl &wrapper);
/// Its base, with all writes to the storage. With the lock of lockStorages().
const at::Tensor &
materialisedBase(at::functionalization::FunctionalStorageImpl &storage);
/// Gives the value inside a functional tensor all writes to its storage, and
/// takes it if it is a view that has not been taken. Several threads may ask
/// that of one tensor, as several may read one in eager.
void materialise(at::FunctionalTensorWrapper &wrapper);
/// The same of any tensor; of one that is not functional nothing.
void materialise(const at::Tensor &tensor);
/// The value of a view that has not been taken, which it stays: an op that is
/// given one needs no tensor for it, and a sync computes none. A result of an
/// OpNode. None of other tensors, and where only materialise() can take it.
std::optional<Operand> valueOf(at::FunctionalTensorWrapper &view);
/// Tells all other tensors of a storage that one of them, whose own value is
/// right or is a view's, was written to.
void noteWrite(const at::Tensor &written);
/// Held by who takes a view, or writes to a storage of which there may be some:
/// threads that write to different parts of it then lose nothing.
std::unique_lock<std::recursive_mutex> lockStorages();

/// Whether it is a view that has not been taken: value() is none of its own.
bool isNotTaken(const at::FunctionalTensorWrapper &wrapper);

/// Makes it one. What is inside must be the placeholder.
void setNotTaken(at::FunctionalTensorWrapper &wrapper);
/// What stands inside a view that has not been taken, for good.
const at::Tensor &placeholder(at::ScalarType type, int64_t device);

} // namespace ltc::backend
