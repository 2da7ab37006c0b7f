//===- tensors/deferred_view.cpp - Views taken when they are read ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/tensors/deferred_view.h"

#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/torch_private.h"
#include "ltc_backend/waiting.h"

#include <ATen/ATen.h>

#include <array>
#include <deque>

namespace ltc::backend {
namespace functional = at::functionalization;
using at::FunctionalTensorWrapper;

/// Of a view that has not been taken. No storage is written to that often.
static constexpr size_t kNotTaken = SIZE_MAX;

const at::Tensor &placeholder(at::ScalarType type, int64_t device) {
  // Never destroyed: tensors may outlive static destructors.
  using Row =
      std::array<std::atomic<at::Tensor *>, size_t(at::ScalarType::NumOptions)>;
  static auto *mutex = new std::mutex;
  static auto *rows = new std::deque<Row>;
  static std::atomic<Row *> first{nullptr};
  if (Row *row = first.load(std::memory_order_acquire); row && device == 0)
    if (at::Tensor *known =
            (*row)[size_t(type)].load(std::memory_order_acquire))
      return *known;
  std::lock_guard lock(*mutex);
  while (rows->size() <= size_t(device))
    rows->emplace_back();
  first.store(&rows->front(), std::memory_order_release);
  std::atomic<at::Tensor *> &slot = (*rows)[device][size_t(type)];
  if (!slot.load(std::memory_order_relaxed)) {
    auto *made = new at::Tensor(makeTensor(
        upload(at::empty({0}, at::device(at::kCPU).dtype(type)), device),
        device));
    // A wrapper starts with the counter of what is inside, and this would be
    // everybody's.
    made->unsafeGetTensorImpl()->set_version_counter(
        c10::VariableVersion(c10::VariableVersion::DISABLED));
    slot.store(made, std::memory_order_release);
  }
  return *slot.load(std::memory_order_relaxed);
}

bool isNotTaken(const FunctionalTensorWrapper &wrapper) {
  auto &generation =
      generationOf(const_cast<FunctionalTensorWrapper &>(wrapper));
  return std::atomic_ref(generation).load(std::memory_order_acquire) ==
         kNotTaken;
}

void setNotTaken(FunctionalTensorWrapper &wrapper) {
  generationOf(wrapper) = kNotTaken;
}

functional::FunctionalStorageImpl &storageOf(const c10::TensorImpl &wrapper) {
  return static_cast<functional::FunctionalStorageImpl &>(
      *wrapper.unsafe_storage().unsafeGetStorageImpl());
}

functional::FunctionalStorageImpl &storageOf(const at::Tensor &tensor) {
  return storageOf(*tensor.unsafeGetTensorImpl());
}

std::unique_lock<std::recursive_mutex> lockStorages() {
  static auto *mutex = new std::recursive_mutex;
  std::unique_lock lock(*mutex, std::try_to_lock);
  if (!lock) {
    // Who has it may want the GIL, to name the line of what it records.
    Waiting waiting;
    lock.lock();
  }
  return lock;
}

/// The value of a view of what `taking` has. False if one of its metas is
/// PyTorch's own. With the list's lock, of which this lets go meanwhile.
static bool take(const FunctionalTensorWrapper &view, Taking &taking,
                 std::unique_lock<Mutex> &lock) {
  for (const auto &meta : view.view_metas()) {
    auto *own = meta->out_index == OwnViewMeta::kOwn
                    ? static_cast<OwnViewMeta *>(meta.get())
                    : nullptr;
    while (!own || !own->takeKnown(taking)) {
      lock.unlock();
      if (!own || !own->learn(taking))
        return false;
      lock.lock();
    }
  }
  return true;
}

/// Gives a view its value; false as above.
static bool take(FunctionalTensorWrapper &view, const at::Tensor &base) {
  TensorDataPtr data = bareData(base);
  int64_t device = deviceOf(*data);
  PendingList &list = pendingList(device);
  Taking taking{list, device, {}, {}};
  const at::Tensor &inside = view.value();
  bool isFirst = inside.is_same(placeholder(inside.scalar_type(), device));
  torch::lazy::Value value; // let go of without the lock
  std::unique_lock lock(list.mutex);
  taking.value = valueOf(*data);
  if (!take(view, taking, lock))
    return false;
  if (!isFirst) {
    value = {taking.value.node, taking.value.index};
    exchange(list, *bareData(inside), value);
    return true;
  }
  at::Tensor taken =
      addTensor(list, std::static_pointer_cast<OpNode>(taking.value.node), 0);
  lock.unlock();
  setLayout(*taken.unsafeGetTensorImpl(), view.sizes(), view.strides(),
            view.storage_offset());
  insideOf(view) = std::move(taken);
  return true;
}

const at::Tensor &materialisedBase(functional::FunctionalStorageImpl &storage) {
  if (std::atomic_ref(generationOf(storage)).load() > 0)
    storage.apply_updates();
  return storage.base();
}

std::optional<Operand> valueOf(FunctionalTensorWrapper &view) {
  auto storages = lockStorages();
  if (!isNotTaken(view) || view.isBaseTensor())
    return std::nullopt;
  TensorDataPtr data = bareData(materialisedBase(storageOf(view)));
  int64_t device = deviceOf(*data);
  PendingList &list = pendingList(device);
  Taking taking{list, device, {}, {}};
  std::unique_lock lock(list.mutex);
  taking.value = valueOf(*data);
  if (!take(view, taking, lock))
    return std::nullopt;
  return std::move(taking.value);
}

void materialise(FunctionalTensorWrapper &wrapper) {
  auto lock = lockStorages();
  if (wrapper.is_up_to_date())
    return;
  functional::FunctionalStorageImpl &storage = storageOf(wrapper);
  // Before the value is: who writes to it meanwhile counts afterwards.
  size_t generation = std::atomic_ref(generationOf(storage)).load();
  const at::Tensor &base = materialisedBase(storage);
  if (wrapper.isBaseTensor())
    insideOf(wrapper) = base;
  else if (!take(wrapper, base))
    return wrapper.sync_();
  std::atomic_ref(generationOf(wrapper))
      .store(generation, std::memory_order_release);
}

void noteWrite(const at::Tensor &written) {
  auto *wrapper = functional::impl::unsafeGetFunctionalWrapper(written);
  size_t generation = ++std::atomic_ref(generationOf(storageOf(*wrapper)));
  if (wrapper->isBaseTensor())
    std::atomic_ref(generationOf(*wrapper)).store(generation);
}

void materialise(const at::Tensor &tensor) {
  if (!tensor.defined() || !functional::impl::isFunctionalTensor(tensor))
    return;
  if (!isFunctionalLazy(tensor))
    return functional::impl::sync(tensor);
  auto *wrapper = functional::impl::unsafeGetFunctionalWrapper(tensor);
  if (!wrapper->is_up_to_date())
    materialise(*wrapper);
}

} // namespace ltc::backend
