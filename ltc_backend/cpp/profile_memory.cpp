//===- cpp/profile_memory.cpp - Copies and memory in profile.json ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/cpp/profile_rows.h"

#include <algorithm>
#include <map>

namespace ltc::backend {
using profile::Run;
using profile::Transfer;

JsonBuilder transferRows(const std::vector<Transfer> &transfers) {
  struct Line {
    const Transfer *first = nullptr;
    int64_t last = 0, time = 0;
    size_t count = 0, bytes = 0, repeated = 0;
  };
  std::map<std::pair<SourceId, bool>, Line> lines;
  for (const Transfer &transfer : transfers) {
    Line &line = lines[{transfer.place, transfer.isUpload}];
    if (!line.first)
      line.first = &transfer;
    line.last = transfer.end;
    line.time += transfer.end - transfer.start;
    ++line.count;
    line.bytes += transfer.bytes;
    line.repeated += transfer.isRepeated;
  }
  std::vector<Line> sorted;
  for (const auto &[key, line] : lines)
    sorted.push_back(line);
  std::ranges::stable_sort(sorted, std::greater(), &Line::time);
  JsonBuilder list = JsonBuilder::list();
  for (const Line &line : sorted)
    list.add(JsonBuilder::object()
                 .add("place", lineRow(line.first->place))
                 .add("upload", line.first->isUpload)
                 .add("first", line.first->start)
                 .add("last", line.last)
                 .add("count", line.count)
                 .add("bytes", line.bytes)
                 .add("time", line.time)
                 .add("repeated", line.repeated));
  return list;
}

JsonBuilder notNumberRows(const std::vector<profile::NotANumber> &found) {
  JsonBuilder list = JsonBuilder::list();
  for (const profile::NotANumber &each : found)
    list.add(JsonBuilder::object()
                 .add("submitted", each.submitted)
                 .add("thread", each.thread)
                 .add("op", each.op)
                 .add("place", lineRow(each.place)));
  return list;
}

JsonBuilder memoryRows(std::vector<Run> runs) {
  std::ranges::stable_sort(runs, {}, &Run::begun);
  JsonBuilder list = JsonBuilder::list();
  for (const Run &run : runs) {
    if (!run.allocated)
      continue;
    size_t arena = std::min(run.arena, run.allocated);
    list.add(JsonBuilder::object()
                 .add("time", run.begun)
                 .add("parameters", 0)
                 .add("gradients", 0)
                 .add("optimizer", 0)
                 .add("activations", run.allocated - arena)
                 .add("arena", arena)
                 .add("caches",
                      std::max(run.reserved, run.allocated) - run.allocated)
                 .add("graph", run.key.str()));
  }
  return list;
}

} // namespace ltc::backend
