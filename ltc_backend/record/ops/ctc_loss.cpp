//===- ops/ctc_loss.cpp - CTC loss with lengths in tensors ----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/ctc_loss.h"

#include "ltc_backend/library.h"
#include "ltc_backend/record/probe.h"
#include "ltc_backend/record/recorder.h"

#include <ATen/ATen.h>
#include <ATen/ops/ctc_loss_native.h>

namespace ltc::backend {
using at::Tensor;
using Pair = std::tuple<Tensor, Tensor>;

static int64_t columnsFor(int64_t target) { return 2 * target + 1; }

//===----------------------------------------------------------------------===//
// The ops in the graph
//===----------------------------------------------------------------------===//

static Pair forward(const Tensor &logProbs, const Tensor &targets,
                    const Tensor &inputLengths, const Tensor &targetLengths,
                    int64_t blank, bool zeroInfinity, int64_t columns) {
  auto [loss, alpha] = at::_ctc_loss(logProbs, targets, inputLengths,
                                     targetLengths, blank, zeroInfinity);
  Tensor padded =
      at::zeros({alpha.size(0), alpha.size(1), columns}, alpha.options());
  padded.narrow(2, 0, alpha.size(2)).copy_(alpha);
  return {loss, padded};
}

/// Of shapes alone; lets the CPU's kernel complain about them. Without lengths,
/// joined targets are of length 0.
static Pair forwardShapes(const Tensor &logProbs, const Tensor &targets,
                          const Tensor &inputLengths,
                          const Tensor &targetLengths, int64_t blank,
                          bool zeroInfinity, int64_t columns) {
  Tensor labels = onCpu.make(targets);
  if (labels.dim() == 1)
    labels = labels.slice(0, 0, 0);
  at::_ctc_loss(onCpu.make(logProbs), labels, onCpu.make(inputLengths),
                onCpu.make(targetLengths), blank, zeroInfinity);
  int64_t steps = logProbs.size(0), batch = logProbs.size(1);
  return {logProbs.new_empty({batch}),
          logProbs.new_empty({batch, steps, columns})};
}

static Tensor backward(const Tensor &grad, const Tensor &logProbs,
                       const Tensor &targets, const Tensor &inputLengths,
                       const Tensor &targetLengths, const Tensor &loss,
                       const Tensor &logAlpha, int64_t blank,
                       bool zeroInfinity) {
  int64_t longest =
      targetLengths.numel() ? targetLengths.max().item<int64_t>() : 0;
  Tensor alpha = logAlpha.narrow(2, 0, columnsFor(longest)).contiguous();
  return at::_ctc_loss_backward(grad, logProbs, targets, inputLengths,
                                targetLengths, loss, alpha, blank,
                                zeroInfinity);
}

static Tensor backwardShapes(const Tensor &, const Tensor &logProbs,
                             const Tensor &, const Tensor &, const Tensor &,
                             const Tensor &, const Tensor &, int64_t, bool) {
  return at::empty_like(logProbs);
}

//===----------------------------------------------------------------------===//
// Recording them
//===----------------------------------------------------------------------===//

/// What the user may have left on the CPU, or given as a list.
static Tensor onDevice(const Tensor &tensor, const Tensor &like) {
  return tensor.to(like.device());
}
static Tensor onDevice(at::IntArrayRef list, const Tensor &like) {
  return at::tensor(list, at::kLong).to(like.device());
}

/// The length that the longest target may have. A length that is known is
/// rounded up: each that is met compiles a graph.
static int64_t longest(const Tensor &targets, const Tensor &) {
  return targets.size(-1);
}
static int64_t longest(const Tensor &targets, at::IntArrayRef lengths) {
  constexpr int64_t kStep = 32;
  int64_t length = lengths.empty() ? 0 : *std::ranges::max_element(lengths);
  if (targets.dim() == 2)
    return targets.size(1);
  return std::min(targets.size(-1), (length + kStep - 1) / kStep * kStep);
}

template <typename Lengths>
static Pair recordForward(const Tensor &logProbs, const Tensor &targets,
                          Lengths inputLengths, Lengths targetLengths,
                          int64_t blank, bool zeroInfinity) {
  static const OpInfo &op = opInfo("torch_ltc::ctc_loss", "");
  torch::jit::Stack stack{logProbs,
                          onDevice(targets, logProbs),
                          onDevice(inputLengths, logProbs),
                          onDevice(targetLengths, logProbs),
                          blank,
                          zeroInfinity,
                          columnsFor(longest(targets, targetLengths))};
  record(op, stack);
  return {stack[0].toTensor(), stack[1].toTensor()};
}

template <typename Lengths>
static Tensor recordBackward(const Tensor &grad, const Tensor &logProbs,
                             const Tensor &targets, Lengths inputLengths,
                             Lengths targetLengths, const Tensor &loss,
                             const Tensor &logAlpha, int64_t blank,
                             bool zeroInfinity) {
  static const OpInfo &op = opInfo("torch_ltc::ctc_loss_backward", "");
  torch::jit::Stack stack{grad,
                          logProbs,
                          onDevice(targets, logProbs),
                          onDevice(inputLengths, logProbs),
                          onDevice(targetLengths, logProbs),
                          loss,
                          logAlpha,
                          blank,
                          zeroInfinity};
  record(op, stack);
  return stack[0].toTensor();
}

/// The composite kernel leaves lengths where they are, and divides by them.
static Tensor composite(const Tensor &logProbs, const Tensor &targets,
                        const Tensor &inputLengths, const Tensor &targetLengths,
                        int64_t blank, int64_t reduction, bool zeroInfinity) {
  return at::native::ctc_loss(
      logProbs, onDevice(targets, logProbs), onDevice(inputLengths, logProbs),
      onDevice(targetLengths, logProbs), blank, reduction, zeroInfinity);
}

void registerCtcLoss(torch::Library &library) {
  const auto &tensor = c10::TensorType::get();
  const auto &integer = c10::IntType::get();
  const auto &boolean = c10::BoolType::get();
  defineOwnOp("ctc_loss",
              {{"log_probs", tensor},
               {"targets", tensor},
               {"input_lengths", tensor},
               {"target_lengths", tensor},
               {"blank", integer},
               {"zero_infinity", boolean},
               {"columns", integer}},
              /*results=*/2);
  defineOwnOp("ctc_loss_backward",
              {{"grad", tensor},
               {"log_probs", tensor},
               {"targets", tensor},
               {"input_lengths", tensor},
               {"target_lengths", tensor},
               {"loss", tensor},
               {"log_alpha", tensor},
               {"blank", integer},
               {"zero_infinity", boolean}},
              /*results=*/1);
  torch::Library &own = ownLibrary();
  own.impl("ctc_loss", torch::dispatch(c10::DispatchKey::CPU, forward));
  own.impl("ctc_loss", torch::dispatch(c10::DispatchKey::Meta, forwardShapes));
  own.impl("ctc_loss_backward",
           torch::dispatch(c10::DispatchKey::CPU, backward));
  own.impl("ctc_loss_backward",
           torch::dispatch(c10::DispatchKey::Meta, backwardShapes));
  for (c10::DispatchKey key :
       {c10::DispatchKey::Functionalize, c10::DispatchKey::AutogradLazy})
    makeLibrary("aten", key)->impl("ctc_loss.Tensor", composite);
  library.impl("_ctc_loss", recordForward<at::IntArrayRef>);
  library.impl("_ctc_loss.Tensor", recordForward<const Tensor &>);
  library.impl("_ctc_loss_backward", recordBackward<at::IntArrayRef>);
  library.impl("_ctc_loss_backward.Tensor", recordBackward<const Tensor &>);
}

} // namespace ltc::backend
