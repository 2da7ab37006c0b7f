//===- artifact.h - What the compiler makes and the cache keeps -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/graph.h"

namespace ltc {

/// A compiled graph, for one target. Plain data; equal input gives equal bytes:
/// it names nodes of its graph, and no line of the program that recorded it.
struct Artifact {
  std::string compiler; ///< Compiler::identity() of what made it
  std::string target;   ///< Target::str() of what it was compiled for
  std::string entry;    ///< symbol of the entry point, see below
  /// Relocatable objects, each of which refers to itself and those before it
  /// alone, the entry point's last; PTX, or what the driver loads.
  std::vector<std::string> objects;
  LTC_API size_t codeBytes() const; ///< of all objects
  /// Scratch memory for one run, 64-byte aligned; constant for a static graph.
  Formula arenaBytes;
  uint32_t kernels = 0; ///< parallel loops and library calls in the code
  /// A library call: a one-node Graph whose inputs are the operands the code
  /// passes, in order, and whose outputs are all of its results. Of a dynamic
  /// graph it has the same symbols, or none where its sizes are known:
  /// Graph::instantiate() says what is called.
  struct Call {
    Graph graph;
    uint32_t node = kNoNode; ///< the graph's that makes it
    /// Whether a result may lie in donated memory already when it fails. Never
    /// so of a call that fails for some values of its operands.
    bool spoils = false;
  };
  std::vector<Call> calls; ///< by number
  /// What an error number means: the op, and the node of the graph that
  /// `graphText` is, which tells what types it is given.
  struct ErrorSite {
    std::string op;
    uint32_t node = kNoNode;
    /// What to say: of an index that is out of range, {index} and {size} in
    /// their places, where empty says it in general words; or of a value.
    std::string words;
    bool operator==(const ErrorSite &) const = default;
  };
  std::vector<ErrorSite> errorSites;
  /// Whether donated memory may have been written to when the run fails at this
  /// number: that of an error site, or behind those of a call.
  LTC_API bool spoils(size_t number) const;
  /// Symbolic sizes in `inputs` and `results` are numbers of these formulas of
  /// the graph's symbols; both are empty and 0 for a static graph.
  std::vector<Formula> formulas;
  uint32_t symbols = 0;
  std::vector<ValueType> inputs;
  std::vector<TensorType> results;
  /// For each result, the input whose memory it takes over: some or all of
  /// those that the graph offers. Nothing is written there before all checks
  /// have been made.
  std::vector<std::optional<uint32_t>> donated;
  std::string graphText; ///< Graph::str(SourceLines::Omit) of its graph

  static constexpr uint32_t kNoNode = UINT32_MAX;

  LTC_API std::string serialize() const;
  /// How long the bytes are that begin with this header; nothing if it is none
  /// of this version. Looks at the first headerBytes.
  LTC_API static std::optional<size_t> sizeBehind(std::string_view header);
  static constexpr size_t headerBytes = 40;
  /// Refuses anything but exactly what serialize() made.
  LTC_API static Result<Artifact> deserialize(std::string_view bytes);
};

// The entry point on a CPU, `void entry(void **arguments)`: arguments[i] is
//   - for graph input i, if a tensor: a pointer to its memref descriptor
//     {void *allocated, void *aligned, int64_t offset, sizes[rank],
//      strides[rank]}, as MLIR's C interface lays it out;
//   - for graph input i, if a scalar: a pointer to its double, int64_t or bool;
//   - after the inputs, for each result without a donated input: its
//     descriptor; a donated result is written into its input;
//   - then one pointer to the descriptor of the arena, memref<?xi8>;
//   - then, if the graph has symbols, a pointer to their values, int64_t each;
//   - last, a pointer to a pointer that the code hands back to the
//     functions below as `context`.
// The code calls, by symbol:
//   void ltc_parallel_for(void *context, int64_t n, int64_t grain,
//                         void (*body)(int64_t begin, int64_t end, void *),
//                         void *argument);
//   void ltc_kernel_call(void *context, int64_t call, int64_t *words);
//     words: for each operand, then each result: a tensor's data pointer,
//     sizes and strides (in elements), or a scalar's 64 bits
//     (double, or sign-extended integer).
//   void ltc_copy(void *context, void *to, const void *from, int64_t bytes);
// None of these does anything once a check or a call has failed. What writes to
// donated memory is called through them.
//   void ltc_index_error(int64_t site, int64_t index, int64_t bound);
//   void ltc_value_error(int64_t site);
//     site numbers Artifact::errorSites; records the first one, returns.

} // namespace ltc
