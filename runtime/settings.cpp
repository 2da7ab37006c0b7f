//===- settings.cpp - The table behind every setting ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/settings.h"

#include "cache/trust.h"
#include "log.h"
#include "ltc/optimizations.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <charconv>
#include <deque>
#include <mutex>
#include <numeric>
#include <utility>

extern char **environ; // POSIX

namespace ltc {

namespace {

constexpr std::string_view prefix = "LTC_";

// PyTorch's lazy core reads these itself.
constexpr std::array<std::string_view, 8> coreVariables = {
    "LTC_ENABLE_DYNAMIC_SHAPES",  "LTC_ENABLE_SOURCE_INFO",
    "LTC_ENABLE_SYMBOLIC_SHAPES", "LTC_EXPERIMENTAL",
    "LTC_FORCE_FALLBACK",         "LTC_SAVE_TENSORS_FILE",
    "LTC_SAVE_TENSORS_FMT",       "LTC_TS_CUDA"};

bool parseInto(bool &field, std::string_view text) {
  if (text == "1" || text == "true" || text == "on" || text == "True")
    return field = true, true;
  if (text == "0" || text == "false" || text == "off" || text == "False")
    return field = false, true;
  return false;
}

bool parseInto(int64_t &field, std::string_view text) {
  int64_t value = 0;
  auto [end, failure] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || value < 0)
    return false;
  field = value;
  return true;
}

bool parseInto(std::string &field, std::string_view text) {
  field = text;
  return true;
}

std::string print(bool value) { return value ? "true" : "false"; }
std::string print(int64_t value) { return std::to_string(value); }
std::string print(const std::string &value) { return value; }

std::string typeName(bool) { return "bool"; }
std::string typeName(int64_t) { return "int"; }
std::string typeName(const std::string &) { return "str"; }

struct Row {
  std::string_view name, doc;
  std::string type, initial;
  bool (*assign)(Settings &, std::string_view);
  std::string (*value)(const Settings &);
};

const std::vector<Row> &rows() {
  static const auto *rows = new std::vector<Row>{
#define LTC_SETTING(type, name, initial, doc)                                  \
  {#name,                                                                      \
   doc,                                                                        \
   typeName(Settings().name),                                                  \
   print(Settings().name),                                                     \
   [](Settings &all, std::string_view text) {                                  \
     return parseInto(all.name, text);                                         \
   },                                                                          \
   [](const Settings &all) { return print(all.name); }},
#include "ltc/settings.def"
#undef LTC_SETTING
  };
  return *rows;
}

std::string environmentName(std::string_view name) {
  std::string variable(prefix);
  for (char c : name)
    variable += char(std::toupper(static_cast<unsigned char>(c)));
  return variable;
}

/// Levenshtein's distance.
size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string_view nearestName(std::string_view name) {
  return std::min_element(rows().begin(), rows().end(),
                          [&](const Row &a, const Row &b) {
                            return editDistance(a.name, name) <
                                   editDistance(b.name, name);
                          })
      ->name;
}

Error invalid(std::string message, std::string hint) {
  return {ErrorCode::InvalidArgument,
          Stage::Record,
          std::move(message),
          "",
          {},
          std::move(hint)};
}

/// What a value must satisfy beyond its type.
Status checkValue(std::string_view name, std::string_view value) {
  auto oneOf = [&](std::vector<std::string_view> words) -> Status {
    std::string listed;
    for (size_t i = 0; i < words.size(); ++i) {
      if (value == words[i])
        return {};
      listed += i == 0 ? "" : i + 1 < words.size() ? ", " : " or ";
      listed += words[i];
    }
    return invalid("'" + std::string(value) + "' is no value of setting " +
                       std::string(name),
                   "use " + listed);
  };
  if (name == "log")
    return runtime::configureLog(value);
  if (name == "without")
    if (auto rest = Optimizations::without(value); !rest)
      return rest.takeError();
  if (name == "cache_trust")
    return runtime::checkTrust(value);
  if (name == "fallback")
    return oneOf({"cpu", "error"});
  if (name == "rng")
    return oneOf({"fast", "eager"});
  if (name == "cache")
    return oneOf({"rw", "ro", "off"});
  if (name == "dynamic")
    return oneOf({"auto", "off"});
  if (name == "detect_nan")
    return oneOf({"off", "nan", "all"});
  if (name == "tiers")
    return oneOf({"auto", "off"});
  if (name == "frontend")
    return oneOf({"record", "dynamo"});
  if (name == "lazy_use")
    return oneOf({"silent", "notice", "warning", "error"});
  if (name == "linalg_errors")
    return oneOf({"now", "later"});
  return {};
}

/// Why a text is no value of that row: all whole numbers count something.
std::string whyRefused(const Row &row, std::string_view text) {
  bool isNegative = text.starts_with('-');
  std::string_view digits = text.substr(isNegative);
  bool isNumber =
      !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos;
  if (row.type != "int" || !isNumber)
    return "is no " + row.type;
  return isNegative ? "is below 0" : "is too large";
}

Status assign(Settings &all, std::string_view name, std::string_view value) {
  for (const Row &row : rows()) {
    if (row.name != name)
      continue;
    if (Status status = checkValue(name, value); !status)
      return status;
    if (row.assign(all, value))
      return {};
    return invalid("'" + std::string(value) + "' " + whyRefused(row, value) +
                       " for setting " + std::string(name),
                   row.type == "bool"
                       ? "it takes true or false"
                       : "its initial value is '" + row.initial + "'");
  }
  return invalid("there is no setting '" + std::string(name) + "'",
                 "the nearest name is '" + std::string(nearestName(name)) +
                     "'");
}

void warn(const std::string &message) {
  runtime::writeLogLine(LogLevel::Warn, "settings", message);
}

void assignFromEnvironment(Settings &all, std::string_view variable,
                           std::string_view value) {
  if (std::find(coreVariables.begin(), coreVariables.end(), variable) !=
      coreVariables.end())
    return;
  for (const Row &row : rows()) {
    if (environmentName(row.name) != variable)
      continue;
    if (Status status = assign(all, row.name, value); !status)
      warn(std::string(variable) + " is ignored: " + status.error().message +
           "; " + status.error().hint);
    return;
  }
  std::string name(variable.substr(prefix.size()));
  for (char &c : name)
    c = char(std::tolower(static_cast<unsigned char>(c)));
  if (name.starts_with("test_")) // of the test suites
    return;
  warn(std::string(variable) + " is no setting and is ignored; did you mean " +
       environmentName(nearestName(name)) + "?");
}

Settings readEnvironment() {
  Settings all;
  for (char **entry = environ; entry && *entry; ++entry) {
    std::string_view text(*entry);
    size_t equals = text.find('=');
    if (text.starts_with(prefix) && equals != text.npos)
      assignFromEnvironment(all, text.substr(0, equals),
                            text.substr(equals + 1));
  }
  return all;
}

/// All that were ever current: threads may still be reading them, and scopes
/// come back to few. The last one set is the current one.
struct History {
  std::mutex mutex; ///< guards `all`
  std::deque<Settings> all{readEnvironment()};
  std::atomic<const Settings *> current{&all.front()};
};

History &history() {
  // Never destroyed: threads may outlive static destructors.
  static auto *history = new History;
  return *history;
}

const Settings &current() {
  return *history().current.load(std::memory_order_acquire);
}

} // namespace

static const Settings *&ofThisThread() {
  static thread_local const Settings *settings = nullptr;
  return settings;
}

const Settings &settings() {
  const Settings *own = ofThisThread();
  return own ? *own : current();
}

SettingsOfThread::SettingsOfThread(const Settings &settings)
    : before(std::exchange(ofThisThread(), &settings)) {}

SettingsOfThread::~SettingsOfThread() { ofThisThread() = before; }

Status set(std::string_view name, std::string_view value) {
  History &known = history();
  std::lock_guard lock(known.mutex);
  Settings changed = current();
  if (Status status = assign(changed, name, value); !status)
    return status;
  auto found = std::find(known.all.begin(), known.all.end(), changed);
  known.current.store(found != known.all.end()
                          ? &*found
                          : &known.all.emplace_back(std::move(changed)),
                      std::memory_order_release);
  return {};
}

std::vector<SettingInfo> listSettings() {
  const Settings &now = current();
  std::vector<SettingInfo> all;
  for (const Row &row : rows())
    all.push_back({std::string(row.name), row.type, row.value(now), row.initial,
                   std::string(row.doc)});
  return all;
}

} // namespace ltc
