//===- fake_device.h - A device and a compiler inside the test --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "engine/engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <climits>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace fake {

/// What a run of the fake device does: reads the inputs' memory, writes the
/// results'. Returns an error message; empty is success.
using Body = std::function<std::string(const std::vector<float *> &inputs,
                                       const std::vector<float *> &results)>;

/// Shared by all fake devices of a test; reset by FakeDevice's constructor.
struct State {
  std::mutex mutex;
  std::condition_variable changed;
  bool gateClosed = false; ///< runs wait while it is
  int waitingAtGate = 0;
  std::vector<std::string> order;     ///< entries, as they ran
  std::map<std::string, Body> bodies; ///< by entry; others do nothing
  std::atomic<int> buffers = 0, programs = 0, devices = 0, allocations = 0;
  std::atomic<size_t> failAbove = SIZE_MAX; ///< bytes that are out of memory
  std::atomic<bool> hostReachable = true;
  std::atomic<int> refuseLoads = 0;          ///< how many of the next programs
  std::atomic<int> mostPrograms = INT_MAX;   ///< there is memory for so many
  std::string target;                        ///< of devices
  std::vector<ltc_buffer *> arenas;          ///< as each run got it
  std::vector<std::vector<int64_t>> symbols; ///< the same
};
State &state();

/// Blocks runs until it is opened or destroyed.
class Gate {
public:
  Gate();
  ~Gate() { open(); }
  void open();
  /// Until a run stands before the gate.
  void awaitArrival();
};

/// Gives a graph of one node the entry of its op, and counts.
class FakeCompiler final : public ltc::Compiler {
public:
  ltc::Result<ltc::Artifact>
  compile(const ltc::Graph &graph, const ltc::CompileOptions &options) override;
  ltc::Result<std::string> lower(const ltc::Graph &graph,
                                 ltc::LoweredForm) override {
    return graph.str();
  }
  std::string identity() const override { return name; }
  ltc::Target hostTarget() const override { return {}; }

  std::atomic<int> compiles = 0;
  std::atomic<size_t> arenaBytes = 0;
  std::function<void()> during; ///< called in each compile
  ltc::CompileOptions lastOptions;
  bool failing = false;
  bool failsAtLoops = false;
  bool refusesSymbols = false;
  std::string name = "fake";
};

/// An engine over a fake device.
class EngineTest : public ::testing::Test {
protected:
  EngineTest();
  ~EngineTest() override;

  /// inputs f32[4] each, one node `op`, one result; `donates` may be given.
  ltc::ExecutablePtr program(const std::string &op, size_t inputs = 1,
                             std::optional<uint32_t> donates = std::nullopt);
  ltc::BufferPtr upload(float value);
  ltc::BufferPtr launch(const ltc::ExecutablePtr &executable,
                        std::vector<ltc::BufferPtr> buffers);
  /// All four elements, which must be equal; NaN and a failure if not.
  float read(const ltc::BufferPtr &buffer);

  /// What the tests mean by a process of its own: nothing is in memory.
  std::unique_ptr<ltc::runtime::DeviceEngine> openEngine();

  FakeCompiler compiler;
  std::unique_ptr<ltc::runtime::DeviceEngine> engine;
};

ltc::Graph graphOf(const std::string &op, size_t inputs = 1,
                   std::optional<uint32_t> donates = std::nullopt,
                   int64_t elements = 4);

/// What a launch's error says before it names the graph, as it has to.
std::string withoutGraph(const std::string &message);

} // namespace fake
