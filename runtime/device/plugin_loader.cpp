//===- plugin_loader.cpp - Drivers as shared libraries --------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/plugin_loader.h"

#include "device/device.h"
#include "device/host.h"
#include "device/plugin_probe.h"
#include "ltc/settings.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <unistd.h>

namespace ltc {

using namespace runtime;

static_assert(LTC_INTERNAL == int(ErrorCode::Internal) + 1);
static_assert(LTC_LINEAR_ALGEBRA == int(ErrorCode::LinearAlgebra) + 1);

Fault Driver::takeFault(ltc_error *error) const {
  ltc_error_info info = {};
  info.struct_size = sizeof(info);
  info.site = -1;
  api->error_read(error, &info);
  Fault fault;
  bool known =
      info.code >= LTC_INVALID_ARGUMENT && info.code <= LTC_LINEAR_ALGEBRA;
  fault.error.code = known ? ErrorCode(info.code - 1) : ErrorCode::DeviceFailed;
  fault.error.message =
      info.message ? info.message : "the driver failed without a message";
  fault.site = info.site;
  fault.isSkipped = info.code == LTC_SKIPPED;
  api->error_free(error);
  return fault;
}

Error Driver::take(ltc_error *error) const {
  return std::move(takeFault(error).error);
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

Error tableError(const std::string &why) {
  return {ErrorCode::DeviceFailed, Stage::Execute, why, "", {}, ""};
}

struct Member {
  const char *name;
  size_t offset;
};
#define LTC_MEMBER(name) {#name, offsetof(ltc_plugin, name)}

/// Each is a pointer to a function.
constexpr Member required[] = {
    LTC_MEMBER(error_read),   LTC_MEMBER(error_free),
    LTC_MEMBER(device_count), LTC_MEMBER(device_open),
    LTC_MEMBER(device_close), LTC_MEMBER(properties),
    LTC_MEMBER(buffer_alloc), LTC_MEMBER(buffer_free),
    LTC_MEMBER(buffer_write), LTC_MEMBER(buffer_read),
    LTC_MEMBER(memory),       LTC_MEMBER(program_load),
    LTC_MEMBER(program_free), LTC_MEMBER(program_run)};

constexpr Member queues[] = {LTC_MEMBER(queue_create), LTC_MEMBER(queue_free),
                             LTC_MEMBER(queue_resume), LTC_MEMBER(fence_record),
                             LTC_MEMBER(fence_wait),   LTC_MEMBER(fence_free)};

constexpr Member hostMemory[] = {LTC_MEMBER(host_alloc), LTC_MEMBER(host_free)};

constexpr Member parts[] = {LTC_MEMBER(part_compile), LTC_MEMBER(part_free)};

constexpr Member traces[] = {LTC_MEMBER(trace_start), LTC_MEMBER(trace_stop)};
#undef LTC_MEMBER

bool has(const ltc_plugin &table, const Member &member) {
  void *value;
  std::memcpy(static_cast<void *>(&value),
              reinterpret_cast<const char *>(&table) + member.offset,
              sizeof(value));
  return value;
}

Status checkTogether(const ltc_plugin &table, std::span<const Member> members) {
  for (const Member &member : members)
    if (has(table, member) != has(table, members[0]))
      return tableError(std::string("its table has one of ") + members[0].name +
                        " and " + member.name + ", and needs both or none");
  return {};
}

/// A copy of this host's size; what the plugin's lacks is NULL.
ltc_plugin asLongAsOurs(const ltc_plugin &table) {
  ltc_plugin all = {};
  std::memcpy(&all, &table, std::min(table.struct_size, sizeof(all)));
  return all;
}

bool isName(const char *name) {
  std::string_view rest = name ? name : "";
  return !rest.empty() && rest[0] >= 'a' && rest[0] <= 'z' &&
         rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") ==
             rest.npos;
}

Error loadFailed(const std::string &path, const std::string &why) {
  return {
      ErrorCode::DeviceFailed,
      Stage::Execute,
      "cannot use the driver " + path + ": " + why,
      "",
      {},
      "LTC_DEVICE takes cpu, cuda, null, emulator, pjrt:PATH, or a plugin's "
      "name or path"};
}

Result<Driver> open(const std::string &path, bool isForeign) {
  if (isForeign)
    if (std::string why = whyUnusable(path); !why.empty())
      return loadFailed(path, why);
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return loadFailed(path, dlerror());
  auto query = reinterpret_cast<decltype(&ltc_plugin_query)>(
      dlsym(library, "ltc_plugin_query"));
  if (!query)
    return loadFailed(path, "it has no symbol ltc_plugin_query");
  const ltc_plugin *table = query(LTC_ABI_MAJOR, &hostTable());
  if (!table)
    return loadFailed(path, "it does not serve ABI major " +
                                std::to_string(LTC_ABI_MAJOR));
  if (Status status = checkTable(*table); !status)
    return loadFailed(path, status.error().message);
  return Driver{path, new ltc_plugin(asLongAsOurs(*table))};
}

/// The library of that name, in the first place that has it.
std::string findLibrary(const std::string &name, bool &isForeign) {
  std::string file = "libltc_driver_" + name + ".so";
  std::string path = siblingLibrary(file);
  isForeign = false;
  if (access(path.c_str(), F_OK) == 0)
    return path;
  std::string_view folders = settings().plugin_path;
  while (!folders.empty()) {
    size_t colon = std::min(folders.find(':'), folders.size());
    std::string candidate = std::string(folders.substr(0, colon)) + "/" + file;
    folders.remove_prefix(std::min(colon + 1, folders.size()));
    if (access(candidate.c_str(), F_OK) == 0) {
      isForeign = true;
      return candidate;
    }
  }
  return path;
}

} // namespace

Status runtime::checkTable(const ltc_plugin &table) {
  // A table of another kind has a pointer here.
  constexpr size_t most = size_t(1) << 16;
  if (table.struct_size < LTC_PLUGIN_REQUIRED_SIZE ||
      table.struct_size > most || table.struct_size % sizeof(void *) != 0)
    return tableError(
        "its table says that it has " + std::to_string(table.struct_size) +
        " bytes, and " + std::to_string(LTC_PLUGIN_REQUIRED_SIZE) +
        " are the least of ABI major " + std::to_string(LTC_ABI_MAJOR));
  ltc_plugin all = asLongAsOurs(table);
  if (!isName(all.name))
    return tableError("its name is not of the form [a-z][a-z0-9_]*");
  for (const Member &member : required)
    if (!has(all, member))
      return tableError(std::string("its table has no ") + member.name);
  for (std::span<const Member> group :
       {std::span<const Member>(queues), {hostMemory}, {parts}, {traces}})
    if (Status status = checkTogether(all, group); !status)
      return status;
  return {};
}

DeviceText runtime::splitDevice(std::string_view text) {
  // A path may have colons of its own.
  for (size_t colon = text.find(':'); colon != text.npos;
       colon = text.find(':', colon + 1)) {
    std::string_view driver = text.substr(0, colon);
    if (driver.find('/') == driver.npos || driver.ends_with(".so"))
      return {std::string(driver), std::string(text.substr(colon + 1))};
  }
  return {std::string(text), ""};
}

Result<const Driver *> runtime::loadDriver(const std::string &nameOrPath) {
  static std::mutex mutex;
  static auto *drivers = new std::map<std::string, Driver>;
  // As they were asked for: each step does, and where a name's library is takes
  // the linker microseconds.
  static auto *asked = new std::map<std::string, const Driver *>;
  std::lock_guard lock(mutex);
  if (auto known = asked->find(nameOrPath); known != asked->end())
    return known->second;
  bool isForeign = true;
  std::string path = nameOrPath;
  if (path.find('/') == path.npos)
    path = findLibrary(path, isForeign);
  auto found = drivers->find(path);
  if (found == drivers->end()) {
    Result<Driver> driver = open(path, isForeign);
    if (!driver)
      return driver.takeError();
    found = drivers->emplace(path, std::move(*driver)).first;
  }
  return asked->emplace(nameOrPath, &found->second).first->second;
}

} // namespace ltc
