//===- graph/graph_builder.h - Graphs that are not run at once --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A front end that has a program, such as torch.compile's FX graph, builds the
// graph that the lazy device would record for it: it makes the program's calls
// on a device of the builder's, whose tensors have types and no values. One
// description says how a call becomes a node, so the same computation has the
// same key from every front end.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/engine.h"
#include "ltc_backend/graph/collect.h"

#include <ATen/core/Tensor.h>

namespace ltc::backend {

/// A compiled graph. Immutable, any thread.
class LTC_API BuiltGraph {
public:
  /// Queues one run. Inputs have the types that they were built with, are on
  /// the graph's device or on the CPU, from which they are copied. Results are
  /// lazy tensors with the strides of eager's. Random ops draw anew, unless the
  /// setting rng was eager: then they drew when the graph was built. Raises if
  /// an input has another type. Release the GIL first.
  std::vector<at::Tensor> run(const std::vector<at::Tensor> &inputs) const;
  /// The graph's text.
  std::string text() const;
  const Hash128 key;

private:
  friend class GraphBuilder;
  /// Where a value comes from when the graph runs.
  struct Source {
    enum Kind { Input, Constant, Scalar, Seed } kind = Input;
    size_t input = 0;
    std::shared_ptr<DeviceData> constant;
    LaunchArgument scalar;
  };
  struct Output {
    std::optional<uint32_t> result; ///< none for what an input or constant is
    Source source;
    torch::lazy::Shape shape;
    Layout layout;
  };
  explicit BuiltGraph(Hash128 key) : key(key) {}
  std::shared_ptr<DeviceData> dataOf(const at::Tensor &input,
                                     const TensorType &type) const;

  int64_t device = 0;
  Graph graph;
  ExecutablePtr executable; ///< null if nothing is to be computed
  std::vector<Source> sources;
  std::vector<TensorType> inputTypes;
  std::vector<Output> outputs;
};

/// Builds one graph. One thread.
class LTC_API GraphBuilder {
public:
  /// Of a graph for this device. Raises if too many are being built.
  explicit GraphBuilder(int64_t device);
  ~GraphBuilder();
  GraphBuilder(const GraphBuilder &) = delete;

  /// What the program's calls are to be made on.
  at::Device device() const { return {at::kLazy, c10::DeviceIndex(ordinal)}; }
  /// A tensor that stands for the next input, with the dtype, sizes and strides
  /// of `like`. To read its value is an error.
  at::Tensor input(const at::Tensor &like);
  /// Compiles what leads to these tensors. Raises what the compiler says.
  std::shared_ptr<const BuiltGraph>
  finish(const std::vector<at::Tensor> &outputs);

private:
  BuiltGraph::Source sourceOf(const std::shared_ptr<DeviceData> &data) const;

  const int64_t home;
  const int64_t ordinal;
  std::vector<std::shared_ptr<DeviceData>> inputs;
};

/// The device for which a graph is built there, or the device itself.
int64_t homeOf(int64_t device);

} // namespace ltc::backend
