//===- artifact.h - What the compiler makes and the cache keeps -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/graph.h"
#include "ltc/program.h"

namespace ltc {

/// A compiled graph, for one target: the program of program.h, to be made and
/// changed. Plain data; equal input gives equal bytes: it names nodes of its
/// graph, and no line of the program that recorded it. All sizes, amounts and
/// lengths are numbers or symbolic: numbers of `formulas`.
struct Artifact {
  std::string compiler; ///< Compiler::identity() of what made it
  std::string target;   ///< Target::str() of what it was compiled for
  struct Blob {
    std::string kind, bytes;
    bool operator==(const Blob &) const = default;
  };
  std::vector<Blob> blobs;
  LTC_API size_t codeBytes() const; ///< of all blobs
  struct Kernel {
    std::string name, kind;
    uint32_t blob = 0;
    uint32_t threads = 1; ///< that share an iteration
    bool operator==(const Kernel &) const = default;
  };
  std::vector<Kernel> kernels;
  /// A library call: a one-node Graph whose inputs are the operands the step
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
  std::vector<Formula> formulas; ///< of the graph's symbols
  uint32_t symbols = 0;          ///< none of a static graph
  std::vector<ValueType> inputs;
  std::vector<TensorType> results;
  /// For each result, the input whose memory it takes over: some or all of
  /// those that the graph offers. Nothing is written there before all checks
  /// have been made.
  std::vector<std::optional<uint32_t>> donated;
  std::string graphText; ///< Graph::str(SourceLines::Omit) of its graph

  /// Scratch memory for one run: bytes of each part. A part begins at the next
  /// multiple of LTC_ARENA_ALIGNMENT.
  std::vector<int64_t> arena;
  /// Bytes of all of it for these values of the symbols, of which there are as
  /// many as the artifact has; nothing if they are impossible.
  LTC_API std::optional<int64_t>
  arenaBytes(std::span<const int64_t> symbols) const;
  // What is done, in order; see program.h.
  std::vector<ltc_step> steps;
  std::vector<ltc_word> words;
  std::vector<ltc_extent> extents;
  std::vector<uint32_t> nodes; ///< numbers of those that steps compute
  /// Launches of kernels and library calls among the steps.
  LTC_API size_t launches() const;
  /// The steps and what they name, for people: one line each.
  LTC_API std::string listing() const;

  static constexpr uint32_t kNoNode = LTC_NONE;

  LTC_API std::string serialize() const;
  /// How long the bytes are that begin with this header; an error if it is none
  /// or of another format version. Looks at the first headerBytes.
  static Result<size_t> sizeBehind(std::string_view header);
  static constexpr size_t headerBytes = LTC_HEADER_BYTES;
  /// Refuses anything but exactly what serialize() made.
  LTC_API static Result<Artifact> deserialize(std::string_view bytes);
};

} // namespace ltc
