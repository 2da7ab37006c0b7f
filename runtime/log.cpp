//===- log.cpp - LTC_LOG=warn,cache=debug -----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "log.h"

#include "ltc/settings.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <unistd.h>

namespace ltc {

namespace {

constexpr size_t stageCount = size_t(Stage::Execute) + 1;
constexpr std::array<std::string_view, 5> levelNames = {"off", "error", "warn",
                                                        "info", "debug"};

using Levels = std::array<LogLevel, stageCount>;

std::atomic<LogLevel> *levels() {
  static std::atomic<LogLevel> levels[stageCount] = {
      LogLevel::Warn, LogLevel::Warn, LogLevel::Warn, LogLevel::Warn,
      LogLevel::Warn, LogLevel::Warn, LogLevel::Warn, LogLevel::Warn};
  return levels;
}

std::optional<LogLevel> parseLevel(std::string_view text) {
  for (size_t i = 0; i < levelNames.size(); ++i)
    if (levelNames[i] == text)
      return LogLevel(i);
  return std::nullopt;
}

std::optional<Stage> parseStage(std::string_view text) {
  for (size_t i = 0; i < stageCount; ++i)
    if (name(Stage(i)) == text)
      return Stage(i);
  return std::nullopt;
}

/// One entry of the list: "warn" or "cache=debug".
bool applyEntry(std::string_view entry, Levels &to) {
  size_t equals = entry.find('=');
  if (equals == entry.npos) {
    std::optional<LogLevel> level = parseLevel(entry);
    if (level)
      to.fill(*level);
    return level.has_value();
  }
  std::optional<Stage> stage = parseStage(entry.substr(0, equals));
  std::optional<LogLevel> level = parseLevel(entry.substr(equals + 1));
  if (!stage || !level)
    return false;
  to[size_t(*stage)] = *level;
  return true;
}

} // namespace

Status runtime::configureLog(std::string_view spec) {
  Levels wanted;
  wanted.fill(LogLevel::Warn);
  while (!spec.empty()) {
    size_t comma = spec.find(',');
    std::string_view entry = spec.substr(0, comma);
    spec = comma == spec.npos ? "" : spec.substr(comma + 1);
    if (!applyEntry(entry, wanted))
      return Error{ErrorCode::InvalidArgument,
                   Stage::Record,
                   "'" + std::string(entry) + "' is not a log level",
                   "",
                   {},
                   "levels are off, error, warn, info and debug, for all or "
                   "for one stage: warn,cache=debug"};
  }
  for (size_t i = 0; i < stageCount; ++i)
    levels()[i].store(wanted[i], std::memory_order_relaxed);
  return {};
}

void runtime::writeLogLine(LogLevel level, std::string_view component,
                           std::string_view message) {
  std::string line = "[ltc ";
  line += levelNames[size_t(level)];
  line += ' ';
  line += component;
  line += "] ";
  line += message;
  line += '\n';
  // One write, so that lines of several threads do not mix.
  std::string_view rest = line;
  while (!rest.empty()) {
    ssize_t written = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (written < 0 && errno != EINTR)
      return;
    rest.remove_prefix(written < 0 ? 0 : size_t(written));
  }
}

bool logs(LogLevel level, Stage stage) {
  settings(); // the first use reads LTC_LOG
  return level != LogLevel::Off &&
         level <= levels()[size_t(stage)].load(std::memory_order_relaxed);
}

void log(LogLevel level, Stage stage, std::string_view message) {
  if (logs(level, stage))
    runtime::writeLogLine(level, name(stage), message);
}

} // namespace ltc
