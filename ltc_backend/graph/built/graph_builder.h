//===- built/graph_builder.h - Graphs that are not run at once --*- C++ -*-===//
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

#include "ltc_backend/graph/built/built_graph.h"
#include "ltc_backend/graph/collect.h"

namespace ltc::backend {

/// Builds one graph. One thread.
class GraphBuilder {
public:
  /// Of a graph for this device. Raises if too many are being built. A graph
  /// with `inPlace` may write the new values of inputs to their memory, which
  /// nobody else must have then.
  LTC_API explicit GraphBuilder(int64_t device, bool inPlace = false);
  LTC_API ~GraphBuilder();
  GraphBuilder(const GraphBuilder &) = delete;

  /// What the program's calls are to be made on.
  at::Device device() const { return {at::kLazy, c10::DeviceIndex(ordinal)}; }
  /// A tensor that stands for the next input, with the dtype, sizes and strides
  /// of `like`. To read its value is an error; to write to it gives the input a
  /// new value in each run.
  LTC_API at::Tensor input(const at::Tensor &like);
  /// Compiles what leads to these tensors, and to what was written to inputs.
  /// Raises what the compiler says. Once.
  LTC_API std::shared_ptr<const BuiltGraph>
  finish(const std::vector<at::Tensor> &outputs);
  /// The same without compiling it: what is returned cannot be run. Once.
  LTC_API std::shared_ptr<const BuiltGraph>
  trace(const std::vector<at::Tensor> &outputs);

private:
  struct Input {
    at::Tensor placeholder;
    TensorType type;
    const DeviceData *data;
    /// Null once the memory may be given up.
    std::shared_ptr<DeviceData> share;
  };
  /// What is to be computed: first the outputs, then the written inputs.
  struct Wanted {
    std::vector<at::Tensor> tensors;
    std::vector<TensorDataPtr> datas;
    std::vector<size_t> written; ///< inputs
  };
  std::shared_ptr<BuiltGraph> record(const std::vector<at::Tensor> &outputs);
  Wanted wantedBy(const std::vector<at::Tensor> &outputs) const;
  /// The graph of it, in which inputs give their memory to nothing but their
  /// own new values. With the list's lock.
  Collection collectFor(const Wanted &wanted, PendingList &list);
  std::optional<size_t> inputOf(const std::shared_ptr<DeviceData> &data) const;
  BuiltGraph::Source sourceOf(const std::shared_ptr<DeviceData> &data) const;
  BuiltGraph::Output outputOf(const Wanted &wanted, size_t number,
                              const Collection &collection) const;

  const int64_t home;
  const int64_t ordinal;
  const bool inPlace;
  std::vector<Input> inputs;
};

} // namespace ltc::backend
