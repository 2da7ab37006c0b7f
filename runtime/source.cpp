//===- source.cpp - The process-wide table of user lines --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/source.h"

#include "ltc/hash.h"

#include <deque>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace ltc {

namespace {

struct SourceHash {
  size_t operator()(const Source &source) const {
    return Hasher()
        .add(source.file)
        .add(source.line)
        .add(source.function)
        .finish()
        .low;
  }
};

/// Only grows: a program has as many entries as lines that call torch.
struct SourceTable {
  std::shared_mutex mutex;
  std::deque<Source> places = {Source()};
  std::unordered_map<Source, SourceId, SourceHash> ids = {{Source(), 0}};
};

// Never destroyed: queue threads and atexit handlers may still ask.
SourceTable &table() {
  static auto *table = new SourceTable;
  return *table;
}

} // namespace

std::string Source::str() const {
  if (empty())
    return "";
  std::string text = file + ":" + std::to_string(line);
  if (!function.empty())
    text += " in " + function;
  return text;
}

SourceId internSource(const Source &source) {
  SourceTable &sources = table();
  {
    std::shared_lock lock(sources.mutex);
    auto found = sources.ids.find(source);
    if (found != sources.ids.end())
      return found->second;
  }
  std::unique_lock lock(sources.mutex);
  auto [entry, isNew] =
      sources.ids.try_emplace(source, SourceId(sources.places.size()));
  if (isNew)
    sources.places.push_back(source);
  return entry->second;
}

Source sourceOf(SourceId id) {
  SourceTable &sources = table();
  std::shared_lock lock(sources.mutex);
  return id < sources.places.size() ? sources.places[id] : Source();
}

} // namespace ltc
