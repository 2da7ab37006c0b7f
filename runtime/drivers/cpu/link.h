//===- link.h - From object files to running code ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/error.h"
#include "ltc/target.h"

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace ltc::cpu {

/// This machine: its triple, CPU and features as LLVM names them.
Target hostTarget();
/// The CPU of that LLVM name ("x86-64-v3") on this machine's system; an empty
/// name is `host`.
Result<Target> targetNamed(const std::string &cpu, const Target &host);

/// Object files in executable memory. Freed with the last owner; its code
/// must not be running then.
class LinkedCode {
public:
  virtual ~LinkedCode() = default;
  std::vector<void *> symbols; ///< addresses of those asked for
};

/// Address of a function that compiled code may call, or nullptr.
using FindSymbol = void *(*)(const std::string &name);

/// Links relocatable ELF objects of this machine's kind, each for itself, and
/// finds the symbols of these names in them. Any thread.
Result<std::unique_ptr<LinkedCode>>
link(std::span<const std::string_view> objects,
     std::span<const std::string_view> names, FindSymbol findSymbol);

} // namespace ltc::cpu
