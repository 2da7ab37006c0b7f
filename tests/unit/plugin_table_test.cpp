//===- plugin_table_test.cpp - Tables of other lengths, and broken ones ---===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/plugin_loader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

using namespace ltc;
using namespace ltc::runtime;

namespace {

void nothing() {}

/// All there; the members are not called.
ltc_plugin complete() {
  ltc_plugin table = {};
  table.struct_size = sizeof(table);
  table.name = "mine";
  auto *words = reinterpret_cast<void **>(&table);
  for (size_t i = 2; i < sizeof(table) / sizeof(void *); ++i)
    words[i] = reinterpret_cast<void *>(nothing);
  return table;
}

std::string complaint(const ltc_plugin &table) {
  Status status = checkTable(table);
  return status ? "" : status.error().message;
}

TEST(PluginTable, MayEndBehindAnyMemberFromProgramRunOn) {
  for (size_t size = LTC_PLUGIN_REQUIRED_SIZE; size <= sizeof(ltc_plugin);
       size += sizeof(void *)) {
    // Nothing behind the end is read.
    std::unique_ptr<char[]> bytes(new char[size]);
    ltc_plugin table = complete();
    table.struct_size = size;
    std::memcpy(bytes.get(), &table, size);
    std::string found =
        complaint(*reinterpret_cast<const ltc_plugin *>(bytes.get()));
    bool cutsQueues = size > offsetof(ltc_plugin, queue_create) &&
                      size < offsetof(ltc_plugin, queue_wait);
    bool cutsHostMemory = size == offsetof(ltc_plugin, host_free);
    bool cutsParts = size == offsetof(ltc_plugin, part_free);
    bool cutsTraces = size == offsetof(ltc_plugin, trace_stop);
    EXPECT_EQ(found.empty(),
              !cutsQueues && !cutsHostMemory && !cutsParts && !cutsTraces)
        << size << " " << found;
  }
}

TEST(PluginTable, MayBeLongerThanTheHosts) {
  struct {
    ltc_plugin table = complete();
    void *more[4] = {};
  } longer;
  longer.table.struct_size = sizeof(longer);
  EXPECT_EQ(complaint(longer.table), "");
}

TEST(PluginTable, FaultsAreNamed) {
  struct Case {
    std::function<void(ltc_plugin &)> spoil;
    std::string words;
  };
  const Case cases[] = {
      {[](auto &t) { t.struct_size = LTC_PLUGIN_REQUIRED_SIZE - 8; }, "bytes"},
      {[](auto &t) { t.struct_size = 0; }, "0 bytes"},
      {[](auto &t) { t.struct_size = size_t(1) << 40; }, "1099511627776"},
      {[](auto &t) { t.struct_size = sizeof(t) + 3; }, "bytes"},
      {[](auto &t) { t.name = nullptr; }, "name"},
      {[](auto &t) { t.name = ""; }, "name"},
      {[](auto &t) { t.name = "My Device"; }, "name"},
      {[](auto &t) { t.error_read = nullptr; }, "no error_read"},
      {[](auto &t) { t.buffer_read = nullptr; }, "no buffer_read"},
      {[](auto &t) { t.program_run = nullptr; }, "no program_run"},
      {[](auto &t) { t.fence_wait = nullptr; }, "queue_create and fence_wait"},
      {[](auto &t) { t.queue_resume = nullptr; }, "queue_resume"},
      {[](auto &t) { t.host_free = nullptr; }, "host_alloc and host_free"},
  };
  for (const Case &one : cases) {
    ltc_plugin table = complete();
    one.spoil(table);
    EXPECT_NE(complaint(table).find(one.words), std::string::npos)
        << one.words << " in: " << complaint(table);
  }
}

TEST(PluginTable, TheTextOfADeviceMayHaveAnArgument) {
  struct Case {
    std::string text, driver, argument;
  };
  const Case cases[] = {
      {"cpu", "cpu", ""},
      {"pjrt:/a/b:c.so", "pjrt", "/a/b:c.so"},
      {"board:", "board", ""},
      {"/a/b:c/lib.so", "/a/b:c/lib.so", ""},
      {"/a/b:c/lib.so:tcp:9", "/a/b:c/lib.so", "tcp:9"},
  };
  for (const Case &one : cases) {
    DeviceText found = splitDevice(one.text);
    EXPECT_EQ(found.driver, one.driver) << one.text;
    EXPECT_EQ(found.argument, one.argument) << one.text;
  }
}

} // namespace
