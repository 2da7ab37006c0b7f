//===- own_version_test.cpp - A program of its own for a size seen often --===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cache_directory.h"

#include "ltc/autopsy.h"

#include <chrono>
#include <thread>

using namespace ltc;
using namespace fake;

namespace {

using Values = std::vector<int64_t>;

class OwnVersion : public DiskCacheTest {
protected:
  OwnVersion() {
    configure("cache", "off");
    configure("static_after", "3");
  }
  ~OwnVersion() override { configure("static_after", "0"); }

  /// As the front end does: what is not in memory is compiled.
  ExecutablePtr find(const Graph &graph) {
    if (ExecutablePtr known = engine->lookup(graph.hash()))
      return known;
    auto compiled = engine->compile(graph);
    EXPECT_TRUE(compiled) << (compiled ? "" : compiled.error().message);
    return compiled ? *compiled : nullptr;
  }
  /// Adds one to that many ones; the symbols that the program was given.
  Values run(int64_t elements, int times = 1) {
    std::vector<float> data(size_t(elements), 1);
    for (int i = 0; i < times; ++i) {
      ExecutablePtr executable =
          find(graphOf("inc", 1, std::nullopt, elements));
      auto input = engine->upload({DType::F32, {elements}}, data.data());
      EXPECT_TRUE(input);
      BufferPtr result = launch(executable, {*input});
      std::vector<float> found(size_t(elements), 0);
      EXPECT_TRUE(engine->download(result, found.data()));
      EXPECT_EQ(found[0], 2);
    }
    std::lock_guard lock(state().mutex);
    return state().symbols.back();
  }
  /// Sizes 4 and 6 have one program each, that of 6 serves all sizes.
  void makeOpen() {
    EXPECT_EQ(run(4), Values());
    EXPECT_EQ(run(6), Values{6});
    EXPECT_EQ(compiler.compiles, 2);
  }
  static void await(const std::function<bool()> &done) {
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done() && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
    EXPECT_TRUE(done());
  }
  static void awaitVersions(int count) {
    await([=] { return metric("cache.own_versions") >= count; });
  }
  /// Has compiles of other threads than this one do that.
  void inBackground(std::function<void()> body) {
    compiler.during = [self = std::this_thread::get_id(),
                       body = std::move(body)] {
      if (std::this_thread::get_id() != self)
        body();
    };
  }
  std::atomic<bool> begun = false, go = false;
  /// Runs `size` until its own version is being compiled, where `body` runs.
  void runUntilBegun(int64_t size, std::function<void()> body) {
    inBackground([this, body = std::move(body)] {
      begun = true;
      body();
    });
    run(size, 4);
    await([&] { return begun.load(); });
  }
  void runUntilHeld(int64_t size) {
    runUntilBegun(size, [&] { await([&] { return go.load(); }); });
  }
};

TEST_F(OwnVersion, TakesOverAfterSoManyRuns) {
  makeOpen();
  EXPECT_EQ(run(6, 2), Values{6});
  EXPECT_EQ(compiler.compiles, 2);
  run(6); // has run three times
  awaitVersions(1);
  EXPECT_EQ(run(6, 5), Values());
  EXPECT_EQ(compiler.compiles, 3);
  EXPECT_EQ(metric("codegen.graphs"), 3);
  EXPECT_EQ(find(graphOf("inc", 1, std::nullopt, 6))->artifact().graphText,
            graphOf("inc", 1, std::nullopt, 6).str(SourceLines::Omit));
  // Others go on with the program for all sizes, until they are seen often.
  EXPECT_EQ(run(9, 3), Values{9});
  run(9);
  awaitVersions(2);
  EXPECT_EQ(run(9), Values());
  EXPECT_EQ(compiler.compiles, 4);
}

TEST_F(OwnVersion, LeavesTheProgramForAllSizesInMemory) {
  makeOpen();
  run(6, 4);
  awaitVersions(1);
  EXPECT_EQ(state().programs, 3);
  EXPECT_EQ(run(12), Values{12});
  EXPECT_EQ(compiler.compiles, 3);
}

TEST_F(OwnVersion, IsNeverMadeUnlessItIsWanted) {
  configure("static_after", "0");
  makeOpen();
  EXPECT_EQ(run(6, 50), Values{6});
  EXPECT_EQ(compiler.compiles, 2);
}

TEST_F(OwnVersion, NobodyWaitsForIt) {
  makeOpen();
  runUntilHeld(6);
  EXPECT_EQ(run(6, 20), Values{6});
  EXPECT_EQ(run(9, 20), Values{9}); // waits for its turn
  EXPECT_EQ(metric("cache.own_versions"), 0);
  EXPECT_EQ(compiler.compiles, 3);
  go = true;
  awaitVersions(2);
  EXPECT_EQ(run(6), Values());
  EXPECT_EQ(run(9), Values());
  EXPECT_EQ(compiler.compiles, 4);
}

TEST_F(OwnVersion, OnlyFewGraphsWaitAndTheOthersAreAskedForLater) {
  makeOpen();
  std::atomic<bool> go = false;
  inBackground([&] { await([&] { return go.load(); }); });
  for (int64_t elements = 6; elements < 16; ++elements)
    EXPECT_EQ(run(elements, 4), Values{elements});
  go = true;
  for (int64_t elements = 6; elements < 16; ++elements)
    await([&] { return run(elements) == Values(); });
  EXPECT_EQ(compiler.compiles, 12);
}

TEST_F(OwnVersion, ShuttingDownStopsTheCompile) {
  makeOpen();
  runUntilBegun(6, [&] {
    const std::atomic<bool> *stop;
    {
      std::lock_guard lock(state().mutex);
      stop = compiler.lastOptions.stop;
    }
    ASSERT_NE(stop, nullptr);
    await([&] { return stop->load(); });
    compiler.failing = true;
  });
  run(9, 4); // is dropped
  testing::internal::CaptureStderr();
  engine->close();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(metric("cache.own_versions"), 0);
  EXPECT_EQ(compiler.compiles, 3);
}

TEST_F(OwnVersion, WhatCannotBeCompiledIsToldOnceAndLeftAsItIs) {
  makeOpen();
  testing::internal::CaptureStderr();
  inBackground([&] { compiler.failing = compiler.compiles == 3; });
  run(6, 4);
  run(9, 4);
  awaitVersions(1);
  EXPECT_EQ(run(6, 20), Values{6});
  EXPECT_EQ(run(9), Values());
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "[ltc warn cache] a size that was seen often keeps the program for "
            "all sizes: no such row\n");
  EXPECT_EQ(compiler.compiles, 4);
}

TEST_F(OwnVersion, WhatIsForgottenMeanwhileStaysForgotten) {
  makeOpen();
  inBackground([&] { engine->clearCache(); });
  run(6, 3); // and once before: this one asks
  awaitVersions(1);
  EXPECT_EQ(engine->lookup(graphOf("inc", 1, std::nullopt, 6).hash()), nullptr);
  EXPECT_EQ(engine->lookup(graphOf("inc", 1, std::nullopt, 4).hash()), nullptr);
}

TEST_F(OwnVersion, AGraphWithSymbolsKeepsThem) {
  Result<Graph> open =
      Graph::parse("graph {\n  symbol s0 = 4\n  %0 = input f32[s0]\n  %1 = "
                   "test::inc(self=%0) : f32[s0]\n  output %1\n}\n");
  ASSERT_TRUE(open);
  for (int i = 0; i < 9; ++i)
    EXPECT_EQ(read(launch(find(*open), {upload(1)})), 2);
  EXPECT_EQ(compiler.compiles, 1);
  EXPECT_NE(engine->lookup(open->hash()), nullptr);
}

TEST_F(OwnVersion, HasACauseOfItsOwnAndBreaksNoGuard) {
  makeOpen();
  CompileWatch guard(0, /*loads=*/true);
  guard.enter();
  run(6, 4);
  awaitVersions(1);
  EXPECT_TRUE(CompileWatch::check());
  EXPECT_TRUE(guard.records().empty());
  CompileRecord record = compileRecords().back();
  EXPECT_EQ(record.difference.cause, CompileCause::OwnVersion);
  EXPECT_EQ(record.difference.what, "its sizes have been seen 3 times, and get "
                                    "a program of their own");
  EXPECT_EQ(record.comparedWith, record.number - 1);
  EXPECT_FALSE(record.open);
  EXPECT_NE(record.remedy(), "");
  EXPECT_EQ(metric("cache.cause.own_version"), 1);
}

TEST_F(OwnVersion, IsAnEntryOnDiskAndFoundThere) {
  configure("cache", "rw");
  makeOpen();
  run(6, 4);
  awaitVersions(1);
  EXPECT_EQ(cache::list(directory).size(), 3u);
  engine = openEngine();
  EXPECT_EQ(run(6), Values()); // the first that this process sees
  EXPECT_EQ(run(9), Values{9});
  engine = openEngine();
  EXPECT_EQ(run(9), Values{9});
  EXPECT_EQ(run(6, 4), Values{6});
  awaitVersions(2);
  EXPECT_EQ(run(6), Values());
  EXPECT_EQ(compiler.compiles, 3);
  EXPECT_EQ(compileRecords().back().difference.cause, CompileCause::OwnVersion);
  EXPECT_TRUE(compileRecords().back().fromDisk);
}

TEST_F(OwnVersion, GoesByTheSettingsThatItWasAskedForWith) {
  makeOpen();
  runUntilHeld(6);
  run(9, 3);
  configure("without", "fuse");
  run(9);
  configure("without", "");
  go = true;
  awaitVersions(2);
  EXPECT_FALSE(compiler.lastOptions.optimizations.fuse);
}

TEST_F(OwnVersion, CountsInMemoryBesideWhatItTookOver) {
  makeOpen();
  run(6, 4);
  awaitVersions(1);
  run(4);
  // Of six elements is the least recently used: both programs of it go.
  configure("cache_memory_bytes", "1");
  run(5);
  configure("cache_memory_bytes", "1073741824");
  EXPECT_TRUE(engine->synchronize());
  EXPECT_EQ(state().programs, 1);
}

} // namespace
