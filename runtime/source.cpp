//===- source.cpp - The process-wide table of user lines --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/source.h"

#include "ltc/hash.h"
#include "ltc/region_ops.h"

#include <deque>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace ltc {

namespace {

/// A source, and the lines of the regions that a call there has.
struct Place {
  Source source;
  std::vector<SourceId> regions;
  bool operator==(const Place &) const = default;
};

struct PlaceHash {
  size_t operator()(const Place &place) const {
    Hasher hasher;
    hasher.add(place.source.file)
        .add(place.source.line)
        .add(place.source.function);
    for (SourceId id : place.regions)
      hasher.add(id);
    return hasher.finish().low;
  }
};

/// Only grows: a program has as many entries as lines that call torch.
struct SourceTable {
  std::shared_mutex mutex;
  std::deque<Place> places = {Place()};
  std::unordered_map<Place, SourceId, PlaceHash> ids = {{Place(), 0}};
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

static SourceId intern(Place place) {
  SourceTable &sources = table();
  {
    std::shared_lock lock(sources.mutex);
    auto found = sources.ids.find(place);
    if (found != sources.ids.end())
      return found->second;
  }
  std::unique_lock lock(sources.mutex);
  auto [entry, isNew] = sources.ids.try_emplace(
      std::move(place), SourceId(sources.places.size()));
  if (isNew)
    sources.places.push_back(entry->first);
  return entry->second;
}

SourceId internSource(const Source &source) { return intern({source, {}}); }

Source sourceOf(SourceId id) {
  SourceTable &sources = table();
  std::shared_lock lock(sources.mutex);
  return id < sources.places.size() ? sources.places[id].source : Source();
}

SourceId withRegionSources(SourceId call, std::span<const SourceId> nodes) {
  return intern({sourceOf(call), {nodes.begin(), nodes.end()}});
}

std::vector<SourceId> regionSources(SourceId call) {
  SourceTable &sources = table();
  std::shared_lock lock(sources.mutex);
  return call < sources.places.size() ? sources.places[call].regions
                                      : std::vector<SourceId>();
}

} // namespace ltc
