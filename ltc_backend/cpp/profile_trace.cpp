//===- cpp/profile_trace.cpp - trace.json ---------------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/cpp/json.h"
#include "ltc_backend/cpp/profile_files.h"

#include <map>
#include <set>
#include <unistd.h>

namespace ltc::backend {
namespace {
using profile::Profile;

/// Rows of the timeline beside those of threads.
constexpr uint32_t kSteps = 0, kDevice = 1'000'000, kDrivers = 2'000'000;

double micros(int64_t time) { return double(time) / 1e3; }

class Trace {
public:
  explicit Trace(const Profile &profile) {
    addNames(profile);
    for (size_t i = 0; i < profile.steps.size(); ++i)
      add(profile.steps[i], i + 1);
    for (const profile::Sync &sync : profile.syncs)
      add(sync);
    for (const profile::Event &event : profile.events)
      list.add(span(event.name, "part", event.thread, event.start, event.end));
    for (size_t i = 0; i < profile.runs.size(); ++i)
      if (profile.runs[i].ended)
        add(profile.runs[i], i + 1);
    addDeviceSpans(profile);
  }

  std::string str() const {
    return JsonBuilder::object()
        .add("traceEvents", list)
        .add("displayTimeUnit", "ms")
        .str();
  }

private:
  static JsonBuilder row(const std::string &name, const char *phase,
                         uint32_t thread) {
    return JsonBuilder::object()
        .add("name", name)
        .add("ph", phase)
        .add("pid", getpid())
        .add("tid", thread);
  }

  static JsonBuilder span(const std::string &name, const char *category,
                          uint32_t thread, int64_t start, int64_t end) {
    return row(name, "X", thread)
        .add("cat", category)
        .add("ts", micros(start))
        .add("dur", micros(end - start));
  }

  void addName(const char *what, uint32_t thread, const std::string &name) {
    list.add(row(what, "M", thread)
                 .add("args", JsonBuilder::object().add("name", name)));
  }

  void addNames(const Profile &profile) {
    addName("process_name", 0, "torch_ltc");
    addName("thread_name", kSteps, "steps");
    addName("thread_name", kDevice, "device");
    std::set<uint32_t> threads;
    for (const profile::Event &event : profile.events)
      threads.insert(event.thread);
    for (const profile::Sync &sync : profile.syncs)
      threads.insert(sync.thread);
    for (uint32_t thread : threads)
      addName("thread_name", thread, "thread " + std::to_string(thread));
  }

  void add(const profile::Step &step, size_t number) {
    JsonBuilder parts = JsonBuilder::object();
    for (size_t i = 0; i < step.parts.size(); ++i)
      parts.add(name(profile::Part(i)), double(step.parts[i]) / 1e6);
    std::string title = step.isWhole ? "step " + std::to_string(number)
                                     : std::string("after the last step");
    list.add(span(title, "step", kSteps, step.start, step.end)
                 .add("args", JsonBuilder::object().add("ms", parts)));
  }

  void add(const profile::Sync &sync) {
    std::string title(name(sync.cause));
    if (!sync.detail.empty())
      title += " " + sync.detail;
    list.add(span(title, "sync", sync.thread, sync.start, sync.end)
                 .add("args", JsonBuilder::object().add(
                                  "line", sourceOf(sync.place).str())));
  }

  /// A run, and an arrow to it from where it was handed over.
  void add(const profile::Run &run, size_t number) {
    list.add(span("graph " + run.key.str().substr(0, 8), "run", kDevice,
                  run.begun, run.ended)
                 .add("args", JsonBuilder::object()
                                  .add("graph", run.key.str())
                                  .add("ops", run.ops)));
    auto arrow = [&](const char *phase, uint32_t thread, int64_t time) {
      return row("launch", phase, thread)
          .add("cat", "run")
          .add("id", number)
          .add("ts", micros(time));
    };
    list.add(arrow("s", run.thread, run.submitted));
    list.add(arrow("f", kDevice, run.begun).add("bp", "e"));
  }

  void addDeviceSpans(const Profile &profile) {
    std::map<std::string, uint32_t> rows;
    for (const profile::DeviceSpan &each : profile.deviceSpans) {
      std::string name = each.device + " lane " + std::to_string(each.lane);
      auto [known, isNew] =
          rows.try_emplace(name, kDrivers + uint32_t(rows.size()));
      if (isNew)
        addName("thread_name", known->second, name);
      list.add(span(each.name, "device", known->second, each.start, each.end));
    }
  }

  JsonBuilder list = JsonBuilder::list();
};

} // namespace

std::string traceJson(const Profile &profile) { return Trace(profile).str(); }

} // namespace ltc::backend
