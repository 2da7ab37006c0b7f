//===- cache_directory.h - A cache on disk for one test ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "fake_device.h"

#include "ltc/cache.h"
#include "ltc/metrics.h"
#include "ltc/settings.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace fake {

/// An engine whose graphs are kept in a directory of its own.
class DiskCacheTest : public EngineTest {
protected:
  DiskCacheTest() {
    root = std::filesystem::temp_directory_path() /
           ("ltc_cache_test_" + std::to_string(getpid()));
    std::filesystem::remove_all(root);
    std::filesystem::create_directories(root);
    directory = (root / "cache").string();
    configure("cache", "rw");
    configure("cache_dir", directory);
    ltc::resetMetrics();
  }
  ~DiskCacheTest() override {
    configure("cache", "off");
    configure("cache_dir", "");
    configure("cache_max_bytes", "0");
    std::filesystem::remove_all(root);
  }

  static void configure(const std::string &name, const std::string &value) {
    ltc::Status status = ltc::set(name, value);
    EXPECT_TRUE(status) << (status ? "" : status.error().str());
  }
  static int64_t metric(const std::string &name) {
    auto all = ltc::metrics();
    auto found = all.find(name);
    return found == all.end() ? 0 : found->second;
  }
  /// What an engine that has nothing in memory makes of a graph that adds one.
  float incOnce() {
    engine = openEngine();
    return read(launch(program("inc"), {upload(1)}));
  }
  std::filesystem::path onlyEntry() {
    std::vector<ltc::cache::File> files = ltc::cache::list(directory);
    EXPECT_EQ(files.size(), 1u);
    return files.empty() ? std::filesystem::path() : pathOf(files[0].key);
  }
  std::filesystem::path pathOf(const std::string &key) const {
    return std::filesystem::path(directory) / (key + ".ltc");
  }
  static std::string bytesOf(const std::filesystem::path &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void write(const std::filesystem::path &path,
                    const std::string &bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }

  std::filesystem::path root; ///< removed with the test
  std::string directory;
};

} // namespace fake
