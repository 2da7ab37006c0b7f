//===- compiler.h - The door to the compiler library ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler is a shared library of its own (libltc_compiler.so, with LLVM
// and MLIR inside and hidden) that is loaded at the first compile.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/artifact.h"
#include "ltc/optimizations.h"
#include "ltc/recipes.h"
#include "ltc/target.h"

#include <atomic>
#include <functional>

namespace ltc {

struct CompileOptions {
  Target target;
  Optimizations optimizations;
  Recipes recipes;      ///< what the user tunes kernels by
  std::string dumpDir;  ///< write the module after each stage here; empty: no
  std::string dumpName; ///< file stem of the dumps
  unsigned threads = 1; ///< how many may work on it; the result is the same
  /// Called by each thread besides the caller's at its end, if there is one.
  std::function<void()> threadEnds;
  /// Set when nobody wants the result any more: the compile then fails soon.
  const std::atomic<bool> *stop = nullptr;
  /// Called between phases of a compile, which run different code of the
  /// compiler, by the thread that compiles; if there is one.
  std::function<void()> betweenPhases;
};

/// How a graph is handed to a compiler that is not ours (docs/hand-over.md,
/// docs/egress.md).
enum class LoweredForm {
  Text,      ///< linalg-level MLIR
  Bytecode,  ///< the same
  Graph,     ///< the graph's own text
  StableHlo, ///< as text
  Tosa,      ///< as text
  /// The same as StableHlo, but a call that may raise for values of its
  /// operands is refused: the dialect cannot say it.
  StableHloPart
};
/// By the name that a user gives: linalg, bytecode, graph, stablehlo,
/// stablehlo-part or tosa.
LTC_API std::optional<LoweredForm> loweredForm(std::string_view name);
/// These names, as a sentence lists them.
LTC_API std::string_view loweredFormNames();

class Compiler {
public:
  virtual ~Compiler() = default;
  /// Compiles a verified graph. Any thread; calls may run at the same time.
  virtual Result<Artifact> compile(const Graph &graph,
                                   const CompileOptions &options) = 0;
  /// A verified graph without symbols for another compiler; the same threads.
  virtual Result<std::string> lower(const Graph &graph, LoweredForm form) = 0;
  /// Changes whenever the same graph could give other code; in the disk key.
  virtual std::string identity() const = 0;
  /// Fills in what the host's own machine is: triple, CPU, features.
  virtual Target hostTarget() const = 0;
};

} // namespace ltc

/// The one symbol of libltc_compiler.so. The caller owns nothing; the object
/// lives as long as the process.
extern "C" LTC_API ltc::Compiler *ltc_compiler_get();
