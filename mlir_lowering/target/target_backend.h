//===- target_backend.h - What a kind of device has of its own --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The seam between what any target shares (optimize/) and what one kind of
// device has of its own, a folder here: its numbers, how a kernel is cut into a
// parallel loop, which loops it becomes, and what machine code.

//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/error.h"
#include "ltc/target.h"

#include "mlir_lowering/target/tuning.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <functional>

namespace llvm {
class Module;
} // namespace llvm

namespace ltc::compiler {

/// The code generator for one kind of target. Has no state: any thread may
/// call, also at the same time.
class TargetBackend {
public:
  virtual ~TargetBackend() = default;

  /// Fills in what a target leaves open: what the host's own machine is.
  virtual Target resolve(Target target) const = 0;

  /// The numbers for a resolved target, before recipes change them.
  virtual Tuning tuning(const Target &target) const = 0;

  /// Of what the addresses of buffers are multiples, if kernels may count on
  /// it.
  virtual int64_t bufferAlignment() const { return 1; }

  /// Makes a kernel on tensors one parallel loop (scf.forall) over tiles.
  virtual mlir::LogicalResult schedule(mlir::func::FuncOp kernel,
                                       const Schedule &schedule) const = 0;

  /// Writes the linalg ops of a kernel on memrefs as loops.
  virtual mlir::LogicalResult emitLoops(mlir::func::FuncOp kernel,
                                        const Schedule &schedule,
                                        const TargetFacts &facts) const = 0;

  /// Takes kernels and the entry point to the LLVM dialect.
  virtual mlir::LogicalResult lower(mlir::ModuleOp part,
                                    const TargetFacts &facts) const = 0;

  /// What kind of code it makes (docs/program-format.md).
  virtual llvm::StringRef codeKind() const = 0;

  /// Makes the code of a lowered module, of which private functions are no
  /// part. `optimized` sees LLVM's module before it becomes code.
  virtual Result<std::string> emitCode(
      mlir::ModuleOp part, const Target &target, const TargetFacts &facts,
      const std::function<void(const llvm::Module &)> &optimized) const = 0;
};

/// The backend for a kind of target, which lives as long as the process; an
/// Unsupported error that lists the kinds if there is none.
Result<const TargetBackend *> findBackend(const std::string &kind);

} // namespace ltc::compiler
