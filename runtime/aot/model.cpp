//===- model.cpp - A loaded bundle ------------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "aot/model.h"

#include "aot/aot_errors.h"
#include "aot/heeding.h"
#include "ltc/cpu_kernels.h"

#include <atomic>
#include <cstring>

namespace ltc::aot {

namespace {

std::string joined(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::atomic<unsigned> threadsChosen{0}; ///< times

/// Gets the calling thread ready to share out loops. The threads that help it
/// stay until it ends, or until there are to be others.
void joinThreads() {
  static std::once_flag once;
  std::call_once(once, [] { kernels::install(); });
  static thread_local unsigned known = 0;
  unsigned now = threadsChosen.load(std::memory_order_relaxed);
  if (std::exchange(known, now) != now)
    hostServices().rest();
  hostServices().stayAlone(false);
}

} // namespace

bool hasTarget(std::string_view name) {
#if defined(__x86_64__)
  if (name == "x86-64-v4")
    return __builtin_cpu_supports("x86-64-v4");
  if (name == "x86-64-v3")
    return __builtin_cpu_supports("x86-64-v3");
  if (name == "x86-64-v2")
    return __builtin_cpu_supports("x86-64-v2");
  return name == "x86-64";
#else
  return false;
#endif
}

void useThreads(unsigned count) {
  kernels::useOwnThreads(count);
  threadsChosen.fetch_add(1, std::memory_order_relaxed);
}

Result<std::unique_ptr<Model>> Model::open(const std::string &path) {
  std::unique_ptr<Model> model(new Model);
  if (Status status = model->file.open(path); !status)
    return status.takeError();
  auto named = [&](Status status) {
    Error error = status.takeError();
    error.message = path + ": " + error.message;
    return error;
  };
  uint64_t bytes = 0, beside = 0;
  if (Status status = Bundle::readLengths(model->file.bytes(), bytes, beside);
      !status)
    return named(std::move(status));
  if (beside)
    if (Status status = model->fileBeside.open(path + ".weights"); !status)
      return status.takeError();
  if (Status status =
          model->load(model->file.bytes(), model->fileBeside.bytes());
      !status)
    return named(std::move(status));
  return model;
}

Result<std::unique_ptr<Model>> Model::openMemory(std::string_view bytes) {
  std::unique_ptr<Model> model(new Model);
  if (reinterpret_cast<uintptr_t>(bytes.data()) % 64 != 0)
    return invalid("a bundle in memory begins at a multiple of 64");
  if (Status status = model->load(bytes, {}); !status)
    return status.takeError();
  return model;
}

Status Model::load(std::string_view bytes, std::string_view beside) {
  joinThreads();
  Result<Bundle> read = Bundle::read(bytes, beside);
  if (!read)
    return read.takeError();
  bundle = std::move(*read);
  while (chosen < bundle.targets.size() && !hasTarget(bundle.targets[chosen]))
    ++chosen;
  if (chosen == bundle.targets.size())
    return failed(ErrorCode::Unsupported,
                  "the bundle has code for " + joined(bundle.targets) +
                      ", and this processor is none of them");
  weightBytes = beside.empty() ? bytes : beside;
  shared.reset(new Shared{bundle, {}, {}, 0});
  if (Status status = placeWeights(weightBytes); !status)
    return status;
  for (const Bundle::Entry &described : bundle.entries) {
    const Bundle::Place &place = described.programs[chosen];
    auto entry =
        Entry::load(bundle, described, bytes.substr(place.offset, place.bytes));
    if (!entry)
      return entry.takeError();
    all.push_back(std::move(*entry));
  }
  return {};
}

Status Model::placeWeights(std::string_view bytes) {
  for (const Bundle::Weight &weight : bundle.weights) {
    const char *data = bytes.data() + weight.place.offset;
    if (!weight.isState) {
      shared->weights.push_back(const_cast<char *>(data));
      continue;
    }
    char *own = state.emplace_back(new cpu::GrownMemory)
                    ->atLeast(size_t(weight.place.bytes));
    if (!own)
      return failed(ErrorCode::OutOfMemory, "no memory for state");
    std::memcpy(own, data, size_t(weight.place.bytes));
    shared->weights.push_back(own);
  }
  return {};
}

Status Model::run(Entry &entry, const ltc_aot_tensor *inputs,
                  const ltc_aot_tensor *outputs) {
  joinThreads();
  std::lock_guard lock(mutex);
  Heeding heeding;
  return entry.run(*shared, inputs, outputs);
}

void Model::reset() {
  std::lock_guard lock(mutex);
  for (size_t w = 0; w < bundle.weights.size(); ++w)
    if (const Bundle::Weight &weight = bundle.weights[w]; weight.isState)
      std::memcpy(shared->weights[w], weightBytes.data() + weight.place.offset,
                  size_t(weight.place.bytes));
}

void Model::setSeed(uint64_t seed) {
  std::lock_guard lock(mutex);
  shared->seed = seed;
}

} // namespace ltc::aot
