//===- writes/write_check.h - Eager's checks of what is written -*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Eager refuses some writes that functionalisation carries out: into out= of a
// dtype that the result does not go into, into a tensor that shows a place
// twice, into memory that the op also reads. Each of its kernels has rules and
// words of its own, so the kernel is asked: it runs once for each such call, on
// CPU tensors that share memory as the lazy ones report to.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/record/call_key.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <mutex>

namespace ltc::backend {

struct CallShape;

/// The check of one op that writes to its arguments. Any thread.
class WriteCheck {
public:
  /// With `warns`, of an out= that has elements and will be resized, too.
  explicit WriteCheck(const c10::OperatorHandle &op, bool warns = true);

  /// Raises what eager raises for writing to these, if it does; to be called
  /// before anything is written. `isView`: a written tensor may be a view.
  /// Returns the call whose results resize an out=, if they do.
  std::shared_ptr<CallShape> operator()(c10::ArrayRef<c10::IValue> arguments,
                                        bool isView = true) const;

  /// The tensors of out=.
  std::vector<at::Tensor> outputs(c10::ArrayRef<c10::IValue> arguments) const;

  /// Raises what the kernel says of these, whatever it is about.
  void ask(c10::ArrayRef<c10::IValue> arguments) const {
    run(arguments, 0, nullptr);
  }
  /// The same, of equal calls once.
  void askOnce(c10::ArrayRef<c10::IValue> arguments) const;

  using Types = std::vector<at::ScalarType>;

private:
  bool overlaps(c10::ArrayRef<c10::IValue> arguments, bool isView) const;
  bool writesLazyOut(c10::ArrayRef<c10::IValue> arguments) const;
  std::shared_ptr<CallShape>
  inferTwin(c10::ArrayRef<c10::IValue> arguments) const;
  std::vector<Types> guessTypes(c10::ArrayRef<c10::IValue> arguments) const;
  void ask(c10::ArrayRef<c10::IValue> arguments, const Types *types) const;
  bool runsApart(c10::ArrayRef<c10::IValue> arguments, int fill,
                 const std::vector<Types> &guesses,
                 const std::string &words) const;
  void run(c10::ArrayRef<c10::IValue> arguments, int fill,
           const Types *types) const;

  c10::OperatorHandle op;
  bool warns;
  std::vector<bool> written;
  size_t inputs; ///< the arguments in front of the first out=
  /// The op that returns what this one writes to out=.
  mutable std::optional<c10::OperatorHandle> twin;
  mutable std::once_flag soughtTwin;

  mutable KeySet passed;
};

} // namespace ltc::backend
