//===- frozen/frozen_run.h - One run of a frozen step -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/graph/frozen/frozen_step.h"

#include "ltc_backend/lazy_device.h"
#include "ltc_backend/tensors/pending.h"

namespace ltc::backend {

/// Either of the two ways to run one. Both launch the graph of the recordings.
class FrozenStep::Run {
public:
  Run(const FrozenStep &frozen, const Given &given)
      : frozen(frozen), step(frozen.step), given(given),
        list(pendingList(frozen.device)) {}

  /// Gives each tensor a new value, and each result of the launch a buffer.
  std::optional<std::vector<at::Tensor>> run();
  /// If all tensors have what the last prepared run has left in them, runs that
  /// again, with the same buffers. Nothing, and nothing has happened, if not.
  std::optional<std::vector<at::Tensor>> runAgain();

private:
  using DataPtr = std::shared_ptr<DeviceData>;
  using Launch = StepRecording::Launch;

  const at::Tensor &tensor(uint32_t slot) const;
  const at::Tensor &host(uint32_t index) const;
  bool find();
  void settle();
  /// Whether all is as the recordings had it. With the list's lock, as take().
  bool fits() const;
  bool leavesFit() const;
  void take();
  void count(int by);
  LaunchArgument argument(const StepValue &value);
  DataPtr value(const StepValue &value);
  std::shared_ptr<Replaced> replacedBy(const Launch &launch,
                                       const std::vector<uint32_t> &effects);
  void drawSeeds();
  void launchAll();
  /// Launches it as one that can be repeated, if the step can.
  std::vector<BufferPtr> launch(const Launch &launch,
                                const ExecutablePtr &executable,
                                std::vector<LaunchArgument> arguments,
                                const std::shared_ptr<Replaced> &replaced);
  DataPtr dataOf(const Launch &launch, uint32_t result, BufferPtr buffer,
                 const std::shared_ptr<Replaced> &replaced) const;
  /// Gives the tensors of these effects of the launch their results.
  void deliver(size_t launch, const std::vector<uint32_t> &effects,
               const std::shared_ptr<Replaced> &replaced);
  void give(TensorData &tensor, DataPtr data);
  void tellWritten(uint32_t slot);
  void finish();
  void setGradient(const StepRecording::Gradient &gradient);
  std::vector<at::Tensor> results();
  DataPtr own(const StepRecording::Fresh &fresh);
  at::Tensor make(const StepRecording::Fresh &fresh);
  /// Gives the gradient of the step before this one's value, where that is as
  /// good as a new tensor.
  bool refill(const at::Tensor &gradient, const StepRecording::Fresh &fresh);

  // prepared_run.cpp
  /// Keeps what the tensors have now, which the launch has put there.
  void remember();
  /// Finds the tensors' data, as find() does, where no other tensor shares it.
  bool findKept(const Kept &kept);
  /// Whether the data has what was remembered, and nothing else has it. With
  /// the list's lock.
  bool isKept(const Kept &kept) const;
  /// Finds the other data that it needs, and computes what is pending.
  bool findOthers();
  /// Whether that has values of the types it had. With the list's lock.
  bool takeOthers();
  void launchAgain(const Kept &kept);
  void finishAgain();

  const FrozenStep &frozen;
  const StepRecording &step;
  const Given &given;
  PendingList &list;
  std::vector<TensorData *> datas; ///< by use
  std::vector<DataPtr> starts;     ///< by use, of what no launch is given
  std::vector<BufferPtr> buffers;  ///< by use
  std::vector<uint64_t> seeds;
  std::vector<DataPtr> uploads; ///< by host
  struct Made {
    DataPtr data;
    bool isGiven = false;
  };
  std::vector<std::vector<Made>> made; ///< by launch and result
  std::vector<torch::lazy::Value> released;
  std::vector<DataPtr> dropped;
  PreparedLaunchPtr prepared;                      ///< what launch() has made
  BufferPtr whole;                                 ///< of its run
  std::vector<TensorData *> written, read, remade; ///< as in Kept
};

/// Whether nobody else can reach what the tensor has, as the collector has it.
bool isLastOwner(const TensorData &tensor);
/// Whether nobody can tell the gradient from a new tensor: it is as one, and
/// only the parameter has it.
bool isLikeNew(const at::Tensor &gradient, const StepRecording::Fresh &fresh);

} // namespace ltc::backend
