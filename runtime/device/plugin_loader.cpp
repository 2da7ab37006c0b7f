//===- plugin_loader.cpp - Drivers as shared libraries ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/plugin_loader.h"

#include <dlfcn.h>
#include <map>
#include <mutex>

namespace ltc {

using namespace runtime;

Error Driver::take(ltc_error *error) const {
  Error taken;
  ltc_error_code code = api->error_code(error);
  bool known = code >= LTC_INVALID_ARGUMENT && code <= LTC_LINEAR_ALGEBRA;
  taken.code = known ? ErrorCode(code - 1) : ErrorCode::DeviceFailed;
  const char *message = api->error_message(error);
  taken.message = message ? message : "the driver failed without a message";
  api->error_free(error);
  return taken;
}

Status Driver::check(ltc_error *error) const {
  if (!error)
    return {};
  return take(error);
}

std::string runtime::siblingLibrary(const std::string &fileName) {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&runtime::siblingLibrary), &info) ||
      !info.dli_fname)
    return fileName;
  std::string path(info.dli_fname);
  size_t slash = path.rfind('/');
  return slash == path.npos ? fileName : path.substr(0, slash + 1) + fileName;
}

namespace {

Error loadFailed(const std::string &path, const std::string &why) {
  return {ErrorCode::DeviceFailed,
          Stage::Execute,
          "cannot use the driver " + path + ": " + why,
          "",
          {},
          "LTC_DEVICE takes cpu, null, or a plugin's name or path"};
}

static_assert(LTC_INTERNAL == int(ErrorCode::Internal) + 1);
static_assert(LTC_LINEAR_ALGEBRA == int(ErrorCode::LinearAlgebra) + 1);

/// Every member that this host calls must be there.
bool isComplete(const ltc_plugin &api) {
  return api.struct_size >= sizeof(ltc_plugin) && api.name && api.error_code &&
         api.error_message && api.error_site && api.error_free &&
         api.device_count && api.device_open && api.device_close &&
         api.target && api.buffer_alloc && api.buffer_free &&
         api.buffer_write && api.buffer_read && api.buffer_host_pointer &&
         api.memory && api.program_load && api.program_free && api.program_run;
}

Result<Driver> open(const std::string &path) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return loadFailed(path, dlerror());
  auto query = reinterpret_cast<decltype(&ltc_plugin_query)>(
      dlsym(library, "ltc_plugin_query"));
  if (!query)
    return loadFailed(path, "it has no symbol ltc_plugin_query");
  const ltc_plugin *api = query(LTC_ABI_MAJOR);
  if (!api)
    return loadFailed(path, "it does not serve ABI major " +
                                std::to_string(LTC_ABI_MAJOR));
  if (!isComplete(*api))
    return loadFailed(path, "its table lacks functions of ABI major " +
                                std::to_string(LTC_ABI_MAJOR));
  return Driver{path, api};
}

} // namespace

Result<const Driver *> runtime::loadDriver(const std::string &nameOrPath) {
  static std::mutex mutex;
  static auto *drivers = new std::map<std::string, Driver>;
  // As they were asked for: each step does, and where a name's library is takes
  // the linker microseconds.
  static auto *asked = new std::map<std::string, const Driver *>;
  std::lock_guard lock(mutex);
  if (auto known = asked->find(nameOrPath); known != asked->end())
    return known->second;
  std::string path = nameOrPath;
  if (path.find('/') == path.npos)
    path = siblingLibrary("libltc_driver_" + path + ".so");
  auto found = drivers->find(path);
  if (found == drivers->end()) {
    Result<Driver> driver = open(path);
    if (!driver)
      return driver.takeError();
    found = drivers->emplace(path, std::move(*driver)).first;
  }
  return asked->emplace(nameOrPath, &found->second).first->second;
}

} // namespace ltc
