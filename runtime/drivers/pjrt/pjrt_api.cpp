//===- pjrt_api.cpp - PJRT's table of C functions ------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "pjrt_api.h"

#include <cstring>
#include <dlfcn.h>

namespace ltc::pjrt {

namespace {

constexpr const char *kNames[] = {
#define LTC_PJRT(name) #name,
#include "pjrt_api.def"
#undef LTC_PJRT
};

// Of the table: its size, its extensions, then a version {size, extensions,
// major, minor}, then the functions.
constexpr size_t kMajor = 32, kMinor = 36, kFunctions = 40;

template <typename T> T at(const char *table, size_t offset) {
  T value;
  std::memcpy(&value, table + offset, sizeof(value));
  return value;
}

/// By absl's codes, which PJRT's are.
ltc_error_code codeOf(uint64_t code) {
  switch (code) {
  case 1:
    return LTC_INTERRUPTED;
  case 3:
    return LTC_INVALID_ARGUMENT;
  case 8:
    return LTC_OUT_OF_MEMORY;
  case 11:
    return LTC_OUT_OF_RANGE;
  case 12:
    return LTC_UNSUPPORTED;
  case 2:
  case 13:
    return LTC_INTERNAL;
  default:
    return LTC_DEVICE_FAILED;
  }
}

} // namespace

std::variant<std::unique_ptr<Api>, Fault> Api::open(const std::string &path) {
  auto failed = [&](const std::string &why) {
    return Fault{LTC_DEVICE_FAILED,
                 "cannot use the PJRT plugin " + path + ": " + why};
  };
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return failed(dlerror());
  auto get = reinterpret_cast<const char *(*)()>(dlsym(library, "GetPjrtApi"));
  if (!get)
    return failed("it has no symbol GetPjrtApi");
  auto api = std::make_unique<Api>();
  api->table = get();
  constexpr size_t least = kFunctions + std::size(kNames) * sizeof(void *);
  size_t bytes = api->table ? at<size_t>(api->table, 0) : 0;
  if (bytes < least)
    return failed("its table has " + std::to_string(bytes) + " bytes, and " +
                  std::to_string(least) + " are needed");
  api->versionMajor = at<int>(api->table, kMajor);
  api->versionMinor = at<int>(api->table, kMinor);
  if (api->versionMajor != 0)
    return failed("it has PJRT " + std::to_string(api->versionMajor) +
                  ", and the driver knows PJRT 0");
  Struct nothing;
  if (Outcome outcome = api->call(Function::Plugin_Initialize, nothing))
    return failed(outcome->message);
  return api;
}

void Api::callAlways(Function function, Struct &arguments) const {
  auto entry = at<void *(*)(void *)>(table, kFunctions + size_t(function) *
                                                             sizeof(void *));
  entry(arguments.data());
}

Outcome Api::call(Function function, Struct &arguments) const {
  auto entry = at<void *(*)(void *)>(table, kFunctions + size_t(function) *
                                                             sizeof(void *));
  if (!entry)
    return Fault{LTC_UNSUPPORTED, std::string("the PJRT plugin has no ") +
                                      kNames[size_t(function)]};
  if (void *error = entry(arguments.data()))
    return take(function, error);
  return std::nullopt;
}

Fault Api::take(Function function, void *error) const {
  Struct message(error), code(error), done(error);
  callAlways(Function::Error_Message, message);
  Fault fault;
  fault.message = std::string("PJRT's ") + kNames[size_t(function)] +
                  " failed: " + std::string(message.text(1));
  // This one answers with an error of its own.
  auto failed = call(Function::Error_GetCode, code);
  fault.code = failed ? LTC_DEVICE_FAILED : codeOf(uint32_t(code[1]));
  callAlways(Function::Error_Destroy, done);
  return fault;
}

Outcome Api::await(void *event) const {
  if (!event)
    return std::nullopt;
  Struct waited(event), done(event);
  Outcome outcome = call(Function::Event_Await, waited);
  callAlways(Function::Event_Destroy, done);
  return outcome;
}

} // namespace ltc::pjrt
