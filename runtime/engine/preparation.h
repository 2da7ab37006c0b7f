//===- preparation.h - What repeated launches share -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "engine/program.h"

#include "ltc/plugin.h"
#include "ltc/prepared_launch.h"

#include <span>

namespace ltc::runtime {

using DeviceBufferPtr = std::shared_ptr<DeviceBuffer>;

/// The results that stay, the operands as the driver takes them, and one
/// completion for each kind of result. The first run is a launch like any
/// other, into these buffers; a later one exchanges only what varies.
class Preparation final : public PreparedLaunch {
public:
  /// An error if a result cannot be what it is said to be.
  static Result<std::shared_ptr<Preparation>>
  make(std::shared_ptr<BoundProgram> bound, std::span<const Renewal> renewals,
       const std::vector<bool> &varies, const void *owner);

  BufferPtr result(size_t i) const override { return results[i]; }
  bool hasFailed() const override {
    return isSpent.load(std::memory_order_acquire);
  }
  const Executable *executable() const override { return bound.get(); }

  bool varies(size_t input) const {
    size_t at = place[input];
    return at < varying.size() && varying[at] == input;
  }
  /// Whether it is a result of the run before, in later runs.
  bool isUpdated(size_t input) const { return updates[input]; }

  /// One more run is queued, and has finished.
  void expect();
  void finish(const FailurePtr &why);

  const std::shared_ptr<BoundProgram> bound;
  /// Inputs and results that are others in each run.
  std::vector<uint32_t> varying, fresh;
  std::vector<uint32_t> place;          ///< of an input among `varying`
  std::vector<DeviceBufferPtr> results; ///< null for those
  const std::shared_ptr<Completion> updated = std::make_shared<Completion>(0),
                                    remade = std::make_shared<Completion>(0);
  // Of whoever launches it.
  bool isLaunched = false;
  std::vector<BufferPtr> kept; ///< inputs that stay as they are
  // Of whoever runs the queue's work.
  std::vector<ltc_operand> operands;
  FailurePtr failure;

private:
  explicit Preparation(std::shared_ptr<BoundProgram> program)
      : bound(std::move(program)), updates(bound->inputs.size()) {}
  Status add(Renewal renewal, const std::vector<bool> &varies,
             const void *owner);

  std::vector<bool> updates; ///< by input
  std::atomic<bool> isSpent = false;
};

/// Which inputs and results a run has: all of its program's, or of a prepared
/// launch that has run before those that vary.
struct RunShape {
  std::shared_ptr<BoundProgram> bound;
  std::shared_ptr<Preparation> prepared = nullptr; ///< or null
  bool isAgain = false;

  size_t inputs() const {
    return isAgain ? prepared->varying.size() : bound->inputs.size();
  }
  size_t results() const {
    return isAgain ? prepared->fresh.size() : bound->results.size();
  }
  /// Their numbers in the program.
  size_t input(size_t i) const { return isAgain ? prepared->varying[i] : i; }
  size_t result(size_t i) const { return isAgain ? prepared->fresh[i] : i; }
  /// The run's input whose memory the run's result takes.
  std::optional<size_t> donated(size_t i) const {
    const std::optional<uint32_t> &input = bound->artifact().donated[result(i)];
    if (!input)
      return std::nullopt;
    return isAgain ? prepared->place[*input] : *input;
  }
  /// The buffer that stays for the run's result; null for a fresh one.
  DeviceBufferPtr staying(size_t i) const {
    return prepared ? prepared->results[result(i)] : nullptr;
  }
};

} // namespace ltc::runtime
