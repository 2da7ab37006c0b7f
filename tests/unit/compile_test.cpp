//===- compile_test.cpp - Compiling through the engine and its cache ------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "fake_device.h"

#include "ltc/metrics.h"
#include "ltc/settings.h"

#include <filesystem>

#include <fstream>
#include <thread>
#include <unistd.h>

using namespace ltc;
using namespace fake;

namespace {

int64_t metric(const std::string &name) { return metrics().at(name); }

TEST_F(EngineTest, CompilesOnceAndRemembers) {
  resetMetrics();
  Graph graph = graphOf("inc");
  EXPECT_EQ(engine->lookup(graph.hash()), nullptr);
  ExecutablePtr first = program("inc");
  EXPECT_EQ(engine->lookup(graph.hash()), first);
  EXPECT_EQ(program("inc"), first);
  EXPECT_NE(program("add", 2), first);
  EXPECT_EQ(compiler.compiles, 2);
  EXPECT_EQ(metric("cache.miss"), 2);
  EXPECT_EQ(metric("cache.hit.memory"), 2);
  EXPECT_EQ(metric("cache.hit.disk"), 0);
  EXPECT_EQ(metric("cache.disk.corrupt"), 0);
  EXPECT_EQ(metric("codegen.graphs"), 2);
  engine->clearCache();
  EXPECT_EQ(engine->lookup(graph.hash()), nullptr);
  EXPECT_NE(program("inc"), nullptr);
  EXPECT_EQ(compiler.compiles, 3);
}

TEST_F(EngineTest, PassesTheDriversTarget) {
  program("inc");
  const Target &target = compiler.lastOptions.target;
  EXPECT_EQ(target.kind, "cpu");
  EXPECT_EQ(target.triple, "a-triple");
  EXPECT_EQ(target.cpu, "a-cpu");
  EXPECT_EQ(target.features, "+a,-b");
  EXPECT_EQ(compiler.lastOptions.dumpDir, "");
}

TEST_F(EngineTest, ManyThreadsCompileAGraphOnce) {
  std::atomic<int> arrived = 0;
  compiler.during = [&] {
    // All ask before the first compile ends.
    while (arrived < 4)
      std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  };
  std::vector<ExecutablePtr> found(4);
  std::vector<std::thread> threads;
  for (ExecutablePtr &executable : found)
    threads.emplace_back([&] {
      ++arrived;
      executable = program("inc");
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(compiler.compiles, 1);
  for (const ExecutablePtr &executable : found)
    EXPECT_EQ(executable, found[0]);
}

TEST_F(EngineTest, DifferentGraphsCompileAtTheSameTime) {
  std::atomic<int> inside = 0;
  compiler.during = [&] {
    ++inside;
    while (inside < 2)
      std::this_thread::yield();
  };
  std::thread other([&] { program("add", 2); });
  program("inc");
  other.join();
  EXPECT_EQ(compiler.compiles, 2);
}

TEST_F(EngineTest, AFailedCompileIsReportedAndNotRemembered) {
  compiler.failing = true;
  auto failed = engine->compile(graphOf("inc"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "no such row");
  EXPECT_EQ(failed.error().stage, Stage::Lower);
  EXPECT_EQ(failed.error().hint,
            "LTC_DUMP=<directory> keeps the graph, for ltc-run");
  compiler.failing = false;
  EXPECT_TRUE(engine->compile(graphOf("inc")));
}

TEST_F(EngineTest, AGraphThatTheCompilerFailsAtRunsAsLibraryCalls) {
  compiler.failsAtLoops = true;
  int64_t before = counter("codegen.fallback").get();
  ::testing::internal::CaptureStderr();
  ExecutablePtr inc = program("inc");
  std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("[ltc warn lower] the compiler failed at a graph of 1 "
                      "ops, which run as calls of the library"),
            std::string::npos)
      << told;
  EXPECT_NE(told.find("no such row"), std::string::npos) << told;
  EXPECT_EQ(read(launch(inc, {upload(1)})), 2);
  EXPECT_EQ(program("inc"), inc); // it is not tried again
  EXPECT_EQ(compiler.compiles, 2);
  EXPECT_EQ(counter("codegen.fallback").get(), before + 1);
}

TEST_F(EngineTest, AFallbackMayBeForbidden) {
  compiler.failsAtLoops = true;
  ASSERT_TRUE(set("fallback", "error"));
  auto failed = engine->compile(graphOf("inc"));
  ASSERT_TRUE(set("fallback", "cpu"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "no such row");
  EXPECT_EQ(compiler.compiles, 1);
}

TEST_F(EngineTest, RefusesAnInvalidGraphBeforeTheCompiler) {
  Graph graph = graphOf("inc");
  graph.outputs[0].value = 99;
  auto failed = engine->compile(graph);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().stage, Stage::Graph);
  EXPECT_EQ(compiler.compiles, 0);
}

TEST_F(EngineTest, DumpsGraphsForReplay) {
  auto directory = std::filesystem::temp_directory_path() /
                   ("ltc_dump_test_" + std::to_string(getpid()));
  ASSERT_TRUE(set("dump", (directory / "inner").string()));
  Graph graph = graphOf("inc");
  program("inc");
  std::ifstream file(directory / "inner" / (graph.hash().str() + ".ltc"));
  std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(text, graph.str());
  EXPECT_EQ(compiler.lastOptions.dumpDir, (directory / "inner").string());
  EXPECT_EQ(compiler.lastOptions.dumpName, graph.hash().str());

  // A dump that cannot be written is a warning, and the program goes on.
  ASSERT_TRUE(set("dump", "/dev/null/impossible"));
  ::testing::internal::CaptureStderr();
  program("add", 2);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find(
                "[ltc warn graph] cannot write the dump /dev/null/impossible/"),
            std::string::npos);
  ASSERT_TRUE(set("dump", ""));
  std::filesystem::remove_all(directory);
}

// MemoryCache by itself: executables of about 6 KB each.

class StoredExecutable final : public Executable {
public:
  explicit StoredExecutable(size_t codeBytes) {
    stored.blobs = {{"elf", std::string(codeBytes, 'x')}};
  }
  const Artifact &artifact() const override { return stored; }

private:
  Artifact stored;
};

struct CacheTest : ::testing::Test {
  ExecutablePtr add(uint64_t key, size_t codeBytes, size_t capacity) {
    bool hit = true;
    auto made = cache.findOrMake(
        {key, 0}, capacity,
        [&]() -> Result<ExecutablePtr> {
          return ExecutablePtr(std::make_shared<StoredExecutable>(codeBytes));
        },
        hit);
    EXPECT_FALSE(hit);
    return *made;
  }
  bool has(uint64_t key) { return cache.find({key, 0}) != nullptr; }

  runtime::MemoryCache cache;
};

TEST_F(CacheTest, TheLeastRecentlyUsedGoesFirst) {
  constexpr size_t capacity = 20000;
  add(1, 1000, capacity);
  add(2, 1000, capacity);
  add(3, 1000, capacity);
  EXPECT_GT(cache.bytes(), 3 * 1000u);
  EXPECT_TRUE(has(1)); // 2 is now the oldest
  add(4, 1000, capacity);
  EXPECT_FALSE(has(2));
  EXPECT_TRUE(has(1) && has(3) && has(4));
  EXPECT_LE(cache.bytes(), capacity);
}

TEST_F(CacheTest, TheNewestStaysWhateverItsSize) {
  add(1, 1000, 100000);
  ExecutablePtr large = add(2, 1 << 20, 100000);
  EXPECT_FALSE(has(1));
  EXPECT_EQ(cache.find({2, 0}), large);
  add(3, 1000, 100000);
  EXPECT_FALSE(has(2));
  EXPECT_TRUE(has(3));
  cache.clear();
  EXPECT_FALSE(has(3));
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST_F(CacheTest, HalfOfItMakesRoom) {
  for (uint64_t key = 0; key < 100; ++key)
    add(key, 1000, size_t(1) << 40);
  EXPECT_TRUE(has(0)); // used last
  cache.halve();
  EXPECT_TRUE(has(0) && has(99) && has(60));
  EXPECT_FALSE(has(1) || has(40));
  for (int i = 0; i < 20; ++i)
    cache.halve();
  EXPECT_TRUE(has(60)); // the last one may be what is about to run
}

TEST_F(CacheTest, WaitersShareAFailure) {
  std::atomic<int> made = 0, failures = 0;
  auto work = [&] {
    bool hit = false;
    auto result = cache.findOrMake(
        {1, 0}, 1000,
        [&]() -> Result<ExecutablePtr> {
          ++made;
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
          return Error{
              ErrorCode::CompileFailed, Stage::Lower, "no", "", {}, ""};
        },
        hit);
    failures += !result && result.error().message == "no";
  };
  std::thread first(work), second(work);
  first.join();
  second.join();
  EXPECT_EQ(failures, 2);
  EXPECT_GE(made, 1);
  EXPECT_FALSE(has(1));
}

} // namespace
