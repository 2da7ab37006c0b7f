//===- frozen/step_recorder.h - What one call of a step did -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A frozen step (graph/frozen/frozen_step.h) is made of two calls that did the
// same. What a call did is here: its launches, where each got its inputs from,
// and which tensors got which results. Tensors of the program are known by
// number: those that the caller names, behind them their gradients, and behind
// those the values of views among both.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/layout.h"
#include "ltc_backend/tensors/tape.h"

namespace ltc::backend {

/// Where a value of a step comes from.
struct StepValue {
  enum Kind : uint8_t {
    Unknown,
    Slot,     ///< what a tensor has when the step begins
    Result,   ///< of an earlier launch
    Host,     ///< a CPU tensor, to be uploaded
    Constant, ///< the same of a number that the step made itself
    Number,   ///< 64 bits
    Seed,     ///< the draw of that number
    Count,    ///< what a CPU tensor has, once steps are counted
    Leaf,     ///< a number of the program's, or its negative
  } kind = Unknown;
  uint32_t index = 0;  ///< of the slot, launch, CPU tensor, draw or leaf
  uint32_t result = 0; ///< of the launch
  bool isNegative = false;
  uint64_t bits = 0;
  at::Tensor constant;
  /// All slots that had the value, or all leaves: which one is read, equal
  /// values do not tell.
  std::vector<uint32_t> slots;
};

/// What keeps a call from being repeated, or from being the one before.
struct StepObstacle {
  std::string what;
  SourceId place = 0;
};

struct LTC_API StepRecording {
  /// A slot gets a result of a launch.
  struct Effect {
    uint32_t slot, result;
    bool operator==(const Effect &) const = default;
  };
  struct Launch {
    int64_t device;
    Hash128 key;
    std::shared_ptr<const Graph> graph;
    std::vector<StepValue> arguments;
    std::vector<Effect> effects;
    std::vector<torch::lazy::Shape> shapes; ///< of results
  };
  /// A tensor that the step makes.
  struct Fresh {
    StepValue value;
    torch::lazy::Shape shape;
    Layout layout;
  };
  /// What becomes of a tensor's gradient; nothing if it stays the same tensor.
  struct Gradient {
    uint32_t tensor;
    std::optional<Fresh> fresh; ///< or it has none
  };
  struct Counted {
    uint32_t parameter;
    std::vector<at::Tensor> counts;
  };

  /// Why it cannot be repeated; none if it can: since it waited for a value, or
  /// for another reason.
  std::optional<StepObstacle> wait, obstacle;
  /// What is not as in another one, taken before it.
  std::optional<StepObstacle> differenceFrom(const StepRecording &older) const;

  size_t tensors = 0; ///< a quarter of the slots
  std::vector<bool> hadGradient;
  std::vector<Launch> launches;
  std::vector<std::optional<at::Generator>> draws;
  std::vector<std::pair<uint32_t, StepValue>> copies; ///< to slots
  std::vector<Gradient> gradients;
  std::vector<Fresh> results;
  std::vector<Counted> counted;
  std::vector<double> leaves, before, after;
};

/// Records one call, on one thread.
class StepRecorder {
public:
  /// What the program has, before the call: lazy tensors, CPU tensors, and
  /// numbers. Computes what is pending.
  LTC_API StepRecorder(std::vector<at::Tensor> tensors,
                       std::vector<at::Tensor> hosts,
                       std::vector<double> leaves);
  /// The call is between them.
  LTC_API void enter();
  LTC_API void leave();
  LTC_API ~StepRecorder();
  /// After enter(), and without leave(): the call has returned these. Once.
  LTC_API std::shared_ptr<const StepRecording>
  finish(const std::vector<at::Tensor> &results);

private:
  class Accounts;

  bool hasNewGradient(size_t slot) const;
  void materialiseGradients() const;
  /// Computes what the call has returned and left in gradients and data.
  void compute(const std::vector<at::Tensor> &results);

  std::vector<at::Tensor> tensors, hosts;
  /// Shares in a gradient or its data would keep what the step lets go of.
  std::vector<c10::weak_intrusive_ptr<c10::TensorImpl>> gradients;
  std::vector<std::weak_ptr<TensorData>> datas; ///< by slot
  std::vector<Tape::Identity> values;           ///< by slot
  Tape tape;
  std::shared_ptr<StepRecording> made;
};

/// The data of all of a tensor's storage, with all writes to it.
std::shared_ptr<TensorData> storageData(const at::Tensor &tensor);
/// That of a view's own value, which ops read instead; null if it has none.
std::shared_ptr<TensorData> viewData(const at::Tensor &tensor);
/// The first node that reads the input; or null.
const Node *readerOf(const Graph &graph, ValueId input);
/// What a CPU tensor of one element has, else NaN.
double hostValue(const at::Tensor &host);

} // namespace ltc::backend
