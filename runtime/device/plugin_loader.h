//===- plugin_loader.h - Drivers as shared libraries ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/error.h"
#include "ltc/plugin.h"

#include <memory>

namespace ltc::runtime {

/// A loaded driver. Never unloaded: its code may still be on some stack.
struct Driver {
  std::string path;
  const ltc_plugin *api = nullptr;

  /// Takes the error's content and frees it; `error` is not NULL.
  Error take(ltc_error *error) const;
  Status check(ltc_error *error) const;
};

/// Opens a driver by name (libltc_driver_<name>.so beside this library) or,
/// when it contains a slash, by path. One Driver for each, for the process.
LTC_API Result<const Driver *> loadDriver(const std::string &nameOrPath);

/// Path of a library of ours, in the directory of libltc_runtime.so.
std::string siblingLibrary(const std::string &fileName);

} // namespace ltc::runtime
