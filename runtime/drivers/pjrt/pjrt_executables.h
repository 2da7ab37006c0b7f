//===- pjrt_executables.h - The code that a device has loaded --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// StableHLO is compiled for its sizes, so sizes that vary make many executables
// of a program's lines. A device keeps some and lets go of those that have not
// run for longest; what runs again is compiled again.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "pjrt_client.h"

#include <mutex>
#include <unordered_map>

namespace ltc::pjrt {

/// Code of a program: StableHLO, which stays, and what was made of it.
struct Code {
  std::string_view module;
  std::weak_ptr<const Executable> loaded;
};

/// Any thread.
class Executables {
public:
  void use(DeviceRef ref) { device = ref; }
  /// How many are kept, at least 1.
  void limit(size_t executables) { most = executables; }

  /// Compiles, unless equal code is loaded.
  Outcome load(std::string_view module, ExecutablePtr &made);
  /// The same, soon done where the code is still loaded.
  Outcome load(Code &code, ExecutablePtr &made);

  int64_t compiles() const { return compiled; }
  /// How often code was let go of.
  int64_t evictions() const { return evicted; }

private:
  void makeRoom();

  DeviceRef device;
  size_t most = 256;
  std::mutex mutex;
  std::unordered_map<std::string, ExecutablePtr> kept; ///< by module
  std::atomic<int64_t> compiled = 0, evicted = 0;
};

} // namespace ltc::pjrt
