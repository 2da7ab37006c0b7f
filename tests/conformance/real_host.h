//===- real_host.h - The plugin behind torch_ltc's own runtime --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Other suites call the table. These give whole graphs to the runtime, which
// compiles them for the device and goes through the table itself; the driver
// cpu computes the same beside it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "driver.h"

#include "ltc/compiler.h"
#include "ltc/engine.h"

namespace conformance {

/// The path of the library, and what devices are opened with, as settings.
std::string pluginPath();

using Values = std::vector<double>;

/// A host tensor or a scalar.
struct Value {
  ltc::ValueType type;
  Values values;
};

class RealHost : public DeviceTest {
protected:
  /// Skips where the runtime cannot be used here.
  void SetUp() override;
  void TearDown() override;

  static ltc::Graph parse(std::string_view text);
  /// Values in [-1, 1), the same for the same type and number; integers in
  /// [0, bound).
  static Value made(const ltc::ValueType &type, uint64_t seed,
                    int64_t bound = 2);

  ltc::LaunchArgument upload(ltc::Engine &engine, const Value &value);
  Values download(ltc::Engine &engine, const ltc::BufferPtr &buffer);
  /// One run. Nothing, and the test skipped, where this tool has no kernel for
  /// a call that the device leaves to the host.
  std::optional<std::vector<ltc::BufferPtr>>
  run(ltc::Engine &engine, const ltc::Graph &graph,
      std::vector<ltc::LaunchArgument> arguments);
  /// Runs on both, with made inputs, and compares.
  void expectEqual(std::string_view graph, double tolerance = 1e-5,
                   int64_t bound = 2);

  ltc::Engine *engine = nullptr;    ///< the plugin's
  ltc::Engine *reference = nullptr; ///< the driver cpu's
};

/// Fails the test unless they agree.
void expectClose(const Values &found, const Values &wanted, double tolerance,
                 const std::string &what);

/// The compiler library beside the runtime; nullptr if there is none.
ltc::Compiler *compiler();

} // namespace conformance
