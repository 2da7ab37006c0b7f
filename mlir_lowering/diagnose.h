//===- diagnose.h - MLIR diagnostics as one ltc::Error ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/error.h"
#include "mlir/IR/Diagnostics.h"

namespace ltc::compiler {

/// Listens to a context while it lives, on the thread that made it, and keeps
/// the first error with its notes. Warnings and remarks are logged.
class Diagnosis {
public:
  explicit Diagnosis(mlir::MLIRContext *context);

  /// What a failed step reports. `doing` completes "could not ...": it is used
  /// when the step emitted no diagnostic.
  Error error(Stage stage, std::string_view doing);

private:
  std::string message, op;
  Source source;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace ltc::compiler
