//===- built/compiled_call.h - Built graphs on CPU tensors ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the device is the host itself, a program of CPU tensors needs no copy
// of them: a graph reads them where they are, writes the new values of inputs
// to their memory, and makes results in memory that CPU tensors then own. A
// call returns when all that is done.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/graph/built/built_graph.h"

#include <ATen/core/ivalue.h>

namespace ltc::backend {

/// What one argument of a program has to be, and what becomes of it.
struct HostArgument {
  /// A CPU tensor with these, or the number itself, which may be none.
  bool isTensor = false;
  at::ScalarType type{};
  std::vector<int64_t> sizes, strides;
  c10::IValue number;
  /// Which of the graph's inputs it is; none if that does not read it.
  std::optional<size_t> input;
  /// Whether the input is its elements in row-major order, and not its memory.
  bool isCopied = false;
};

/// Where a program's result comes from.
struct HostResult {
  enum Kind { Argument, ViewOfArgument, Result, Number } kind = Number;
  size_t index = 0; ///< of the argument, or of the graph's output
  /// In the memory of the output, or from an argument's first element on.
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;
  c10::IValue number;
};

/// A program of CPU tensors: its graph was built for a device that isHost().
struct HostProgram {
  std::shared_ptr<const BuiltGraph> graph;
  std::vector<HostArgument> arguments;
  std::vector<HostResult> results;
};

/// Immutable, any thread.
class CompiledCall {
public:
  LTC_API explicit CompiledCall(HostProgram program);

  /// Whether it is for such arguments.
  LTC_API bool fits(c10::ArrayRef<c10::IValue> arguments) const;
  /// Runs it on arguments that fit. Raises what the program raises; then no
  /// argument has changed. Release the GIL first.
  LTC_API std::vector<c10::IValue>
  run(c10::ArrayRef<c10::IValue> arguments) const;

private:
  class Run;

  const std::shared_ptr<const BuiltGraph> graph;
  const std::vector<HostArgument> arguments;
  const std::vector<HostResult> results;
  std::vector<size_t> places;  ///< of the graph's inputs among the arguments
  std::vector<bool> isWritten; ///< in place, by input
  /// By output: whether its memory belongs to an input or an earlier output.
  std::vector<bool> isShared;
};

} // namespace ltc::backend
