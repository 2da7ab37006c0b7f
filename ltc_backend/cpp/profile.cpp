//===- cpp/profile.cpp - Profiles of C++ programs -------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/cpp/ltc.h"

#include "ltc/engine.h"
#include "ltc/log.h"
#include "ltc/settings.h"
#include "ltc_backend/cpp/profile_files.h"
#include "ltc_backend/raise.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

namespace ltc::backend {
namespace {
namespace fs = std::filesystem;

Error errorOf(std::string message, std::string hint) {
  return {ErrorCode::InvalidArgument,
          Stage::Execute,
          std::move(message),
          "",
          {},
          std::move(hint)};
}

/// The file is whole or absent.
bool write(const fs::path &path, const std::string &text) {
  fs::path part = path;
  part += "." + std::to_string(getpid());
  std::ofstream file(part, std::ios::binary);
  file << text;
  file.close();
  std::error_code failed;
  if (file)
    fs::rename(part, path, failed);
  if (!file || failed)
    fs::remove(part, failed);
  return file && !failed;
}

Status writeFiles(const profile::Profile &profile,
                  const std::string &directory) {
  std::error_code failed;
  fs::create_directories(directory, failed);
  if (!write(fs::path(directory) / "profile.json", profileJson(profile)) ||
      !write(fs::path(directory) / "trace.json", traceJson(profile)))
    return errorOf("the profile cannot be written into " + directory,
                   "name a directory that you may write to");
  return {};
}

/// What was queued may still run when a profile ends.
profile::Profile endWhenRun() {
  auto longest = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (profile::openRuns() && std::chrono::steady_clock::now() < longest)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return profile::end();
}

} // namespace

static std::string &wholeProgram() {
  static auto *directory = new std::string;
  return *directory;
}

void beginProfileBySetting() {
  std::string directory = settings().profile;
  if (directory.empty() || !wholeProgram().empty() || !profile::begin())
    return;
  unsetenv("LTC_PROFILE"); // processes that it starts would write there, too
  wholeProgram() = directory;
}

void endProfileBySetting() {
  if (wholeProgram().empty() || !profile::isOn() || isForked())
    return;
  if (Status status = writeFiles(endWhenRun(), wholeProgram()); !status)
    log(LogLevel::Warn, Stage::Execute, status.error().str());
}

} // namespace ltc::backend

namespace ltc::inline v0 {

void profile_start() {
  initialize();
  if (!profile::begin())
    backend::raise(backend::errorOf(
        "a profile is on already", "call ltc::profile_stop() before the next"));
}

void profile_stop(const std::string &directory) {
  if (!profile::isOn())
    backend::raise(backend::errorOf("no profile is on",
                                    "call ltc::profile_start() first"));
  backend::raiseIfFailed(backend::writeFiles(backend::endWhenRun(), directory));
}

} // namespace ltc::inline v0
