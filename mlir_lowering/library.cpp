//===- library.cpp - The door of libltc_compiler.so -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/handover/linalg.h"
#include "mlir_lowering/stages.h"
#include "mlir_lowering/target/target_backend.h"

namespace {

class Library final : public ltc::Compiler {
public:
  ltc::Result<ltc::Artifact>
  compile(const ltc::Graph &graph,
          const ltc::CompileOptions &options) override {
    return ltc::compiler::compileGraph(graph, options);
  }
  ltc::Result<std::string> lower(const ltc::Graph &graph,
                                 ltc::LoweredForm form) override {
    return ltc::compiler::lowerGraph(graph, form);
  }
  std::string identity() const override {
    return ltc::compiler::compilerIdentity();
  }
  ltc::Target hostTarget() const override {
    ltc::Target open;
    return (*ltc::compiler::findBackend(open.kind))->resolve(open);
  }
};

} // namespace

ltc::Compiler *ltc_compiler_get() {
  static auto *library = new Library; // lives as long as the process
  return library;
}
