//===- graph/executor.h - Syncs: pending work becomes launches --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/engine.h"
#include "ltc_backend/tensors/pending.h"

#include <mutex>
#include <torch/csrc/lazy/core/lazy_graph_executor.h>

namespace ltc::backend {

/// Collects, compiles if new, and queues what is pending on the device of what
/// the calling thread recorded, of these tensors of the device, and of all that
/// they start from.
void sync(int64_t device, bool wait, c10::ArrayRef<TensorDataPtr> wanted = {});
/// The same of this tensor alone, and of what it starts from. Without `raises`,
/// as for a thread that no program sees, who reads a value gets the errors.
void syncOnly(int64_t device, const TensorDataPtr &wanted, bool raises);
/// The same of all that is pending, whoever recorded it.
void syncAll(int64_t device, bool wait);

/// Whether graphs that have no program may run without one.
bool hasTiers(Engine &engine);

/// Stands in for PyTorch's executor: its entry points come to sync(), its
/// registry of live tensors is ours (PendingList).
class Executor final : public torch::lazy::LazyGraphExecutor {
public:
  void RegisterTensor(std::shared_ptr<torch::lazy::LazyTensor::Data>) override;
  void UnregisterTensor(torch::lazy::LazyTensor::Data *) override;
  void MarkStep(const torch::lazy::BackendDevice &) override;
  void SyncLiveTensorsGraph(const torch::lazy::BackendDevice *device,
                            c10::ArrayRef<std::string> devices,
                            bool wait) override;
};

} // namespace ltc::backend
