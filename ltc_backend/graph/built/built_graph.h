//===- built/built_graph.h - Graphs that a front end keeps ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/engine.h"
#include "ltc/prepared_launch.h"
#include "ltc_backend/tensors/device_data.h"
#include "ltc_backend/tensors/layout.h"

#include <ATen/core/Tensor.h>

#include <mutex>

namespace ltc::backend {

/// A compiled graph. Immutable, any thread.
class BuiltGraph {
public:
  /// Queues one run. Inputs have the types that they were built with, are on
  /// the graph's device or on the CPU, from which they are copied. Results are
  /// lazy tensors with the strides of eager's; an input that the program wrote
  /// to has its new value. Random ops draw anew, unless the setting rng was
  /// eager: then they drew when the graph was built. Raises if an input has
  /// another type. Release the GIL first.
  LTC_API std::vector<at::Tensor>
  run(const std::vector<at::Tensor> &inputs) const;
  /// The graph's text.
  LTC_API std::string text() const;
  const Graph &program() const { return *graph; }
  Hash128 key;

private:
  friend class GraphBuilder;
  friend class CompiledCall;
  friend class GraphOrigins;
  friend class OpenCall;
  friend class RegionCall;
  /// Where a value comes from when the graph runs.
  struct Source {
    enum Kind { Input, Constant, Scalar, Seed } kind = Input;
    size_t input = 0;
    std::shared_ptr<DeviceData> constant;
    LaunchArgument scalar;
    /// Whether it is another value in each run.
    bool varies() const { return kind == Input || kind == Seed; }
  };
  struct Output {
    std::optional<uint32_t> result; ///< none for what an input or constant is
    Source source;
    torch::lazy::Shape shape;
    Layout layout;
  };
  /// A new value of an input.
  struct Write {
    size_t input;
    Output value;
    /// The launch writes it to the input's memory: not so where the program
    /// could still fail then.
    bool isInPlace = false;
  };
  explicit BuiltGraph(Hash128 key) : key(key) {}
  std::shared_ptr<DeviceData> dataOf(const at::Tensor &input,
                                     const TensorType &type) const;
  /// Queues one run on buffers of the inputs' types. Of a graph that computes
  /// something.
  std::vector<BufferPtr> launch(std::span<const BufferPtr> inputs) const;
  /// The same in a launch that is prepared: numbers and constants are handed
  /// over once. Nothing if another thread does so just now.
  std::optional<std::vector<BufferPtr>>
  launchAgain(std::span<const BufferPtr> inputs) const;
  /// Of all sources, or of these.
  std::vector<LaunchArgument>
  argumentsOf(std::span<const BufferPtr> inputs) const;
  std::vector<LaunchArgument>
  argumentsOf(std::span<const BufferPtr> inputs,
              const std::vector<uint32_t> &which) const;
  LaunchArgument argument(const Source &source,
                          std::span<const BufferPtr> inputs) const;
  /// Which writes the executable does to the inputs' memory.
  void findWritesInPlace();
  /// The graph with the sizes that it runs for.
  Graph sized() const;

  int64_t device = 0;
  std::shared_ptr<const Graph> graph = std::make_shared<Graph>();
  std::vector<int64_t> symbols; ///< the values of the graph's, if it has any
  ExecutablePtr executable;     ///< null if nothing is to be computed
  std::vector<Source> sources;
  std::vector<TensorType> inputTypes;
  std::vector<Output> outputs;
  std::vector<Write> writes;
  /// How its launches are repeated; a copy of the graph begins anew.
  struct Repetition {
    Repetition() = default;
    Repetition(const Repetition &) {}
    std::mutex mutex;
    PreparedLaunchPtr prepared;
    std::vector<uint32_t> varying; ///< sources, once it is prepared
    bool isLaunched = false;       ///< one that comes once is not prepared
  };
  mutable Repetition repetition;
};

} // namespace ltc::backend
