//===- open_sizes_test.cpp - One program for sizes that vary --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cache_directory.h"

#include <thread>

using namespace ltc;
using namespace fake;

namespace {

/// f32[rows, width], and its double.
Graph step(int64_t rows, int64_t width = 8, const std::string &op = "inc") {
  std::string type =
      "f32[" + std::to_string(rows) + ", " + std::to_string(width) + "]";
  Result<Graph> graph = Graph::parse(
      "graph {\n  %0 = input " + type + "\n  %1 = test::" + op +
      "(self=%0) : " + type + "\n  %2 = aten::view(self=%1, size=[" +
      std::to_string(rows * width) + "]) : f32[" +
      std::to_string(rows * width) + "]\n  output %2\n}\n");
  EXPECT_TRUE(graph);
  return *graph;
}

class OpenSizes : public DiskCacheTest {
protected:
  OpenSizes() { configure("cache", "off"); }

  ExecutablePtr compile(const Graph &graph, std::vector<DimMark> marks = {}) {
    auto compiled = engine->compile(graph, marks);
    EXPECT_TRUE(compiled) << (compiled ? "" : compiled.error().message);
    return compiled ? *compiled : nullptr;
  }
  /// Runs it on its input type, and returns the type of its result.
  std::string run(const Graph &graph) {
    ExecutablePtr executable = compile(graph);
    std::vector<float> data(size_t(graph.inputs[0].tensor.elements()));
    auto input = engine->upload(graph.inputs[0].tensor, data.data());
    EXPECT_TRUE(input);
    LaunchArgument argument;
    argument.buffer = *input;
    auto results = engine->launch(executable, {argument});
    EXPECT_TRUE(results) << (results ? "" : results.error().message);
    if (!results)
      return "";
    EXPECT_TRUE((*results)[0]->wait());
    return (*results)[0]->type().str();
  }
};

TEST_F(OpenSizes, TheSecondSizeIsCompiledForAllFurtherOnes) {
  for (int64_t rows : {4, 6, 9, 100, 6, 4, 33})
    EXPECT_EQ(run(step(rows)), "f32[" + std::to_string(rows * 8) + "]");
  EXPECT_EQ(compiler.compiles, 2);
  EXPECT_EQ(metric("cache.dynamic_versions"), 1);
  EXPECT_EQ(metric("cache.dynamic_hits"), 3); // 9, 100, 33
  EXPECT_EQ(compile(step(9))->artifact().graphText,
            "graph {\n  symbol s0 = 6\n  %0 = input f32[s0, 8]\n  %1 = "
            "test::inc(self=%0) : f32[s0, 8]\n  %2 = aten::view(self=%1, "
            "size=[8*s0]) : f32[8*s0]\n  output %2\n}\n");
  // Each run got the values of its own sizes; the static program has none.
  using Values = std::vector<int64_t>;
  EXPECT_EQ(state().symbols,
            (std::vector<Values>{{}, {6}, {9}, {100}, {6}, {}, {33}}));
}

TEST_F(OpenSizes, AGraphOfAnotherStructureIsAnotherGraph) {
  run(step(4));
  run(step(5, 8, "other"));
  run(step(1)); // broadcasts
  run(step(0));
  EXPECT_EQ(compiler.compiles, 4);
  EXPECT_EQ(metric("cache.dynamic_versions"), 0);
}

TEST_F(OpenSizes, ATraceThatFitsNoFormulaMakesAMoreGeneralVersion) {
  for (auto [rows, width] :
       {std::pair(4, 8), {6, 8}, {9, 8}, {9, 5}, {3, 77}, {12, 8}, {2, 2}})
    EXPECT_EQ(run(step(rows, width)),
              "f32[" + std::to_string(rows * width) + "]");
  EXPECT_EQ(compiler.compiles, 3);
  EXPECT_EQ(state().symbols.back(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(state().symbols[5], (std::vector<int64_t>{12})); // the first one
}

TEST_F(OpenSizes, WhatTheCompilerRefusesIsCompiledForEachSize) {
  compiler.refusesSymbols = true;
  for (int64_t rows : {4, 6, 9, 6})
    EXPECT_EQ(run(step(rows)), "f32[" + std::to_string(rows * 8) + "]");
  EXPECT_EQ(compiler.compiles, 4); // three sizes, and one attempt
  EXPECT_EQ(metric("cache.dynamic_refusals"), 1);
}

TEST_F(OpenSizes, ALimitOnVersions) {
  configure("dynamic_versions", "1");
  testing::internal::CaptureStderr();
  for (auto [rows, width] : {std::pair(4, 8), {6, 8}, {6, 5}, {6, 7}, {9, 8}})
    run(step(rows, width));
  std::string text = testing::internal::GetCapturedStderr();
  configure("dynamic_versions", "4");
  EXPECT_EQ(compiler.compiles, 4); // 9 rows go by the one version
  EXPECT_EQ(metric("cache.dynamic_limits"), 2);
  EXPECT_NE(text.find("dim 1 of input 0 is 5, where 8 was expected"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("is 7"), std::string::npos) << text;
}

/// f32[rows, 8] and f32[kept, 8], and the same of both; the second input's
/// memory, or the first one's, may become the second result.
Graph donating(int64_t rows, std::optional<uint32_t> donated,
               int64_t kept = 3) {
  std::string first = "f32[" + std::to_string(rows) + ", 8]";
  std::string second = "f32[" + std::to_string(kept) + ", 8]";
  Result<Graph> graph = Graph::parse(
      "graph {\n  %0 = input " + first + "\n  %1 = input " + second +
      "\n  %2 = test::inc(self=%0) : " + first +
      "\n  %3 = test::inc(self=%1) : " + second + "\n  output %2\n  output %3" +
      (donated ? " donates %" + std::to_string(*donated) : "") + "\n}\n");
  EXPECT_TRUE(graph);
  return *graph;
}

TEST_F(OpenSizes, MemoryIsTakenOverWhereThatIsNoMatterOfSizes) {
  for (int64_t rows : {4, 5})
    compile(donating(rows, 1));
  EXPECT_EQ(compiler.compiles, 2);
  EXPECT_EQ(compile(donating(6, 1))->artifact().donated[1], 1u);
  EXPECT_EQ(compiler.compiles, 2);
  // Here the input is used again: that program would write over it.
  for (int64_t rows : {4, 5, 6})
    EXPECT_EQ(compile(donating(rows, {}))->artifact().donated[1], std::nullopt);
  EXPECT_EQ(compiler.compiles, 3);
  EXPECT_EQ(compile(donating(7, 1))->artifact().donated[1], 1u);
  // The first input has the result's type for 3 rows alone.
  EXPECT_EQ(compile(donating(3, 0))->artifact().donated[1], std::nullopt);
  EXPECT_EQ(compiler.compiles, 3);
}

TEST_F(OpenSizes, OnlyMuchMemoryIsWorthACompileToTakeItOver) {
  for (int64_t kept : {3, 300'000}) {
    for (int64_t rows : {4, 5})
      compile(donating(rows, {}, kept));
    int before = compiler.compiles;
    bool taken =
        compile(donating(7, 1, kept))->artifact().donated[1].has_value();
    EXPECT_EQ(taken, kept > 3);
    EXPECT_EQ(compiler.compiles, before + taken);
    engine->clearCache();
  }
}

TEST_F(OpenSizes, CanBeTurnedOff) {
  configure("dynamic", "off");
  for (int64_t rows : {4, 6, 9})
    run(step(rows));
  configure("dynamic", "auto");
  EXPECT_EQ(compiler.compiles, 3);
}

TEST_F(OpenSizes, AStaticMarkKeepsSizesApart) {
  std::vector<DimMark> marks = {{0, 1, DimMark::Kind::Static}};
  for (auto [rows, width] : {std::pair(4, 8), {6, 8}, {9, 8}, {4, 5}, {6, 5}})
    EXPECT_TRUE(compile(step(rows, width), marks));
  EXPECT_EQ(compiler.compiles, 4); // two for each width
}

TEST_F(OpenSizes, ADynamicMarkLeavesTheFirstCompileOpen) {
  std::vector<DimMark> marks = {{0, 0, DimMark::Kind::Dynamic}};
  for (int64_t rows : {4, 6, 9})
    EXPECT_TRUE(compile(step(rows), marks));
  EXPECT_TRUE(compile(step(50))); // no mark is needed any more
  EXPECT_EQ(compiler.compiles, 1);
  EXPECT_TRUE(compile(step(1), marks)); // broadcasts: a graph of its own
  EXPECT_EQ(compiler.compiles, 2);
}

TEST_F(OpenSizes, OneCompileHoweverManyThreadsAsk) {
  run(step(4));
  std::vector<std::thread> threads;
  for (int64_t rows = 5; rows < 13; ++rows)
    threads.emplace_back([&, rows] { EXPECT_TRUE(compile(step(rows))); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(compiler.compiles, 2);
}

TEST_F(OpenSizes, AVersionThatFellOutOfMemoryIsMadeAgain) {
  configure("cache_memory_bytes", "1");
  run(step(4));
  run(step(6));
  run(step(5, 8, "other")); // the only one that stays
  EXPECT_EQ(run(step(9)), "f32[72]");
  EXPECT_EQ(run(step(4)), "f32[32]"); // the open one serves it as well
  configure("cache_memory_bytes", "1073741824");
  EXPECT_EQ(compiler.compiles, 4);
}

TEST_F(OpenSizes, WhatIsMadeAgainTakesOverNoMoreMemoryThanBefore) {
  configure("cache_memory_bytes", "1");
  for (int64_t rows : {4, 5})
    compile(donating(rows, {}));
  run(step(5)); // the only one that stays
  // Here the second input may be written over; for the next it may not.
  ExecutablePtr again = compile(donating(6, 1));
  EXPECT_EQ(compile(donating(7, {}))->artifact().donated[1], std::nullopt);
  configure("cache_memory_bytes", "1073741824");
  EXPECT_EQ(again->artifact().donated[1], std::nullopt);
  EXPECT_EQ(compiler.compiles, 4);
}

TEST_F(OpenSizes, AProgramRefusesBuffersOfOtherSizesThanItsOwn) {
  compile(step(4));
  ExecutablePtr six = compile(step(6));
  std::vector<float> data(72);
  LaunchArgument argument;
  argument.buffer = *engine->upload({DType::F32, {9, 8}}, data.data());
  EXPECT_FALSE(engine->launch(six, {argument}));
}

TEST_F(OpenSizes, AnErrorNamesTheSizesOfItsRun) {
  // "site" fails in a check of the code, and "call" in a library call.
  for (std::string op : {"site", "call"})
    for (int64_t rows : {4, 6, 9}) {
      ExecutablePtr executable = compile(step(rows, 8, op));
      std::vector<float> data(size_t(rows * 8));
      auto input = engine->upload({DType::F32, {rows, 8}}, data.data());
      ASSERT_TRUE(input);
      auto results = engine->launch(executable, {{*input, {}}});
      ASSERT_TRUE(results);
      Status status = (*results)[0]->wait();
      ASSERT_FALSE(status);
      EXPECT_EQ(withoutGraph(status.error().message),
                "test::" + op + "(f32[" + std::to_string(rows) +
                    ", 8]): index out of range");
    }
  EXPECT_EQ(compiler.compiles, 4);
}

TEST_F(OpenSizes, AGraphWithSymbolsRunsForItsHints) {
  Result<Graph> open =
      Graph::parse("graph {\n  symbol s0 = 3\n  %0 = input f32[s0]\n  %1 = "
                   "test::inc(self=%0) : f32[s0]\n  output %1\n}\n");
  ASSERT_TRUE(open);
  ExecutablePtr executable = compile(*open);
  std::vector<float> data(3);
  LaunchArgument argument;
  argument.buffer = *engine->upload({DType::F32, {3}}, data.data());
  auto results = engine->launch(executable, {argument});
  ASSERT_TRUE(results);
  EXPECT_EQ((*results)[0]->type().str(), "f32[3]");
}

/// The same over a directory; every engine is a process of its own.
class OpenSizesOnDisk : public OpenSizes {
protected:
  OpenSizesOnDisk() { configure("cache", "rw"); }
  void reopen() { engine = openEngine(); }
};

TEST_F(OpenSizesOnDisk, AnotherProcessFindsTheOpenVersionAtItsFirstSize) {
  run(step(4));
  run(step(6));
  reopen();
  EXPECT_EQ(run(step(9)), "f32[72]");
  EXPECT_EQ(run(step(50)), "f32[400]");
  EXPECT_EQ(run(step(4)), "f32[32]");
  EXPECT_EQ(compiler.compiles, 2);
}

TEST_F(OpenSizesOnDisk, WhatFitsNoVersionOnDiskMakesItMoreGeneral) {
  run(step(4));
  run(step(6));
  reopen();
  EXPECT_EQ(run(step(9, 5)), "f32[45]"); // width was no symbol
  EXPECT_EQ(run(step(3, 11)), "f32[33]");
  EXPECT_EQ(compiler.compiles, 3);
  reopen();
  EXPECT_EQ(run(step(70, 13)), "f32[910]");
  EXPECT_EQ(compiler.compiles, 3);
}

TEST_F(OpenSizesOnDisk, WhatTakesOverOtherInputsIsAnEntryOfItsOwn) {
  constexpr int64_t kept = 300'000; // worth a compile to take it over
  for (int64_t rows : {4, 5}) {
    compile(donating(rows, 1, kept));
    compile(donating(rows, {}, kept));
  }
  int before = compiler.compiles;
  for (int process = 0; process < 2; ++process) {
    reopen();
    for (int64_t rows : {7, 8}) {
      EXPECT_EQ(compile(donating(rows, 1, kept))->artifact().donated[1], 1u);
      EXPECT_EQ(compile(donating(rows, {}, kept))->artifact().donated[1],
                std::nullopt);
    }
    EXPECT_EQ(compiler.compiles, before);
  }
}

TEST_F(OpenSizesOnDisk, ToolsFindTheEntryUnderTheNameThatItsContentGives) {
  run(step(4));
  run(step(6));
  auto files = cache::list(directory);
  EXPECT_EQ(files.size(), 2u);
  for (const cache::File &file : files)
    EXPECT_TRUE(cache::read(directory, file.key));
}

} // namespace
