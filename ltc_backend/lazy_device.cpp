//===- lazy_device.cpp - The devices of this process ----------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/lazy_device.h"

#include "ltc_backend/current_source.h"
#include "ltc_backend/raise.h"

#include <array>

namespace ltc::backend {
namespace lazy = torch::lazy;

int64_t deviceCount() { return valueOrRaise(ltc::deviceCount()); }

void checkOrdinal(int64_t ordinal) {
  int64_t count = deviceCount();
  if (ordinal >= 0 && homeOf(ordinal) < count)
    return;
  raise({ErrorCode::InvalidArgument, Stage::Record,
         "there is no device lazy:" + std::to_string(ordinal) +
             "; this machine has " + std::to_string(count) +
             (count == 1 ? " lazy device" : " lazy devices"),
         "", sourceOf(currentSource()),
         "use an index from 0 to " + std::to_string(count - 1)});
}

static thread_local int64_t current = 0;
int64_t currentDevice() { return current; }
void setCurrentDevice(int64_t ordinal) {
  checkOrdinal(ordinal);
  current = ordinal;
}

Engine &engine(int64_t device) {
  return *valueOrRaise(engineFor(uint32_t(homeOf(device))));
}

bool isHost(int64_t ordinal) { return engine(ordinal).isHost(); }

namespace {
struct DeviceType final : lazy::BackendDeviceType {
  DeviceType() : BackendDeviceType(int8_t(at::kCPU)) {}
  std::string toString() const override { return "LTC"; }
};
} // namespace

std::shared_ptr<lazy::BackendDeviceType> deviceType() {
  static auto *type = new DeviceType;
  return {std::shared_ptr<void>(), type};
}

const lazy::BackendDevice &backendDevice(int64_t ordinal) {
  static auto *first = new lazy::BackendDevice(deviceType(), 0);
  if (ordinal == 0)
    return *first;
  static auto *mutex = new std::mutex;
  static auto *devices = new std::vector<std::unique_ptr<lazy::BackendDevice>>;
  std::lock_guard lock(*mutex);
  while (devices->size() <= size_t(ordinal))
    devices->push_back(std::make_unique<lazy::BackendDevice>(
        deviceType(), int64_t(devices->size())));
  return *(*devices)[ordinal];
}

namespace {
/// A c10::Device has a byte for its ordinal.
constexpr int64_t kFirst = 64, kEnd = 128;

struct Ordinals {
  std::mutex mutex;
  std::array<std::atomic<int64_t>, kEnd - kFirst> homes;
  Ordinals() { std::ranges::fill(homes, -1); }
};
} // namespace

static Ordinals &ordinals() {
  static auto *all = new Ordinals;
  return *all;
}

int64_t takeOrdinal(int64_t home) {
  auto &[mutex, homes] = ordinals();
  std::lock_guard lock(mutex);
  auto free = std::ranges::find_if(homes, [](auto &h) { return h < 0; });
  if (free == homes.end())
    raise({ErrorCode::Unsupported,
           Stage::Record,
           "64 graphs are being built already",
           "",
           {},
           "finish some of them first"});
  *free = home;
  return kFirst + (free - homes.begin());
}

void giveBackOrdinal(int64_t ordinal) {
  ordinals().homes[ordinal - kFirst] = -1;
}

int64_t homeOf(int64_t device) {
  if (device < kFirst) [[likely]]
    return device;
  int64_t home = device < kEnd ? ordinals().homes[device - kFirst].load() : -1;
  return home < 0 ? device : home;
}

} // namespace ltc::backend
