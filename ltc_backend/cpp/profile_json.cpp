//===- cpp/profile_json.cpp - profile.json --------------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/cpp/profile_files.h"
#include "ltc_backend/cpp/profile_rows.h"

#include <ATen/Parallel.h>
#include <torch/version.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <map>
#include <numeric>
#include <tuple>

namespace ltc::backend {

JsonBuilder lineRow(const Source &source) {
  return JsonBuilder::object()
      .add("file", source.file)
      .add("line", source.line)
      .add("function", source.function);
}

namespace {
using profile::Part;
using profile::Parts;
using profile::Profile;
using profile::Run;
using profile::Step;
using profile::Sync;

JsonBuilder json(const Parts &parts) {
  JsonBuilder object = JsonBuilder::object();
  for (size_t i = 0; i < parts.size(); ++i)
    object.add(name(Part(i)), parts[i]);
  return object;
}

/// What a step launched.
struct Launched {
  size_t launches = 0, ops = 0;
  int64_t queued = 0, running = 0;
};

/// Each run belongs to the first step of its thread that ended after it was
/// handed over. By the steps' numbers.
std::vector<Launched> launchedBy(const Profile &profile) {
  std::map<std::pair<uint32_t, int64_t>, size_t> ends;
  for (size_t i = 0; i < profile.steps.size(); ++i)
    ends.emplace(std::pair(profile.steps[i].thread, profile.steps[i].end), i);
  std::vector<Launched> all(profile.steps.size());
  for (const Run &run : profile.runs) {
    auto end = ends.lower_bound({run.thread, run.submitted});
    if (end == ends.end() || end->first.first != run.thread)
      continue;
    Launched &launched = all[end->second];
    ++launched.launches;
    launched.ops += run.ops;
    launched.running += timeOf(run);
    launched.queued += run.begun ? run.begun - run.submitted : 0;
  }
  return all;
}

JsonBuilder json(const Step &step, size_t number, const Launched &launched) {
  int64_t time = step.end - step.start;
  JsonBuilder parts = json(step.parts);
  parts.add("outside",
            time - std::reduce(step.parts.begin(), step.parts.end()));
  return JsonBuilder::object()
      .add("number", number)
      .add("start", step.start)
      .add("end", step.end)
      .add("thread", step.thread)
      .add("whole", step.isWhole)
      .add("cause", name(step.cause))
      .add("place", lineRow(step.place))
      .add("parts", parts)
      .add("launches", launched.launches)
      .add("ops", launched.ops)
      .add("queued", launched.queued)
      .add("running", launched.running)
      .add("time", time);
}

JsonBuilder json(const Sync &sync) {
  return JsonBuilder::object()
      .add("start", sync.start)
      .add("end", sync.end)
      .add("thread", sync.thread)
      .add("cause", name(sync.cause))
      .add("detail", sync.detail)
      .add("place", lineRow(sync.place))
      .add("parts", json(sync.parts))
      .add("graphs", sync.graphs)
      .add("time", sync.end - sync.start);
}

/// Syncs by cause and line, those that took longest first.
JsonBuilder ledgerOf(const std::vector<Sync> &syncs) {
  struct Reason {
    const Sync *first = nullptr;
    size_t count = 0, graphs = 0;
    int64_t time = 0, wait = 0;
  };
  std::map<std::tuple<profile::Cause, std::string, SourceId>, Reason> reasons;
  for (const Sync &sync : syncs) {
    Reason &reason = reasons[{sync.cause, sync.detail, sync.place}];
    reason.first = &sync;
    ++reason.count;
    reason.graphs += sync.graphs;
    reason.time += sync.end - sync.start - sync.parts[size_t(Part::Compile)];
    reason.wait += sync.parts[size_t(Part::Wait)];
  }
  std::vector<Reason> sorted;
  for (const auto &[key, reason] : reasons)
    sorted.push_back(reason);
  std::ranges::stable_sort(sorted, std::greater(), &Reason::time);
  JsonBuilder list = JsonBuilder::list();
  for (const Reason &reason : sorted)
    list.add(JsonBuilder::object()
                 .add("cause", name(reason.first->cause))
                 .add("detail", reason.first->detail)
                 .add("place", lineRow(reason.first->place))
                 .add("count", reason.count)
                 .add("time", reason.time)
                 .add("wait", reason.wait)
                 .add("graphs", reason.graphs));
  return list;
}

JsonBuilder json(const Run &run) {
  return JsonBuilder::object()
      .add("key", run.key.str())
      .add("ops", run.ops)
      .add("inputs", run.inputs)
      .add("results", run.results)
      .add("thread", run.thread)
      .add("submitted", run.submitted)
      .add("begun", run.begun)
      .add("ended", run.ended)
      .add("interpreted", run.isInterpreted)
      .add("allocated", run.allocated)
      .add("reserved", run.reserved)
      .add("arena", run.arena);
}

JsonBuilder deviceSpanRows(const std::vector<profile::DeviceSpan> &spans) {
  JsonBuilder list = JsonBuilder::list();
  for (const profile::DeviceSpan &span : spans)
    list.add(JsonBuilder::object()
                 .add("device", span.device)
                 .add("lane", span.lane)
                 .add("name", span.name)
                 .add("start", span.start)
                 .add("end", span.end));
  return list;
}

JsonBuilder command() {
  JsonBuilder list = JsonBuilder::list();
  std::ifstream arguments("/proc/self/cmdline");
  for (std::string each; std::getline(arguments, each, '\0');)
    list.add(Json(each));
  return list;
}

JsonBuilder madeBy() {
  char now[32] = "";
  time_t seconds = std::time(nullptr);
  tm local{};
  strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%S%z",
           localtime_r(&seconds, &local));
  return JsonBuilder::object()
      .add("torch", TORCH_VERSION)
      .add("threads", at::get_num_threads())
      .add("command", command())
      .add("time", now);
}

} // namespace

std::string profileJson(const Profile &profile) {
  JsonBuilder steps = JsonBuilder::list(), syncs = JsonBuilder::list(),
              runs = JsonBuilder::list();
  std::vector<Launched> launched = launchedBy(profile);
  for (size_t i = 0; i < launched.size(); ++i)
    steps.add(json(profile.steps[i], i + 1, launched[i]));
  for (const Sync &sync : profile.syncs)
    syncs.add(json(sync));
  for (const Run &run : profile.runs)
    runs.add(json(run));
  return JsonBuilder::object()
      .add("format", "torch_ltc.profile")
      .add("version", 1)
      .add("made_by", madeBy())
      .add("duration", profile.duration)
      .add("dropped", profile.dropped)
      .add("steps", steps)
      .add("syncs", syncs)
      .add("ledger", ledgerOf(profile.syncs))
      .add("graphs", graphRows(profile))
      .add("runs", runs)
      .add("transfers", transferRows(profile.transfers))
      .add("not_numbers", notNumberRows(profile.notNumbers))
      .add("memory", memoryRows(profile.runs))
      .add("device_spans", deviceSpanRows(profile.deviceSpans))
      .str();
}

} // namespace ltc::backend
