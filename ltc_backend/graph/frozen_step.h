//===- graph/frozen_step.h - A step without its program ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/graph/step_recorder.h"

#include "ltc/settings.h"

namespace ltc::backend {

/// What two calls of a step did alike, to be done again by as many launches.
/// Immutable, any thread; of one step, one run at a time.
class FrozenStep {
public:
  struct Given {
    std::vector<at::Tensor> tensors, hosts; ///< lazy and CPU tensors
    std::vector<double> leaves;
  };
  /// Of two recordings, the newer one second, that have no obstacles and do not
  /// differ. `state` has the first tensors of both; what follows comes with
  /// each run. `counted` are CPU tensors that count each call.
  /// Null with a reason if a number changes, and it is not known why.
  LTC_API static std::shared_ptr<const FrozenStep>
  make(const StepRecording &older, const StepRecording &newer, Given state,
       std::vector<uint32_t> counted, StepObstacle &why);

  /// Which of the numbers are inputs; the others are as they were.
  LTC_API std::vector<bool> variableLeaves() const;
  /// Queues one step, and returns what the function's tensors are: nothing, and
  /// nothing has happened, if it has to be recorded this time, since a tensor
  /// has another type or shares its memory. Raises what the launch raises.
  /// Release the GIL first.
  LTC_API std::optional<std::vector<at::Tensor>> run(const Given &given) const;

private:
  class Run;
  FrozenStep(const StepRecording &recording, Given state,
             std::vector<uint32_t> counted);
  void listSlots();

  StepRecording step;
  const Given state;
  const std::vector<uint32_t> counted;
  const Settings *const under; ///< it holds for these settings
  /// A slot that is read or written, and the type that is expected of it.
  struct Use {
    uint32_t slot;
    std::optional<TensorType> type;
    bool isDonated = false, isWritten = false;
  };
  std::vector<Use> uses;
  std::vector<uint32_t> useOf; ///< by slot
  int64_t device = 0;
};

/// A tensor with the value of a view, since its memory is not the view's; any
/// other tensor itself.
LTC_API at::Tensor withOwnMemory(const at::Tensor &tensor);

} // namespace ltc::backend
