//===- library_calls.h - Kernels that a program calls -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/artifact.h"
#include "ltc/plugin.h"

#include <list>
#include <memory>

namespace ltc::drivers {

/// The host's kernels for the memory of one device.
struct Library {
  const ltc_host &host;
  /// As the host names the device; nullptr: the kernels are for its own memory.
  const char *type = nullptr;
  uint32_t number = 0;

  ltc_kernel *resolve(ltc_bytes call, char *message, size_t capacity) const;
  /// Whether there is one for a call, a graph of one node.
  bool has(const Graph &call) const;
};

/// A library call: the kernel, and its views, of which each call fills in the
/// memory, sizes and strides. No kernel: it is control flow, or there is none
/// for that device.
struct BoundCall {
  std::unique_ptr<ltc_kernel, void (*)(ltc_kernel *)> kernel;
  std::vector<ltc_view> views;
  size_t operands;      ///< the first of them; the rest are results
  uint64_t binding = 0; ///< a number that no other one has

  /// Fills in the views from the words of a step.
  void read(const int64_t *words);
};

/// A program's calls by number; equal ones have one kernel. A kernel takes its
/// sizes from its views, and is bound to its attributes: where those depend on
/// symbols, there is one kernel for each set of values, kept for as many as
/// were used last. From one thread at a time.
class Calls {
public:
  /// Binds all of them, those with symbols for the hints.
  static Result<Calls> bind(const std::vector<Artifact::Call> &calls,
                            const Library &library);
  /// Makes the calls those for these values.
  Status choose(std::span<const int64_t> symbols);

  BoundCall &operator[](size_t number) { return bound[kernelOf[number]]; }
  size_t size() const { return kernelOf.size(); }

private:
  /// The kernels of `varying` for some values.
  struct Choice {
    std::vector<int64_t> symbols;
    std::vector<BoundCall> calls;
  };
  struct Varying {
    size_t kernel; ///< which of `bound`
    Graph graph;
  };
  /// Steps of a loop with a length that grows need one choice each; a loader
  /// that sorts by length comes back to as many as it has lengths.
  static constexpr size_t kMaxChoices = 64;

  explicit Calls(const Library &library) : library(library) {}
  Result<std::vector<BoundCall>>
  bindVarying(std::span<const int64_t> symbols) const;

  Library library;
  std::vector<BoundCall> bound;
  std::vector<uint32_t> kernelOf; ///< by number: which of `bound`
  std::vector<Varying> varying;
  std::vector<int64_t> chosen;
  std::list<Choice> others; ///< the last used first
};

} // namespace ltc::drivers
