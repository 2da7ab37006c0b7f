//===- tensors/op_info.h - What a schema says about an op -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/metrics.h"
#include "ltc/op_facts.h"
#include "ltc_backend/convert.h"
#include "ltc_backend/mutex.h"
#include "ltc_backend/tensors/node.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <atomic>
#include <torch/csrc/lazy/core/metrics.h>
#include <unordered_map>

namespace ltc::backend {

/// What a part above keeps with a CallShape.
struct KeptWithCall {
  virtual ~KeptWithCall() = default;
};

struct OpInfo;

/// A number among the operands that eager converts to a dtype, and the bounds
/// between which any number fits.
struct NumberLimit {
  uint32_t operand;
  at::ScalarType type;
  bool isNegated; ///< before it is converted
  bool isWhole;   ///< as it has been converted to an integer dtype before
  double low, high;
};

/// What is the same for every call with equal attributes and operand types: all
/// but the operands. Immutable, shared by nodes.
struct CallShape {
  CallShape() = default;
  CallShape(const CallShape &) = delete;
  ~CallShape() { delete runner.load(); }

  const OpInfo *op = nullptr;
  /// Arguments hold 0 wherever an operand goes.
  Node prototype;
  Hash128 signature; ///< prototype.signature()
  std::vector<ResultType> results;
  /// One entry a schema return: how its tensors are handed back.
  enum : int { kUndefined = -2, kTensor = -1 /* else: the list's length */ };
  std::vector<int> returns;
  std::vector<NumberLimit> limits;
  std::vector<c10::Warning> warnings; ///< of eager's kernel, at each call
  /// Why such a call runs at once, since values decide its shape; then all else
  /// is empty.
  std::string fallback;
  /// Owned; null until it is asked for (CallRunner::of()).
  mutable std::atomic<KeptWithCall *> runner = nullptr;
};

struct ArgumentInfo {
  std::string name;
  ArgumentKind kind;
  /// Whether numbers here may become operands of the graph.
  bool liftable;
  /// The schema's default, if it is a number, or what stands for no part at
  /// all.
  std::optional<double> initial;

  /// Whether this value becomes an operand, so that another one does not
  /// recompile. A default (alpha=1) stays an attribute: it lets the compiler
  /// drop the work, and it hardly ever varies.
  LTC_API bool lifts(const c10::IValue &value) const;
};

struct OpInfo {
  explicit OpInfo(const c10::OperatorHandle &handle);

  c10::OperatorHandle handle;
  std::string name; ///< "aten::add.Tensor"
  torch::lazy::OpKind kind;
  std::vector<ArgumentInfo> arguments;
  OpFacts facts;
  /// Whether it draws numbers.
  bool random = false;
  /// Whether it takes tensors and makes another one where the call says.
  bool makesLike = false;
  /// Its argument check_errors, if it has one.
  std::optional<size_t> errorCheck;
  /// aten::slice for aten::slice_copy: the functional form of a view.
  std::optional<c10::OperatorHandle> view;
  /// Why a call cannot be part of a graph whatever its arguments; empty if it
  /// can.
  std::string fallbackReason;

  /// Shapes by attributes and operand types. Emptied when it grows large.
  std::shared_ptr<const CallShape> findCall(Hash128 key) const;
  void rememberCall(Hash128 key, std::shared_ptr<const CallShape> call) const;

  void forgetCalls() const;

  /// Counts a fallback under both names that people look for.
  void countFallback() const;
  /// Counts a recorded call as PyTorch's own backend does: lazy::add.
  void countRecorded() const {
    auto *counter = recorded.load(std::memory_order_acquire);
    (counter ? *counter : makeRecorded()).AddValue(1);
  }
  /// Whether PyTorch's own switch sends its new calls to the CPU:
  /// LTC_FORCE_FALLBACK, torch._lazy.config.set_force_fallback().
  bool isForcedToHost() const;

private:
  torch::lazy::CounterData &makeRecorded() const;

  mutable Mutex mutex;
  mutable std::unordered_map<Hash128, std::shared_ptr<const CallShape>> calls;
  mutable torch::lazy::Counter torchCounter;
  /// Null until a call is recorded. Shared with other overloads; lives on.
  mutable std::atomic<torch::lazy::CounterData *> recorded = nullptr;
};

/// The one OpInfo of an operator. Any thread.
const OpInfo &opInfo(const c10::OperatorHandle &handle);
LTC_API const OpInfo &opInfo(const char *name, const char *overload);
/// Has all calls inferred anew.
LTC_API void forgetAllCalls();
/// The op of that name may be defined anew. Who holds its OpInfo keeps the old.
void forgetOpInfo(const c10::OperatorName &name);

} // namespace ltc::backend
