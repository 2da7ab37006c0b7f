//===- record/lazy_tensor.cpp - Live lazy tensors and what is pending -----===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/lazy_tensor.h"

#include "ltc_backend/backend.h"
#include "ltc_backend/record/recycled.h"
#include "ltc_backend/record/torch_private.h"
#include "ltc_backend/record/wrapper.h"

#include <ATen/FunctionalTensorWrapper.h>

#include <deque>
#include <unistd.h>

namespace ltc::backend {
using torch::lazy::LazyTensor;
using torch::lazy::LTCTensorImpl;

TensorData::~TensorData() {
  // Who takes a tensor off the list holds a share in it, so this is no race.
  if (!pending)
    return;
  PendingList &list = pendingList(device.ordinal());
  std::lock_guard lock(list.mutex);
  list.unlink(*this);
  // A node that nobody else holds goes too, and spares itself the lock. A sync
  // may have computed it while this waited.
  auto &node = static_cast<LtcNode &>(*ir_value.node);
  if (!node.isData && ir_value.node.use_count() == 1)
    list.unlink(static_cast<OpNode &>(node));
}

template <typename T> static void append(T &item, T *&first, T *&last) {
  item.previous = last;
  (last ? last->next : first) = &item;
  last = &item;
}

template <typename T> static void remove(T &item, T *&first, T *&last) {
  (item.previous ? item.previous->next : first) = item.next;
  (item.next ? item.next->previous : last) = item.previous;
  item.previous = item.next = nullptr;
}

namespace {
/// Never destroyed: tensors may outlive static destructors.
struct PendingLists {
  std::mutex mutex;
  std::deque<PendingList> lists;
  std::atomic<PendingList *> first{nullptr};
};
} // namespace

static PendingLists &pendingLists() {
  static auto *all = new PendingLists;
  return *all;
}

PendingList &pendingList(int64_t device) {
  PendingLists &all = pendingLists();
  if (device == 0)
    if (PendingList *list = all.first.load(std::memory_order_acquire))
      return *list;
  std::lock_guard lock(all.mutex);
  while (all.lists.size() <= size_t(device))
    all.lists.emplace_back();
  all.first.store(&all.lists.front(), std::memory_order_release);
  return all.lists[device];
}

static std::atomic<int> recorders = 0;
static thread_local int isRecorder = 0;

namespace {
/// Of a thread that has recorded, until its end.
struct Recorder {
  Recorder() {
    isRecorder = 1;
    ++recorders;
  }
  ~Recorder() {
    isRecorder = 0;
    --recorders;
    // In a forked child others may have held the locks.
    if (getpid() != process)
      return;
    std::vector<PendingList *> lists;
    {
      std::lock_guard lock(pendingLists().mutex);
      for (PendingList &list : pendingLists().lists)
        lists.push_back(&list);
    }
    for (PendingList *list : lists) {
      std::lock_guard lock(list->mutex);
      if (list->thread == currentThread())
        list->thread = nullptr; // another may get its place
    }
  }
  const pid_t process = getpid();
};
} // namespace

bool recordsAlone() { return recorders == isRecorder; }

void PendingList::link(OpNode &node) {
  append(node, firstNode, lastNode);
  node.pending = true;
  ++nodes;
  node.thread = currentThread();
  if (thread != node.thread) [[unlikely]] {
    static thread_local Recorder recorder;
    thread = node.thread;
  }
}

void PendingList::unlink(OpNode &node) {
  if (!node.pending)
    return;
  remove(node, firstNode, lastNode);
  node.pending = false;
  --nodes;
}

void PendingList::link(TensorData &tensor) {
  if (tensor.pending)
    unlink(tensor);
  append(tensor, firstTensor, lastTensor);
  tensor.pending = true;
}

void PendingList::unlink(TensorData &tensor) {
  if (!tensor.pending)
    return;
  remove(tensor, firstTensor, lastTensor);
  tensor.pending = false;
}

LTCTensorImpl *lazyImpl(const at::Tensor &tensor) {
  c10::TensorImpl *impl = tensor.unsafeGetTensorImpl();
  if (impl->key_set().has(c10::DispatchKey::Functionalize)) {
    auto *wrapper = static_cast<at::FunctionalTensorWrapper *>(impl);
    if (isNotTaken(*wrapper))
      settle(*wrapper);
    impl = wrapper->value().unsafeGetTensorImpl();
  }
  if (!impl->key_set().has(c10::DispatchKey::Lazy))
    return nullptr;
  return dynamic_cast<LTCTensorImpl *>(impl);
}

const std::shared_ptr<LazyTensor::Data> &sharedData(LTCTensorImpl &impl) {
  return lazyTensorOf(impl).data();
}

TensorDataPtr tensorData(const at::Tensor &lazy) {
  LTCTensorImpl *impl = lazyImpl(lazy);
  TORCH_INTERNAL_ASSERT(impl, "not a lazy tensor");
  return std::static_pointer_cast<TensorData>(sharedData(*impl));
}

int64_t deviceOf(const TensorData &data) { return data.device.ordinal(); }

namespace {
/// Moved from at once: LTCTensorImpl takes a LazyTensor apart.
struct Carrier final : LazyTensor {
  explicit Carrier(TensorDataPtr data) : LazyTensor(std::move(data)) {}
};
} // namespace

/// Of data that no other thread knows of yet: its dtype is looked up, in what a
/// sync may be changing otherwise.
static at::Tensor makeWithoutSizes(TensorDataPtr data) {
  at::Tensor tensor(
      c10::make_intrusive<LTCTensorImpl>(Carrier(std::move(data))));
  // There is none, which PyTorch's own code would take for one at null.
  tensor.unsafeGetTensorImpl()->set_storage_access_should_throw();
  return tensor;
}

at::Tensor addTensor(PendingList &list, std::shared_ptr<OpNode> node,
                     size_t index) {
  const auto &device = backendDevice(node->device);
  auto data = std::allocate_shared<TensorData>(
      Recycled<TensorData>(), torch::lazy::Value(std::move(node), index),
      device);
  TensorData &pending = *data;
  at::Tensor tensor = makeWithoutSizes(std::move(data));
  list.link(pending);
  return tensor;
}

at::Tensor makeTensor(std::shared_ptr<OpNode> node, size_t index,
                      const Layout &layout) {
  at::IntArrayRef sizes = node->result(index).shape.sizes();
  PendingList &list = pendingList(node->device);
  at::Tensor tensor;
  {
    std::lock_guard lock(list.mutex);
    tensor = addTensor(list, std::move(node), index);
  }
  setLayout(*tensor.unsafeGetTensorImpl(), sizes, layout);
  return tensor;
}

at::Tensor makeTensor(std::shared_ptr<DeviceData> data, int64_t device,
                      const Layout &layout) {
  const torch::lazy::Shape &shape = data->shape();
  at::Tensor tensor = makeWithoutSizes(std::make_shared<TensorData>(
      torch::lazy::BackendDataPtr(data), backendDevice(device)));
  setLayout(*tensor.unsafeGetTensorImpl(), shape.sizes(), layout);
  return tensor;
}

at::Tensor makeTensor(const Operand &value, int64_t device,
                      const Layout &layout) {
  if (value.ltc().isData)
    return makeTensor(static_cast<const DataNode &>(*value.node).data, device,
                      layout);
  return makeTensor(std::static_pointer_cast<OpNode>(value.node), value.index,
                    layout);
}

at::Tensor sameValue(const at::Tensor &lazy, const Layout &layout) {
  TensorDataPtr data = tensorData(lazy);
  return makeTensor(operandOf(data), deviceOf(*data), layout);
}

bool isWrappedHere() {
  return !c10::impl::tls_local_dispatch_key_set().excluded_.has(
      c10::DispatchKey::Functionalize);
}

at::Tensor wrap(const at::Tensor &bare) {
  return isWrappedHere() ? makeWrapper(bare) : bare;
}

Operand operandOf(const TensorDataPtr &data) {
  std::lock_guard lock(pendingList(deviceOf(*data)).mutex);
  return valueOf(*data);
}

/// After a failure that somebody knows of, gives a tensor the value that it had
/// before.
static void restore(TensorData &data) {
  if (!data.handle)
    return;
  auto now = std::static_pointer_cast<DeviceData>(data.handle);
  auto before = standing(now);
  if (before == now)
    return;
  data.handle = std::move(before);
  data.ir_value = {};
  ++data.generation;
}

Operand valueOf(TensorData &data) {
  if (anyFailure.load(std::memory_order_relaxed)) [[unlikely]]
    restore(data);
  // Without an IR value there is data: make it a leaf, once.
  if (!data.ir_value)
    data.ir_value = torch::lazy::Value(std::make_shared<DataNode>(
        std::static_pointer_cast<DeviceData>(data.handle)));
  return {data.ir_value.node, uint32_t(data.ir_value.index)};
}

void exchange(PendingList &list, TensorData &data, torch::lazy::Value &value) {
  std::swap(data.ir_value, value);
  if (data.handle)
    data.before = std::static_pointer_cast<DeviceData>(
        std::exchange(data.handle, nullptr));
  auto &node = static_cast<const LtcNode &>(*data.ir_value.node);
  if (node.isData) {
    const auto &given = static_cast<const DataNode &>(node).data;
    auto now = inPlaceOf(std::exchange(data.before, nullptr), given);
    if (now != given)
      data.ir_value = {};
    data.handle = std::move(now);
    list.unlink(data);
  } else {
    list.link(data);
  }
  ++data.generation;
}

void assign(const TensorDataPtr &data, const Operand &value) {
  PendingList &list = pendingList(deviceOf(*data));
  torch::lazy::Value old(value.node, value.index);
  std::lock_guard lock(list.mutex);
  exchange(list, *data, old);
}

std::shared_ptr<DeviceData> deviceData(const TensorData &data) {
  std::lock_guard lock(pendingList(deviceOf(data)).mutex);
  auto now = std::static_pointer_cast<DeviceData>(data.handle);
  return now ? standing(std::move(now)) : now;
}

} // namespace ltc::backend
