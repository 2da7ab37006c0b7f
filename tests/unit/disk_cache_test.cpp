//===- disk_cache_test.cpp - Graphs that are kept on disk -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cache_directory.h"

#include "cache/compiler_note.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>

using namespace ltc;
using namespace fake;
namespace fs = std::filesystem;

namespace {

TEST_F(DiskCacheTest, AnotherEngineLoadsInsteadOfCompiling) {
  EXPECT_EQ(incOnce(), 2);
  EXPECT_EQ(metric("cache.miss"), 1);
  EXPECT_EQ(metric("cache.disk.writes"), 1);
  resetMetrics();
  EXPECT_EQ(incOnce(), 2);
  EXPECT_EQ(compiler.compiles, 1);
  EXPECT_EQ(metric("cache.hit.disk"), 1);
  EXPECT_EQ(metric("cache.miss"), 0);
  EXPECT_EQ(metric("codegen.graphs"), 0);
  EXPECT_EQ(metric("cache.disk.corrupt"), 0);
  EXPECT_NE(program("inc"), nullptr);
  EXPECT_EQ(metric("cache.hit.memory"), 1);
}

TEST_F(DiskCacheTest, AnEntryIsTheArtifactAndItsKeyFollowsFromIt) {
  incOnce();
  std::string bytes = bytesOf(onlyEntry());
  EXPECT_EQ(bytes, program("inc")->artifact().serialize());
  std::string key = cache::list(directory)[0].key;
  Result<Artifact> entry = cache::read(directory, key);
  ASSERT_TRUE(entry) << entry.error().str();
  EXPECT_EQ(entry->graphText, graphOf("inc").str(SourceLines::Omit));
  EXPECT_EQ(entry->compiler, "fake");
  Result<std::string> added = cache::add((root / "other").string(), bytes);
  ASSERT_TRUE(added) << added.error().str();
  EXPECT_EQ(*added, key);
  EXPECT_EQ(bytesOf(root / "other" / (key + ".ltc")), bytes);
  EXPECT_FALSE(cache::add(directory, bytes.substr(1)));
  EXPECT_TRUE(cache::remove(directory, key));
  EXPECT_FALSE(cache::read(directory, key));
  EXPECT_FALSE(cache::read(directory, "../" + key));
}

TEST_F(DiskCacheTest, ErrorsOfALoadedGraphNameTheLinesOfThisProcess) {
  Graph graph = graphOf("site");
  ASSERT_TRUE(engine->compile(graph));
  graph.nodes[0].source = internSource({"moved.py", 99, "g"});
  engine = openEngine();
  auto executable = engine->compile(graph);
  ASSERT_TRUE(executable);
  EXPECT_EQ(compiler.compiles, 1);
  Status status = launch(*executable, {upload(1)})->wait();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().source.str(), "moved.py:99 in g");
  EXPECT_EQ(withoutGraph(status.error().message),
            "test::site(f32[4]): index out of range");
}

TEST_F(DiskCacheTest, WhatTheCompilerFailsAtIsNotKept) {
  compiler.failsAtLoops = true;
  EXPECT_EQ(incOnce(), 2);
  EXPECT_TRUE(cache::list(directory).empty());
  compiler.failsAtLoops = false;
  EXPECT_EQ(incOnce(), 2);
  EXPECT_EQ(cache::list(directory).size(), 1u);
}

TEST_F(DiskCacheTest, OtherFeaturesAndOtherCompilersHaveEntriesOfTheirOwn) {
  incOnce();
  state().target = "cpu:a-triple:a-cpu:+a,+b";
  EXPECT_EQ(incOnce(), 2);
  compiler.name = "another build";
  EXPECT_EQ(incOnce(), 2);
  EXPECT_EQ(compiler.compiles, 3);
  EXPECT_EQ(cache::list(directory).size(), 3u);
  EXPECT_EQ(metric("cache.disk.corrupt"), 0);
}

TEST_F(DiskCacheTest, ATargetThatLeavesTheCpuOpenIsNotKept) {
  state().target = "cpu:::";
  EXPECT_EQ(incOnce(), 2);
  EXPECT_FALSE(fs::exists(directory));
  compiler.name = "";
  state().target = "cpu:a-triple:a-cpu:";
  EXPECT_EQ(incOnce(), 2);
  EXPECT_FALSE(fs::exists(directory));
}

TEST_F(DiskCacheTest, WhatAnotherCompilerMadeIsNotKept) {
  // As after an upgrade below a running process.
  compiler.during = [&] { compiler.name = "newer"; };
  EXPECT_EQ(incOnce(), 2);
  EXPECT_TRUE(cache::list(directory).empty());
}

TEST_F(DiskCacheTest, OffAndReadOnlyWriteNothing) {
  configure("cache", "off");
  incOnce();
  EXPECT_FALSE(fs::exists(directory));
  configure("cache", "ro");
  incOnce();
  EXPECT_FALSE(fs::exists(directory));
  configure("cache", "rw");
  incOnce();
  EXPECT_EQ(compiler.compiles, 3);
  fs::path entry = onlyEntry();
  auto old = fs::file_time_type::clock::now() - std::chrono::hours(5);
  fs::last_write_time(entry, old);
  configure("cache", "ro");
  EXPECT_EQ(incOnce(), 2);
  EXPECT_EQ(compiler.compiles, 3);
  EXPECT_EQ(fs::last_write_time(entry), old);
  write(entry, "bad");
  EXPECT_EQ(incOnce(), 2);
  EXPECT_EQ(compiler.compiles, 4);
  EXPECT_EQ(bytesOf(entry), "bad");
  EXPECT_FALSE(set("cache", "wr"));
}

TEST_F(DiskCacheTest, DumpsAreOfGraphsThatAreCompiled) {
  incOnce();
  configure("dump", (root / "dump").string());
  incOnce();
  configure("dump", "");
  EXPECT_EQ(compiler.compiles, 2);
}

TEST_F(DiskCacheTest, TheLeastRecentlyUsedGoFirst) {
  for (int i = 0; i < 6; ++i)
    ASSERT_TRUE(engine->compile(graphOf("g" + std::to_string(i))));
  std::vector<cache::File> files = cache::list(directory);
  ASSERT_EQ(files.size(), 6u);
  uint64_t each = files[0].bytes;
  auto keyOf = [&](int i) {
    for (const cache::File &file : cache::list(directory))
      if (cache::read(directory, file.key)->kernels[0].name ==
          "test::g" + std::to_string(i))
        return file.key;
    return std::string();
  };
  for (int i = 0; i < 6; ++i)
    fs::last_write_time(pathOf(keyOf(i)), fs::file_time_type::clock::now() -
                                              std::chrono::hours(10 - i));
  engine = openEngine(); // it used g0 last
  ASSERT_TRUE(engine->compile(graphOf("g0")));
  configure("cache_max_bytes", std::to_string(4 * each));
  ASSERT_TRUE(engine->compile(graphOf("g6")));
  EXPECT_EQ(metric("cache.disk.evictions"), 4);
  EXPECT_EQ(keyOf(1), "");
  EXPECT_EQ(keyOf(4), "");
  EXPECT_NE(keyOf(0), "");
  EXPECT_NE(keyOf(5), "");
  EXPECT_NE(keyOf(6), "");
  // Every further one is measured, too: the limit is smaller than the slack.
  for (int i = 7; i < 12; ++i) {
    ASSERT_TRUE(engine->compile(graphOf("g" + std::to_string(i))));
    EXPECT_LE(cache::list(directory).size(), 4u);
  }
  configure("cache_max_bytes", "100");
  int64_t written = metric("cache.disk.writes");
  ASSERT_TRUE(engine->compile(graphOf("large")));
  EXPECT_EQ(metric("cache.disk.writes"), written);
}

TEST_F(DiskCacheTest, PruneLeavesWhatIsNotOurs) {
  incOnce();
  fs::path notes = fs::path(directory) / "notes.txt";
  fs::path young = fs::path(directory) / ".writing-1";
  fs::path old = fs::path(directory) / ".writing-2";
  for (const fs::path &path : {notes, young, old})
    write(path, "text");
  for (const fs::path &path : {notes, old})
    fs::last_write_time(path, fs::file_time_type::clock::now() -
                                  std::chrono::hours(2));
  EXPECT_EQ(cache::prune(directory, 0).size(), 1u);
  EXPECT_TRUE(fs::exists(notes));
  EXPECT_TRUE(fs::exists(young));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(cache::list(directory).empty());
  EXPECT_TRUE(cache::list((root / "nowhere").string()).empty());
}

TEST_F(DiskCacheTest, TheDirectoryIsTheUsersOwn) {
  configure("cache_dir", "");
  setenv("XDG_CACHE_HOME", (root / "xdg").c_str(), 1);
  EXPECT_EQ(cache::directory(), (root / "xdg" / "torch_ltc").string());
  incOnce();
  struct stat status;
  ASSERT_EQ(stat(cache::directory().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  EXPECT_EQ(cache::list(cache::directory()).size(), 1u);
  setenv("XDG_CACHE_HOME", "relative", 1);
  setenv("HOME", root.c_str(), 1);
  EXPECT_EQ(cache::directory(), (root / ".cache" / "torch_ltc").string());
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(cache::directory(), (root / ".cache" / "torch_ltc").string());
}

TEST_F(DiskCacheTest, EnginesAtTheSameTimeCompileOnce) {
  std::vector<std::unique_ptr<runtime::DeviceEngine>> engines;
  for (int i = 0; i < 4; ++i)
    engines.push_back(openEngine());
  compiler.during = [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  };
  std::vector<std::thread> threads;
  for (auto &each : engines)
    threads.emplace_back([&] { EXPECT_TRUE(each->compile(graphOf("inc"))); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(compiler.compiles, 1);
  EXPECT_EQ(metric("cache.hit.disk"), 3);
  EXPECT_EQ(metric("cache.disk.waits"), 3);
}

TEST_F(DiskCacheTest, AKilledHolderLetsGo) {
  fs::create_directories(directory);
  std::string path = directory + "/lock";
  Hash128 key{5, 6};
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  pid_t child = fork();
  if (child == 0) {
    runtime::FileLock lock;
    auto outcome = lock.acquire(path, key, std::chrono::seconds(1));
    char ok = outcome == runtime::FileLock::Outcome::Locked;
    (void)!::write(ready[1], &ok, 1);
    for (;;)
      pause();
  }
  char ok = 0;
  ASSERT_EQ(::read(ready[0], &ok, 1), 1);
  EXPECT_EQ(ok, 1);
  using Outcome = runtime::FileLock::Outcome;
  runtime::FileLock other, lock;
  EXPECT_EQ(other.acquire(path, {500, 6}, std::chrono::seconds(0)),
            Outcome::Locked);
  EXPECT_EQ(lock.acquire(path, key, std::chrono::milliseconds(5)),
            Outcome::TimedOut);
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    kill(child, SIGKILL);
  });
  EXPECT_EQ(lock.acquire(path, key, std::chrono::seconds(20)),
            Outcome::LockedAfterWaiting);
  killer.join();
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
}

TEST(CompilerNote, IsReadFromAnElfLibraryAlone) {
  EXPECT_FALSE(runtime::readCompilerNote("/nowhere"));
  EXPECT_FALSE(runtime::readCompilerNote("/dev/null"));
  EXPECT_FALSE(runtime::readCompilerNote("/proc/self/exe"));
}

} // namespace
