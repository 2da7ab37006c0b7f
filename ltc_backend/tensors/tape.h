//===- tensors/tape.h - What a thread does in a step ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A front end that wants to repeat a step without its program's calls
// (graph/frozen/step_recorder.h) has to know all that the step did. While a
// thread has a tape, whatever launches, uploads, draws or waits notes it there.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/engine.h"

#include "ltc/graph.h"
#include "ltc/profile.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/lazy/core/shape.h>

#include <functional>

namespace ltc::backend {

struct TensorData;

/// One thread's, from begin() to end().
class Tape {
public:
  /// Tells buffers apart, also from those that are gone, and keeps none.
  using Identity = std::weak_ptr<Buffer>;

  struct Launch {
    /// Who got a result that already was a tensor of the program's, or is one.
    struct Receiver {
      std::weak_ptr<TensorData> tensor;
      uint32_t result;
    };
    int64_t device = 0;
    Hash128 key;
    std::shared_ptr<const Graph> graph;
    std::vector<Identity> inputs; ///< empty for numbers
    std::vector<uint64_t> bits;   ///< of numbers
    std::vector<Receiver> receivers;
    std::vector<torch::lazy::Shape> shapes; ///< of results
    std::vector<Identity> results;          ///< once it is launched
  };
  struct Upload {
    Identity buffer;
    at::Tensor host;
    SourceId place;
  };
  struct Draw {
    uint64_t seed;
    std::optional<at::Generator> generator;
  };
  struct Wait {
    profile::Cause cause;
    std::string detail;
    SourceId place;
  };
  /// An optimizer's, as noteStep() has it.
  struct Counted {
    std::weak_ptr<TensorData> parameter;
    std::vector<at::Tensor> counts;
  };

  Tape() = default;
  ~Tape() { end(); }
  Tape(const Tape &) = delete;
  Tape &operator=(const Tape &) = delete;

  /// The calling thread's, or null.
  static Tape *current() { return ofThread; }
  void begin() { ofThread = this; }
  void end() {
    if (ofThread == this)
      ofThread = nullptr;
  }

  std::vector<Launch> launches;
  std::vector<Upload> uploads;
  std::vector<Draw> draws;
  std::vector<Wait> waits;
  std::vector<Counted> counted;
  /// Called before a graph of the thread's ends, without any lock.
  std::function<void()> beforeLaunch;

private:
  static inline thread_local Tape *ofThread = nullptr;
};

} // namespace ltc::backend
