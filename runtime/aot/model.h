//===- model.h - A loaded bundle --------------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "aot/entry.h"
#include "aot/file.h"

#include <mutex>

namespace ltc::aot {

/// Its entries have the code for the best of its targets that this processor
/// has. Any thread.
class Model {
public:
  static Result<std::unique_ptr<Model>> open(const std::string &path);
  /// Of memory that outlives it.
  static Result<std::unique_ptr<Model>> openMemory(std::string_view bytes);

  const std::vector<std::unique_ptr<Entry>> &entries() const { return all; }
  const std::string &target() const { return bundle.targets[chosen]; }
  /// Of an entry of this model.
  Status run(Entry &entry, const ltc_aot_tensor *inputs,
             const ltc_aot_tensor *outputs);
  void reset();
  void setSeed(uint64_t seed);

private:
  Model() = default;
  Status load(std::string_view bytes, std::string_view beside);
  /// Where the weights lie; state gets memory of its own.
  Status placeWeights(std::string_view bytes);

  MappedFile file, fileBeside;
  std::string_view weightBytes;
  Bundle bundle;
  size_t chosen = 0;
  std::vector<std::unique_ptr<Entry>> all;
  std::vector<std::unique_ptr<cpu::GrownMemory>> state;
  std::mutex mutex; ///< held by a run
  std::unique_ptr<Shared> shared;
};

/// Whether this processor has a level of the x86-64 psABI.
bool hasTarget(std::string_view name);

/// How many threads runs use from now on.
void useThreads(unsigned count);

} // namespace ltc::aot
