//===- program.h - An artifact loaded on a device ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "device/buffer.h"
#include "engine/host_calls.h"
#include "engine/loop_meter.h"
#include "engine/thread_choice.h"
#include "engine/wait_habit.h"

#include "ltc/profile_graphs.h"

#include <atomic>

namespace ltc::runtime {

/// Code on the device. That of a graph with symbols serves many sizes.
class Program {
public:
  /// Loads `artifact`, whose bytes are `bytes`, and takes it if there is no
  /// error; blocks while the device runs something.
  static Result<std::shared_ptr<Program>> load(std::shared_ptr<Device> device,
                                               Artifact &&artifact,
                                               std::string_view bytes);
  ~Program() { device->unload(handle); }

  const Artifact &artifact() const { return loaded; }
  ltc_program *get() const { return handle; }
  const std::shared_ptr<Device> &home() const { return device; }
  /// Which library calls the device leaves to the host, by number; empty: none.
  const std::vector<bool> &onHost() const { return isOnHost; }
  bool hasHostCalls() const { return !isOnHost.empty(); }

private:
  Program(std::shared_ptr<Device> device, Artifact artifact,
          ltc_program *handle);

  std::shared_ptr<Device> device;
  Artifact loaded;
  ltc_program *handle;
  std::vector<bool> isOnHost;
};

/// A program for one graph without symbols: with the sizes it runs for, and the
/// lines where the graph was recorded.
class BoundProgram final : public Executable, public profile::Profiled {
public:
  /// `symbols`: the values of the artifact's, one each. An error if they give a
  /// size that is negative or too large.
  static Result<std::shared_ptr<BoundProgram>>
  bind(std::shared_ptr<Program> program, std::vector<int64_t> symbols,
       const Graph &graph);
  /// The same with other values.
  static Result<std::shared_ptr<BoundProgram>>
  bind(const BoundProgram &like, std::vector<int64_t> symbols, Hash128 key);

  const Artifact &artifact() const override { return program->artifact(); }
  /// What the driver's error number means: a check in the code, or behind those
  /// a library call. Types are of this run's sizes, and the line is one of the
  /// graph that this process recorded.
  struct Site {
    std::string op, operands;
    Source source;
  };
  std::optional<Site> siteOf(int64_t number) const;

  profile::GraphDetails details() const override;
  /// The node that makes a result; of an input that is one, nothing.
  profile::GraphNode makerOfResult(size_t result) const;

  /// The line that wanted the graph, and how many nodes it has.
  Source endedAt() const { return sourceOf(endedBy); }
  size_t ops() const { return nodes; }
  /// What its steps are called, for people. Of whoever runs the queue's work.
  const std::vector<std::string> &labels();

  const Hash128 key; ///< of the graph

  const std::shared_ptr<Program> program;
  const std::vector<int64_t> symbols;
  std::vector<ValueType> inputs;
  std::vector<TensorType> results;
  size_t arenaBytes = 0;
  size_t launches = 0; ///< Artifact::launches()
  /// Whether its first run makes so much memory resident that what a compile
  /// left should go before it. Donated results count: an optimizer's averages
  /// are memory that nobody has touched.
  bool needsMuchMemory() const;
  /// How often it ran, if its program serves other sizes too. Any thread.
  std::atomic<int64_t> runs = 0;
  /// Whether a program for these sizes alone was asked for.
  std::atomic<bool> replaced = false;
  /// Of such a program: what it took the place of, and further sizes want.
  std::shared_ptr<Program> forAllSizes;
  // Of whoever runs the queue's work.
  ThreadChoice threads;
  LoopWindow loop;
  WaitHabit habit; ///< under the queue's lock
  /// Made by the first run that needs it.
  std::unique_ptr<HostCalls> hostCalls;

private:
  BoundProgram(std::shared_ptr<Program> program, std::vector<int64_t> symbols,
               const Graph &graph);
  BoundProgram(const BoundProgram &like, std::vector<int64_t> symbols,
               Hash128 key)
      : key(key), program(like.program), symbols(std::move(symbols)),
        sources(like.sources), endedBy(like.endedBy), nodes(like.nodes) {}
  /// Computes its sizes. False if some are negative or too large.
  bool setSizes();
  static Result<std::shared_ptr<BoundProgram>>
  sized(std::shared_ptr<BoundProgram> bound);
  size_t bytesOfResults() const;
  std::optional<ThreadChoice::Time> expectedTime() const;
  Source sourceOfNode(uint32_t node) const;
  /// With the sizes and the lines of this run; nothing if it cannot be had.
  std::optional<Graph> graphThatRan() const;
  std::string operandsOfNode(uint32_t node) const;

  std::vector<std::string> stepLabels; ///< once asked for
  std::vector<SourceId> sources;       ///< by node
  SourceId endedBy;
  size_t nodes;
};

/// BoundProgram::bind, as what an engine hands out.
inline Result<ExecutablePtr> bindProgram(std::shared_ptr<Program> program,
                                         std::vector<int64_t> symbols,
                                         const Graph &graph) {
  auto bound =
      BoundProgram::bind(std::move(program), std::move(symbols), graph);
  if (!bound)
    return bound.takeError();
  return ExecutablePtr(std::move(*bound));
}

} // namespace ltc::runtime
