//===- frozen/frozen_step.h - A step without its program --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/graph/frozen/step_recorder.h"

#include "ltc/prepared_launch.h"
#include "ltc/settings.h"

namespace ltc::backend {

class DeviceData;

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
  /// How the launch can be repeated (graph/frozen/prepared_step.cpp).
  struct Plan {
    bool isPossible = false;
    std::vector<Renewal> renewals; ///< by result
    std::vector<bool> varies;      ///< by input
    std::vector<uint32_t> inputs;  ///< that vary
    std::vector<uint32_t> fresh;   ///< results
    std::vector<uint32_t> effects; ///< of fresh results
    struct Stay {
      uint32_t slot, result;
    };
    std::vector<Stay> updated;
    std::vector<uint32_t> read;   ///< slots that are only read, and stay
    std::vector<uint32_t> slots;  ///< of all other values
    std::vector<uint32_t> remade; ///< numbers of gradients
    std::vector<uint32_t> others; ///< of gradients that are not
    /// Tensors whose gradient is none of the remade ones.
    std::vector<uint32_t> apart;
  };
  /// What a run has left in the tensors.
  struct Kept {
    PreparedLaunchPtr launch;
    struct Value {
      const DeviceData *data;
      const Buffer *buffer; ///< of the launch
    };
    std::vector<Value> updated, read, remade; ///< as in Plan
  };
  FrozenStep(const StepRecording &recording, Given state,
             std::vector<uint32_t> counted);

public:
  LTC_API ~FrozenStep();
  FrozenStep(const FrozenStep &) = delete;

private:
  void listSlots();
  /// Notes which counts were equal in both recordings.
  void listCounts(const StepRecording &older);
  void makePlan();
  std::vector<uint32_t> usersOfResults() const;
  void planResults(const std::vector<uint32_t> &users);
  void planGradients(const std::vector<uint32_t> &users);
  void planInputs();
  std::shared_ptr<const Kept> kept() const;
  /// Keeps it, and has other steps forget what this one has taken over.
  void keep(std::shared_ptr<const Kept> kept) const;

  StepRecording step;
  const Given state;
  const std::vector<uint32_t> counted;
  std::vector<uint32_t> firstLike; ///< by count: the first that was equal
  const Settings *const under;     ///< it holds for these settings
  /// A slot that is read or written, and the type that is expected of it.
  struct Use {
    uint32_t slot;
    std::optional<TensorType> type;
    bool isDonated = false, isWritten = false;
  };
  std::vector<Use> uses;
  std::vector<uint32_t> useOf;                ///< by slot
  std::vector<std::vector<uint32_t>> effects; ///< 0, 1, ... of each launch
  int64_t device = 0;
  Plan plan;
  mutable std::shared_ptr<const Kept> last; ///< under the steps' lock
  /// Prepared launches since one was repeated.
  mutable uint32_t unrepeated = 0;
};

/// A tensor with the value of a view, since its memory is not the view's; any
/// other tensor itself.
LTC_API at::Tensor withOwnMemory(const at::Tensor &tensor);

} // namespace ltc::backend
