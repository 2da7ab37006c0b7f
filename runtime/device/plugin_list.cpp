//===- plugin_list.cpp - The devices of several drivers -------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/plugin_list.h"

#include "ltc/log.h"
#include "ltc/settings.h"

#include <algorithm>
#include <mutex>
#include <set>

namespace ltc::runtime {

namespace {

struct Listed {
  const Driver *driver = nullptr;
  uint32_t first = 0, devices = 0; ///< ordinals of the driver's
};

Error invalid(std::string message, std::string hint = "") {
  return {ErrorCode::InvalidArgument,
          Stage::Execute,
          std::move(message),
          "",
          {},
          std::move(hint)};
}

Result<Listed> ask(std::string_view device) {
  auto [name, argument] = splitDevice(device);
  Result<const Driver *> driver = loadDriver(name);
  if (!driver)
    return driver.takeError();
  const ltc_plugin &api = *(*driver)->api;
  Listed found{*driver};
  if (!argument.empty() && !api.devices_named)
    return invalid("the driver " + name +
                       " takes nothing behind a colon, and LTC_DEVICE has " +
                       std::string(device),
                   "LTC_DEVICE=" + name);
  static std::mutex mutex; // the ABI: one thread at a time
  std::lock_guard lock(mutex);
  ltc_error *error =
      argument.empty()
          ? api.device_count(&found.devices)
          : api.devices_named(argument.c_str(), &found.first, &found.devices);
  if (error)
    return (*driver)->take(error);
  return found;
}

/// Drivers that were left out. To ask a bad one again may take seconds.
class LeftOut {
public:
  bool has(const std::string &nameOrPath) {
    std::lock_guard lock(mutex);
    return asked.contains({settings().plugin_path, nameOrPath});
  }
  void add(const std::string &nameOrPath, const Error &why) {
    std::lock_guard lock(mutex);
    if (asked.emplace(settings().plugin_path, nameOrPath).second)
      log(LogLevel::Warn, Stage::Execute,
          "LTC_DEVICE goes on without " + nameOrPath + ": " + why.message);
  }

private:
  std::mutex mutex;
  std::set<std::pair<std::string, std::string>> asked; ///< where, for what
};

LeftOut &leftOut() {
  static auto *all = new LeftOut;
  return *all;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t";
  text.remove_prefix(std::min(text.find_first_not_of(blank), text.size()));
  return text.substr(0, text.find_last_not_of(blank) + 1);
}

/// Calls `each` with the parts of a text that commas separate.
template <typename Each> void split(std::string_view text, Each each) {
  while (!text.empty()) {
    size_t comma = std::min(text.find(','), text.size());
    if (std::string_view part = trimmed(text.substr(0, comma)); !part.empty())
      each(part);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
}

/// The drivers that can be used, in their order.
Result<std::vector<Listed>> listDrivers() {
  const std::string &setting = settings().device;
  if (setting.find(',') == setting.npos) {
    Result<Listed> only = ask(setting);
    if (!only)
      return only.takeError();
    return std::vector<Listed>{*only};
  }
  std::vector<Listed> usable;
  std::vector<std::string> bad;
  split(setting, [&](std::string_view part) {
    std::string name(part);
    if (leftOut().has(name))
      return bad.push_back(name);
    Result<Listed> found = ask(name);
    if (found)
      return usable.push_back(*found);
    leftOut().add(name, found.error());
    bad.push_back(name);
  });
  if (!usable.empty())
    return usable;
  // Once more, for its error.
  Result<Listed> first = ask(bad.empty() ? setting : bad[0]);
  if (!first)
    return first.takeError();
  return std::vector<Listed>{*first};
}

Error noSuchDevice(uint32_t number, const std::vector<Listed> &drivers) {
  std::string names;
  uint32_t devices = 0;
  for (const Listed &one : drivers) {
    names += (names.empty() ? "" : ", ") + std::string(one.driver->api->name);
    devices += one.devices;
  }
  bool isOne = drivers.size() == 1;
  return invalid("there is no device lazy:" + std::to_string(number) +
                 (isOne ? ": driver " : ": drivers ") + names +
                 (isOne ? " has " : " have ") + std::to_string(devices) +
                 (devices == 1 ? " device" : " devices"));
}

} // namespace

Result<uint32_t> countDevices() {
  Result<std::vector<Listed>> drivers = listDrivers();
  if (!drivers)
    return drivers.takeError();
  uint32_t count = 0;
  for (const Listed &one : *drivers)
    count += one.devices;
  return count;
}

Result<DevicePlace> placeOfDevice(uint32_t number) {
  Result<std::vector<Listed>> drivers = listDrivers();
  if (!drivers)
    return drivers.takeError();
  uint32_t ordinal = number;
  for (const Listed &one : *drivers) {
    if (ordinal < one.devices)
      return DevicePlace{one.driver, one.first + ordinal};
    ordinal -= one.devices;
  }
  return noSuchDevice(number, *drivers);
}

Result<Device::Options> optionsFor(const Driver &driver) {
  Device::Options options;
  if (int64_t limit = settings().memory_limit_bytes)
    options.push_back({"memory_limit", std::to_string(limit)});
  std::string_view unreadable;
  split(settings().device_options, [&](std::string_view one) {
    size_t equals = one.find('=');
    if (equals == one.npos || equals == 0) {
      unreadable = one;
      return;
    }
    std::string_view name = one.substr(0, equals);
    if (size_t dot = name.find('.'); dot != name.npos) {
      if (name.substr(0, dot) != driver.api->name)
        return;
      name.remove_prefix(dot + 1);
    }
    options.push_back({std::string(name), std::string(one.substr(equals + 1))});
  });
  if (!unreadable.empty())
    return invalid("'" + std::string(unreadable) + "' is no option of a device",
                   "LTC_DEVICE_OPTIONS takes name=value, with commas between "
                   "several");
  return options;
}

} // namespace ltc::runtime
