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

struct Fault;

/// A loaded driver. Never unloaded: its code may still be on some stack.
struct Driver {
  std::string path;
  /// Of this host's size: what the plugin's own table lacks is NULL.
  const ltc_plugin *api = nullptr;

  /// Take the error's content and free it; `error` is not NULL.
  Error take(ltc_error *error) const;
  Fault takeFault(ltc_error *error) const;
  Status check(ltc_error *error) const;
};

/// What setting `device` has between commas: a driver's name or path, and
/// behind a colon what its devices are named by, as in "pjrt:/lib/plugin.so".
struct DeviceText {
  std::string driver, argument;
};
DeviceText splitDevice(std::string_view text);

/// Opens a driver by path when it contains a slash, else by name: the library
/// libltc_driver_<name>.so beside this one, or in a folder of setting
/// plugin_path. One Driver for each, for the process.
Result<const Driver *> loadDriver(const std::string &nameOrPath);

/// What is wrong with a plugin's table, or success.
Status checkTable(const ltc_plugin &table);

/// Path of a library of ours, in the directory of libltc_runtime.so.
std::string siblingLibrary(const std::string &fileName);

} // namespace ltc::runtime
