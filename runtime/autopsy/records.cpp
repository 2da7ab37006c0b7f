//===- records.cpp - What was compiled, and why -----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "autopsy/records.h"

#include "labelled_line.h"
#include "ltc/log.h"
#include "ltc/metrics.h"
#include "ltc/settings.h"

#include <array>
#include <cstdio>
#include <deque>
#include <mutex>

namespace ltc {

namespace {

constexpr std::array<std::string_view, 9> causeNames = {
    "first_use", "shape",   "dtype",      "constant",   "ops",
    "outputs",   "evicted", "disk_entry", "own_version"};

constexpr size_t maxRecords = 1000;

struct Records {
  std::mutex mutex;
  std::deque<CompileRecord> all;
  uint64_t numbers = 0;
};

// Never destroyed: other threads may still compile at exit.
Records &records() {
  static auto *records = new Records;
  return *records;
}

std::string secondsText(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), seconds < 1 ? "%.3f s" : "%.1f s", seconds);
  return text;
}

/// "graph 3 (213 ops), compiled with sizes left open in 1.2 s"
std::string headline(const CompileRecord &record) {
  return "graph " + std::to_string(record.number) + " (" +
         std::to_string(record.ops) + (record.ops == 1 ? " op), " : " ops), ") +
         (record.fromDisk ? "loaded from disk" : "compiled") +
         (record.open ? " with sizes left open in " : " in ") +
         secondsText(record.seconds);
}

/// "train.py:8 in step, in graph 1 train.py:6 in step", as far as it is known.
std::string places(const CompileRecord &record) {
  std::string text = record.source.str();
  if (!record.earlier.empty() && record.earlier != record.source)
    text += (text.empty() ? "" : "; ") + std::string("in graph ") +
            std::to_string(record.comparedWith) + " at " + record.earlier.str();
  return text;
}

std::string remedyOfShape(bool open) {
  if (open)
    return "nothing need be done: further sizes run the same program; "
           "torch_ltc.mark_dynamic(tensor, dim) from the first step on saves "
           "the compile for one size";
  std::string few = "keep to few sizes: pad, sort into buckets, or drop the "
                    "last, smaller batch (drop_last=True)";
  if (settings().dynamic == "off")
    return few + "; or let LTC_DYNAMIC=auto compile once for all";
  return few + "; ranks, sizes of 0 and 1, and what some ops must know are "
               "compiled for one by one";
}

std::string remedyOf(CompileCause cause, bool isOutput) {
  switch (cause) {
  case CompileCause::FirstUse:
  case CompileCause::Shape: // see remedyOfShape()
    return "";
  case CompileCause::DType:
    return "convert once, so that every call brings the same type";
  case CompileCause::Constant:
    return "keep it at few values, or pass it as a tensor (index_select, "
           "gather, torch.where)";
  case CompileCause::Ops:
    return "let every step run the same ops: torch.where instead of an if, or "
           "torch.lazy.mark_step() before what only some steps do";
  case CompileCause::Outputs:
    return isOutput ? "hold the same values at the end of every step: drop "
                      "the others before it (del, detach(), torch.no_grad())"
                    : "let go of the old value before the step ends, or hold a "
                      "copy of it in every step";
  case CompileCause::Evicted:
    return "raise LTC_CACHE_MEMORY_BYTES, and keep the cache on disk on";
  case CompileCause::DiskEntry:
    return "ltc-cache verify lists such files; it has been replaced";
  case CompileCause::OwnVersion:
    return "nothing need be done: no step waited for it; LTC_STATIC_AFTER says "
           "after how many runs, and 0 is never";
  }
  return "";
}

} // namespace

std::string_view name(CompileCause cause) { return causeNames[size_t(cause)]; }

std::string CompileRecord::remedy() const {
  if (difference.cause == CompileCause::Shape)
    return remedyOfShape(open);
  if (difference.cause == CompileCause::Constant && open)
    return "nothing need be done: other values run the same program";
  return remedyOf(difference.cause, !difference.subject.starts_with("input"));
}

std::string CompileRecord::str() const {
  std::string text = headline(*this) + "\n  ";
  text += name(difference.cause);
  text += ": " + difference.what;
  auto line = [&](std::string_view label, std::string_view value) {
    runtime::addLine(text, label, value);
  };
  line("at", source.str());
  if (comparedWith)
    line("before", earlier.str() + (earlier.empty() ? "graph " : ", graph ") +
                       std::to_string(comparedWith));
  if (endedAt != source)
    line("needed by", endedAt.str());
  line("try", remedy());
  return text;
}

std::string CompileRecord::line() const {
  std::string text = headline(*this) + ": ";
  text += name(difference.cause);
  text += ", " + difference.what;
  if (std::string where = places(*this); !where.empty())
    text += ", at " + where;
  if (std::string hint = remedy(); !hint.empty())
    text += "; try: " + hint;
  return text;
}

std::vector<CompileRecord> compileRecords() {
  Records &kept = records();
  std::lock_guard lock(kept.mutex);
  return {kept.all.begin(), kept.all.end()};
}

uint64_t runtime::nextCompileNumber() {
  Records &kept = records();
  std::lock_guard lock(kept.mutex);
  return ++kept.numbers;
}

void runtime::publish(CompileRecord record) {
  if (!record.fromDisk)
    counter("cache.cause." + std::string(name(record.difference.cause))).add();
  if (logs(LogLevel::Info, Stage::Cache))
    log(LogLevel::Info, Stage::Cache, record.line());
  CompileWatch::notify(record);
  Records &kept = records();
  std::lock_guard lock(kept.mutex);
  kept.all.push_back(std::move(record));
  if (kept.all.size() > maxRecords)
    kept.all.pop_front();
}

} // namespace ltc
