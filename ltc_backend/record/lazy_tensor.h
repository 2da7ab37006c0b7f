//===- record/lazy_tensor.h - Live lazy tensors, and what is pending ------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A live tensor is a TensorData: it has device data, or an IR value. Tensors
// whose value is still to be computed, and the op nodes that compute it, stand
// in one list a device in the order they were recorded; a sync walks it once.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/mutex.h"
#include "ltc_backend/record/node.h"

#include <mutex>
#include <torch/csrc/lazy/core/tensor.h>
#include <torch/csrc/lazy/core/tensor_impl.h>

namespace ltc::backend {

struct TensorData final : torch::lazy::LazyTensor::Data,
                          std::enable_shared_from_this<TensorData> {
  using torch::lazy::LazyTensor::Data::Data;
  ~TensorData() override;

  TensorData *previous = nullptr, *next = nullptr;
  bool pending = false;
  /// While pending: the value that was there before, if there was one. Guarded
  /// by the pending list's lock.
  std::shared_ptr<DeviceData> before;
  /// One of a view and its base below functionalisation, where both are copies.
  bool isShared = false;
};
using TensorDataPtr = std::shared_ptr<TensorData>;

/// Stands for the calling thread, and after its end maybe for another one.
inline const void *currentThread() { return __builtin_thread_pointer(); }

/// What one device has yet to compute.
struct PendingList {
  Mutex mutex; ///< guards everything below and the nodes' scratch fields
  OpNode *firstNode = nullptr, *lastNode = nullptr;
  TensorData *firstTensor = nullptr, *lastTensor = nullptr;
  size_t nodes = 0;
  const void *thread = nullptr; ///< that recorded last
  /// A read since the last sync that needed no graph (graph/host_read.h).
  struct HostRead {
    SourceId line;
    size_t nodes;
    std::weak_ptr<DeviceData> data;
    uint64_t newest; ///< of all data there was
  };
  std::vector<HostRead> hostReads;
  /// Nodes that are computed for the error they may raise, until they are.
  std::vector<std::shared_ptr<OpNode>> checks;
  /// A step of an optimizer that may still fail (graph/step_counts.h).
  struct Step {
    std::weak_ptr<TensorData> parameter;
    std::vector<at::Tensor> counts;
    BufferPtr witness; ///< the parameter's value after it
  };
  std::vector<Step> steps;

  void link(OpNode &node);
  void unlink(OpNode &node);
  void link(TensorData &tensor);
  void unlink(TensorData &tensor);
};
PendingList &pendingList(int64_t device);
/// Whether no other thread that lives has recorded anything.
LTC_API bool recordsAlone();

/// The LTC tensor inside, through a functional wrapper if there is one; null
/// if `tensor` is undefined or not lazy. Takes a view that has not been taken,
/// and does not sync the wrapper otherwise.
torch::lazy::LTCTensorImpl *lazyImpl(const at::Tensor &tensor);
inline bool isLazy(const at::Tensor &tensor) { return lazyImpl(tensor); }
/// Of a tensor that addTensor() or makeTensor() made, as all LTC tensors of
/// this process are.
const std::shared_ptr<torch::lazy::LazyTensor::Data> &
sharedData(torch::lazy::LTCTensorImpl &impl);
TensorDataPtr tensorData(const at::Tensor &lazy);
int64_t deviceOf(const TensorData &data);
const torch::lazy::BackendDevice &backendDevice(int64_t ordinal);

/// A new bare tensor, pending, that has yet to be given sizes (setLayout). With
/// the lock of the node's list.
at::Tensor addTensor(PendingList &list, std::shared_ptr<OpNode> node,
                     size_t index);
/// A new bare (not functional) tensor for a result, or for device data.
at::Tensor makeTensor(std::shared_ptr<OpNode> node, size_t index,
                      const Layout &layout);
at::Tensor makeTensor(std::shared_ptr<DeviceData> data, int64_t device,
                      const Layout &layout = {});
at::Tensor makeTensor(const Operand &value, int64_t device,
                      const Layout &layout = {});
/// The same value in a bare tensor of its own: values are immutable, so a copy
/// is another name for it.
at::Tensor sameValue(const at::Tensor &lazy, const Layout &layout);
/// Whether a kernel on the Lazy key is called from outside functionalisation.
bool isWrappedHere();
/// Wraps for functionalisation then.
at::Tensor wrap(const at::Tensor &bare);

/// The tensor's value as an operand.
Operand operandOf(const TensorDataPtr &data);
/// The same, with the lock of the tensor's list.
Operand valueOf(TensorData &data);
/// The tensor's data, or null if it is pending. Another thread's sync may give
/// it data at any time.
std::shared_ptr<DeviceData> deviceData(const TensorData &data);
/// Gives a tensor a new value, and hands back the old one, to be let go of
/// without the lock. With the lock of the tensor's list.
void exchange(PendingList &list, TensorData &data, torch::lazy::Value &value);
/// Gives a tensor a new value.
void assign(const TensorDataPtr &data, const Operand &value);

} // namespace ltc::backend
