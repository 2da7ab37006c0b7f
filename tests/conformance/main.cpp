//===- main.cpp - ltc-conformance: tests a plugin -------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "driver.h"
#include "lent_host.h"
#include "real_host.h"
#include "report.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>

namespace {

constexpr std::string_view usage =
    R"(usage: ltc-conformance --plugin LIBRARY[:ARGUMENT] [--suite SUITES] [--option NAME=VALUE]...
                       [--junit FILE] [--json FILE] [--list]

Tests a plugin against <ltc/plugin.h>. Ends with 0 if it passes, 1 if not, 2 if it
cannot be loaded. ARGUMENT is what its devices are named by, as in LTC_DEVICE.

  --suite    some of table, memory, order, program, faults, handover, values,
             training, with commas between
  --option   what devices are opened with
  --junit    writes a report for CI
  --json     writes what each test came to, with its suite and what it said
  --list     names the tests and runs none
)";

struct Arguments {
  std::string plugin, suites, junit, json;
  bool lists = false;
  std::vector<std::pair<std::string, std::string>> options;
};

Arguments arguments;
ltc_plugin table;

int refuse(const std::string &why) {
  std::fprintf(stderr, "ltc-conformance: %s\n%s", why.c_str(), usage.data());
  return 2;
}

/// What is wrong with the command line, or "".
std::string parse(int count, char **words) {
  for (int i = 1; i < count; ++i) {
    std::string word = words[i];
    if (word == "--list") {
      arguments.lists = true;
      continue;
    }
    if (i + 1 == count)
      return "there is no value for " + word;
    std::string value = words[++i];
    size_t equals = value.find('=');
    if (word == "--plugin")
      arguments.plugin = value;
    else if (word == "--suite")
      arguments.suites = value;
    else if (word == "--junit")
      arguments.junit = value;
    else if (word == "--json")
      arguments.json = value;
    else if (word == "--option" && equals != value.npos)
      arguments.options.push_back(
          {value.substr(0, equals), value.substr(equals + 1)});
    else
      return "cannot read " + word + " " + value;
  }
  return arguments.plugin.empty() ? "no plugin is named" : "";
}

/// The suites as a filter of GoogleTest's; empty if one is unknown.
std::string filterOf(std::string suites) {
  constexpr std::string_view known[] = {"table",   "memory",  "order",
                                        "program", "faults",  "handover",
                                        "values",  "training"};
  std::string filter;
  while (!suites.empty()) {
    size_t comma = std::min(suites.find(','), suites.size());
    std::string suite = suites.substr(0, comma);
    suites.erase(0, std::min(comma + 1, suites.size()));
    if (std::ranges::find(known, suite) == std::end(known))
      return "";
    suite[0] = char(suite[0] - 'a' + 'A');
    filter += (filter.empty() ? "" : ":") + suite + "*.*";
  }
  return filter;
}

/// What is wrong with the library, or "".
std::string load() {
  std::string path = conformance::pluginPath(), argument;
  if (size_t end = path.find(".so:"); end != path.npos) {
    argument = path.substr(end + 4);
    path.resize(end + 3);
  }
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return dlerror();
  auto query = reinterpret_cast<decltype(&ltc_plugin_query)>(
      dlsym(library, "ltc_plugin_query"));
  if (!query)
    return path + " has no symbol ltc_plugin_query";
  const ltc_plugin *own = query(LTC_ABI_MAJOR, &conformance::host());
  if (!own)
    return path + " does not serve ABI major " + std::to_string(LTC_ABI_MAJOR);
  std::memcpy(&table, own, std::min(own->struct_size, sizeof(table)));
  if (argument.empty())
    return "";
  if (!table.devices_named)
    return path + " has no devices_named, and ARGUMENT is " + argument;
  uint32_t first = 0, count = 0;
  return conformance::take(
             table.devices_named(argument.c_str(), &first, &count))
      .message;
}

/// Why no device can be opened, which all tests need, or "".
std::string whyNoDevice() {
  ltc_device *device = nullptr;
  conformance::Failure failure =
      conformance::take(conformance::openDevice(&device));
  if (device)
    table.device_close(device);
  return failure.message;
}

} // namespace

namespace conformance {

const ltc_plugin &driver() { return table; }

std::string pluginPath() {
  // A name without a slash would be searched for among the system's.
  bool isName = arguments.plugin.find('/') == std::string::npos;
  return (isName ? "./" : "") + arguments.plugin;
}

std::vector<ltc_property> options() {
  std::vector<ltc_property> all;
  for (const auto &[name, value] : arguments.options)
    all.push_back({name.c_str(), value.c_str()});
  return all;
}

} // namespace conformance

int main(int argc, char **argv) {
  if (std::string why = parse(argc, argv); !why.empty())
    return refuse(why);
  if (!arguments.suites.empty()) {
    std::string filter = filterOf(arguments.suites);
    if (filter.empty())
      return refuse("there is no suite among " + arguments.suites +
                    " that is all of these");
    ::testing::GTEST_FLAG(filter) = filter;
  }
  ::testing::GTEST_FLAG(list_tests) = arguments.lists;
  if (!arguments.junit.empty())
    ::testing::GTEST_FLAG(output) = "xml:" + arguments.junit;
  int none = 1;
  ::testing::InitGoogleTest(&none, argv);
  if (std::string why = load(); !why.empty())
    return refuse(why);
  if (std::string why = whyNoDevice(); !why.empty() && !arguments.lists) {
    std::fprintf(stderr, "ltc-conformance: no device can be opened: %s\n",
                 why.c_str());
    return 1;
  }
  if (!arguments.json.empty())
    conformance::reportAsJson(arguments.json, arguments.plugin);
  int status = RUN_ALL_TESTS();
  ltc::shutdown();
  return status;
}
