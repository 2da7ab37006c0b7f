//===- cpp/backtrace.cpp - The program's line, by its debug data ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/cpp/backtrace.h"

#include "ltc/log.h"

#include <torch/csrc/profiler/unwind/unwind.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <mutex>
#include <unordered_map>

namespace ltc::backend {
namespace {

bool isLibraryInside(const std::string &path) {
  std::string_view name(path);
  name.remove_prefix(name.rfind('/') + 1);
  for (std::string_view inside :
       {"libltc_", "libtorch", "libc10", "libstdc++", "libc.so", "libc++"})
    if (name.starts_with(inside))
      return true;
  return false;
}

/// Their inline functions are part of the program.
bool isHeaderInside(std::string_view file) {
  for (std::string_view inside :
       {"/ATen/", "/c10/", "/torch/", "/include/c++/", "/ltc/ltc.h"})
    if (file.find(inside) != file.npos)
      return true;
  return false;
}

std::string inShell(const std::string &text) {
  std::string result = "'";
  for (char c : text)
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string outputOf(const std::string &command) {
  std::string text;
  FILE *pipe =
      popen(command.c_str(), "re"); // NOLINT(bugprone-command-processor)
  if (!pipe)
    return text;
  std::array<char, 512> part;
  while (fgets(part.data(), part.size(), pipe))
    text += part.data();
  pclose(pipe);
  static std::once_flag once;
  if (text.empty())
    std::call_once(once, [] {
      log(LogLevel::Warn, Stage::Record,
          "source_backtrace finds no lines: addr2line cannot be run; it is "
          "part of binutils");
    });
  return text;
}

/// The innermost of the functions inlined there that is the program's own.
/// addr2line says for each, in two lines, its name and "file:line".
Source parse(std::string_view text) {
  auto nextLine = [&] {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    return line;
  };
  while (!text.empty()) {
    std::string_view function = nextLine(), place = nextLine();
    size_t colon = place.rfind(':');
    if (colon == place.npos || place.starts_with("?"))
      continue;
    std::string file(place.substr(0, colon));
    uint32_t line = 0;
    std::from_chars(place.data() + colon + 1, place.data() + place.size(),
                    line);
    if (line && !isHeaderInside(file))
      return {std::move(file), line, std::string(function)};
  }
  return {};
}

SourceId lookUp(void *returnAddress) {
  auto library = torch::unwind::libraryFor(returnAddress);
  if (!library || isLibraryInside(library->first))
    return 0;
  std::array<char, 32> address;
  // The call's own line, and not that of what comes after it.
  snprintf(address.data(), address.size(), " 0x%lx",
           static_cast<unsigned long>(library->second - 1));
  Source source = parse(outputOf("addr2line -C -f -i -e " +
                                 inShell(library->first) + address.data()));
  return source.empty() ? 0 : internSource(source);
}

SourceId lineOf(void *returnAddress) {
  static auto *mutex = new std::mutex;
  static auto *known = new std::unordered_map<void *, SourceId>;
  std::lock_guard lock(*mutex);
  auto [place, isNew] = known->try_emplace(returnAddress, 0);
  if (isNew)
    place->second = lookUp(returnAddress);
  return place->second;
}

} // namespace

SourceId lineByBacktrace() {
  for (void *address : torch::unwind::unwind())
    if (SourceId line = lineOf(address))
      return line;
  return 0;
}

} // namespace ltc::backend
