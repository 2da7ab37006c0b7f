//===- settings.h - Every setting, in one table -----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A setting is one row in settings.def. It gives the field below, the
// environment variable LTC_<NAME>, the Python attribute
// torch_ltc.settings.<name> and the line in docs/settings.md. The environment
// is read once, at first use.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/error.h"

namespace ltc {

struct Settings {
#define LTC_SETTING(type, name, value, doc) type name = value;
#include "ltc/settings.def"
#undef LTC_SETTING
  bool operator==(const Settings &) const = default;
};

/// All as they were set at the time of the call: set() changes none of what it
/// gave before. Any thread.
LTC_API const Settings &settings();
/// Parses and stores one value. Any thread. InvalidArgument for an unknown name
/// (with the nearest known one) or a value that does not parse.
LTC_API Status set(std::string_view name, std::string_view value);

/// While it lives, settings() of its thread are these, which must outlive it:
/// what works in the background goes by what was set when it was asked to.
class LTC_API SettingsOfThread {
public:
  explicit SettingsOfThread(const Settings &settings);
  ~SettingsOfThread();
  SettingsOfThread(const SettingsOfThread &) = delete;
  SettingsOfThread &operator=(const SettingsOfThread &) = delete;

private:
  const Settings *before;
};

struct SettingInfo {
  std::string name, type, value, initial, doc;
};
/// The table, in order, with current values.
LTC_API std::vector<SettingInfo> listSettings();

} // namespace ltc
