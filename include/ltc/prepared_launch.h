//===- prepared_launch.h - A launch to be repeated --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/engine.h"

#include <span>

namespace ltc {

/// What a result of a launch becomes when that is made again.
enum class Renewal : uint8_t {
  Fresh,   ///< another buffer
  Updated, ///< the same one: the input that donates its memory from then on
  Remade,  ///< the same one, of memory that is written anew
};

/// A launch that is made again and again, with other values of some inputs.
/// Results that stay are the same buffers after each run, and ready when all
/// runs are. While a run is launched nobody may read them but in the device's
/// queue. If a run fails, the launch is of no use any more: what was to be
/// updated has its value from before once the error is delivered, and what was
/// to be remade has failed. One thread at a time.
class PreparedLaunch {
public:
  virtual ~PreparedLaunch() = default;
  /// Null for a fresh one.
  virtual BufferPtr result(size_t i) const = 0;
  virtual bool hasFailed() const = 0; ///< any thread
  virtual const Executable *executable() const = 0;
};
using PreparedLaunchPtr = std::shared_ptr<PreparedLaunch>;

/// One run of it.
struct PreparedRun {
  std::vector<BufferPtr> fresh; ///< results, in their order
  BufferPtr whole;              ///< without memory: ready when the run is
};

/// Says what becomes of each result, and whether each input may be another in
/// later runs. What is updated or fresh is so by Artifact::donated; an error
/// where that does not fit.
LTC_API Result<PreparedLaunchPtr> prepare(Engine &engine,
                                          const ExecutablePtr &executable,
                                          std::span<const Renewal> renewals,
                                          const std::vector<bool> &varies);

/// As Engine::launch(). The first run wants all inputs; later ones those that
/// vary, in their order.
LTC_API Result<PreparedRun> launch(Engine &engine,
                                   const PreparedLaunchPtr &prepared,
                                   std::vector<LaunchArgument> arguments,
                                   std::shared_ptr<const void> kept);

} // namespace ltc
