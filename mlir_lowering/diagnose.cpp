//===- diagnose.cpp - MLIR diagnostics as one ltc::Error --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/diagnose.h"

#include "ltc/log.h"
#include "mlir_lowering/import/import.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace ltc::compiler {

/// The ATen name in a message such as `'ltc.op' op "aten::add.Tensor" ...`.
static std::string opIn(StringRef text) {
  size_t start = text.find("aten::");
  if (start == StringRef::npos)
    return {};
  return text.substr(start)
      .take_while([](char c) {
        return llvm::isAlnum(c) || c == ':' || c == '_' || c == '.';
      })
      .str();
}

Diagnosis::Diagnosis(MLIRContext *context)
    : handler(context, [this](Diagnostic &diagnostic) {
        std::string text = diagnostic.str();
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error) {
          log(LogLevel::Info, Stage::Optimize, text);
          return success();
        }
        if (!message.empty())
          return success();
        message = text;
        source = sourceAt(diagnostic.getLocation());
        op = opIn(text);
        for (Diagnostic &note : diagnostic.getNotes())
          if (op.empty())
            op = opIn(note.str());
        return success();
      }) {}

Error Diagnosis::error(Stage stage, std::string_view doing) {
  Error error;
  error.code = ErrorCode::CompileFailed;
  error.stage = stage;
  error.message = "could not " + std::string(doing);
  if (!message.empty())
    error.message += ": " + message;
  error.op = op;
  error.source = source;
  error.hint = "set LTC_DUMP=<directory> and look at the graph with ltc-opt";
  return error;
}

} // namespace ltc::compiler
