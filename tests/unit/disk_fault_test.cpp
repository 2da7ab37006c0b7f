//===- disk_fault_test.cpp - What may be wrong with a cache on disk -------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cache_directory.h"

#include <csignal>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace ltc;
using namespace fake;
namespace fs = std::filesystem;

namespace {

/// Runs the graph over an entry that is spoilt: the value is right, the fault
/// is told and counted once, and a good entry stands there again.
class DiskFaultTest : public DiskCacheTest {
protected:
  DiskFaultTest() {
    EXPECT_EQ(incOnce(), 2);
    entry = onlyEntry();
    good = bytesOf(entry);
  }

  void expectReplaced(const std::string &what) {
    SCOPED_TRACE(what);
    resetMetrics();
    int before = compiler.compiles;
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(incOnce(), 2);
    std::string told = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
    EXPECT_TRUE(
        told.starts_with("[ltc warn cache] the cached graph " + entry.string()))
        << told;
    EXPECT_EQ(metric("cache.disk.corrupt"), 1);
    EXPECT_EQ(compiler.compiles, before + 1);
    EXPECT_EQ(bytesOf(entry), good);
  }

  fs::path entry;
  std::string good;
};

TEST_F(DiskFaultTest, FlippedBits) {
  for (size_t at = 0; at < good.size(); at += 1 + at / 16) {
    std::string bytes = good;
    bytes[at] = char(bytes[at] ^ (1 << (at % 8)));
    write(entry, bytes);
    expectReplaced("byte " + std::to_string(at));
  }
}

TEST_F(DiskFaultTest, OtherLengths) {
  for (size_t size : {size_t(0), size_t(1), size_t(39), size_t(40), size_t(41),
                      good.size() / 2, good.size() - 1}) {
    write(entry, good.substr(0, size));
    expectReplaced("length " + std::to_string(size));
  }
  write(entry, good + "more");
  expectReplaced("longer");
  write(entry, good);
  ASSERT_EQ(truncate(entry.c_str(), off_t(1) << 40), 0); // sparse
  expectReplaced("a terabyte of zeros behind it");
}

TEST_F(DiskFaultTest, ForeignThings) {
  write(entry, "#!/bin/sh\necho not an entry, and longer than a header\n");
  expectReplaced("a script");
  fs::remove(entry);
  fs::create_directories(entry / "inner");
  write(entry / "inner" / "file", "x");
  expectReplaced("a directory");
  fs::remove(entry);
  ASSERT_EQ(mkfifo(entry.c_str(), 0600), 0);
  expectReplaced("a pipe");
  fs::remove(entry);
  write(root / "elsewhere", "not ours");
  fs::create_symlink(root / "elsewhere", entry);
  expectReplaced("a link to something else");
  EXPECT_EQ(bytesOf(root / "elsewhere"), "not ours");
}

TEST_F(DiskFaultTest, AGoodEntryOfSomethingElse) {
  ASSERT_TRUE(engine->compile(graphOf("add", 2)));
  for (const cache::File &file : cache::list(directory))
    if (pathOf(file.key) != entry)
      fs::copy_file(pathOf(file.key), entry,
                    fs::copy_options::overwrite_existing);
  expectReplaced("another graph");
  for (auto [from, to] :
       {std::pair("cpu:a-triple:a-cpu:+a,-b", "cpu:a-triple:a-cpu:+a,+b"),
        {"fake", "faux"}}) {
    Artifact artifact = *Artifact::deserialize(good);
    (artifact.target == from ? artifact.target : artifact.compiler) = to;
    write(entry, artifact.serialize());
    expectReplaced(to);
  }
}

TEST_F(DiskFaultTest, AnEntryThatTheDeviceRefuses) {
  state().refuseLoads = 2; // looked at again under the lock
  expectReplaced("refused");
  // If it refuses what was just compiled, too, then that is the error.
  state().refuseLoads = 3;
  engine = openEngine();
  auto failed = engine->compile(graphOf("inc"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "not on this device");
}

/// Runs graphs that cannot be kept: right values, one line, each counted.
class NoDirectoryTest : public DiskCacheTest {
protected:
  void expectWithout(const std::string &why) {
    resetMetrics();
    engine = openEngine();
    ::testing::internal::CaptureStderr();
    for (std::string op : {"a", "b", "c"})
      EXPECT_NE(program(op), nullptr);
    EXPECT_EQ(read(launch(program("inc"), {upload(1)})), 2);
    std::string told = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(told.find(why + "); going on without it\n"), told.npos) << told;
    EXPECT_LE(std::count(told.begin(), told.end(), '\n'), 2) << told;
    EXPECT_GE(metric("cache.disk.failures"), 4);
    EXPECT_EQ(metric("cache.disk.writes"), 0);
    EXPECT_EQ(metric("cache.disk.corrupt"), 0);
  }
};

TEST_F(NoDirectoryTest, AFileInItsPlace) {
  write(directory, "in the way");
  expectWithout("open: Not a directory");
  EXPECT_EQ(bytesOf(directory), "in the way");
}

TEST_F(NoDirectoryTest, NoPermission) {
  fs::create_directories(directory);
  ASSERT_EQ(chmod(root.c_str(), 0755), 0);
  ASSERT_EQ(chmod(directory.c_str(), 0555), 0);
  bool isRoot = geteuid() == 0; // whom no permission stops
  if (isRoot) {
    ASSERT_EQ(seteuid(65534), 0);
  }
  expectWithout("Permission denied");
  if (isRoot) {
    ASSERT_EQ(seteuid(0), 0);
  }
  EXPECT_TRUE(fs::is_empty(directory));
}

TEST_F(NoDirectoryTest, ADiskThatTakesNoMore) {
  fs::create_directories(directory);
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before, limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  limit = before;
  limit.rlim_cur = 900; // less than an entry, and more than is logged
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  expectWithout("write: File too large");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  // Nothing half-written stays.
  for (const auto &file : fs::directory_iterator(directory))
    EXPECT_EQ(file.path().filename(), "lock");
}

} // namespace
