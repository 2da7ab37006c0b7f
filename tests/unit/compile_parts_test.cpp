//===- compile_parts_test.cpp - One compile, several threads ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "program_runner.h"

#include <dlfcn.h>

using namespace ltc;

namespace {

/// A softmax of each of so many sizes: as many kernels.
Graph softmaxes(int count) {
  std::string inputs, nodes, outputs;
  for (int i = 0; i < count; ++i) {
    std::string from = "%" + std::to_string(i);
    std::string to = "%" + std::to_string(count + i);
    std::string type = "f32[8, " + std::to_string(9 + i) + "]\n";
    inputs += from + " = input " + type;
    nodes += to + " = aten::_softmax(self=" + from +
             ", dim=-1, half_to_float=false) : " + type;
    outputs += "output " + to + "\n";
  }
  Result<Graph> graph =
      Graph::parse("graph {\n" + inputs + nodes + outputs + "}\n");
  EXPECT_TRUE(graph) << graph.error().str();
  return graph ? std::move(*graph) : Graph();
}

Result<Artifact> compile(const Graph &graph, unsigned threads) {
  CompileOptions options;
  options.threads = threads;
  return ltc_compiler_get()->compile(graph, options);
}

void serial(int64_t n, int64_t, void (*body)(int64_t, int64_t, void *),
            void *argument) {
  body(0, n, argument);
}

const ltc_host host = [] {
  ltc_host made = {};
  made.struct_size = sizeof(ltc_host);
  made.parallel_for = serial;
  return made;
}();

TEST(CompileParts, SmallGraphsStayWhole) {
  auto made = compile(softmaxes(2), 4);
  ASSERT_TRUE(made) << made.error().str();
  EXPECT_EQ(made->blobs.size(), 1u);
}

TEST(CompileParts, AreTheSameForAnyNumberOfThreads) {
  Graph graph = softmaxes(48);
  auto one = compile(graph, 1);
  ASSERT_TRUE(one) << one.error().str();
  EXPECT_GE(one->blobs.size(), 4u);
  for (unsigned threads : {2, 5}) {
    auto several = compile(graph, threads);
    ASSERT_TRUE(several) << several.error().str();
    EXPECT_EQ(several->serialize(), one->serialize());
  }
}

TEST(CompileParts, AreOneProgram) {
  constexpr int count = 48;
  CompileOptions options;
  options.threads = 3;
  Graph graph = softmaxes(count);
  ProgramRunner code(graph, host, options);
  ASSERT_TRUE(code);
  std::vector<std::vector<float>> data;
  std::vector<char *> memory;
  for (int i = 0; i < 2 * count; ++i) {
    data.emplace_back(size_t(8 * (9 + i % count)), i < count ? 1.0f : -1.0f);
    memory.push_back(reinterpret_cast<char *>(data.back().data()));
  }
  code.run(graph, {}, memory);
  for (int i = 0; i < count; ++i)
    for (float value : data[size_t(count + i)])
      EXPECT_NEAR(value, 1.0f / float(9 + i), 1e-6f);
}

TEST(CompileParts, EachIsLinkedForItself) {
  auto made = compile(softmaxes(48), 3);
  ASSERT_TRUE(made) << made.error().str();
  auto find = [](const std::string &name) {
    return dlsym(RTLD_DEFAULT, name.c_str());
  };
  for (size_t blob = 0; blob < made->blobs.size(); ++blob) {
    std::vector<std::string_view> names, objects = {made->blobs[blob].bytes};
    for (const Artifact::Kernel &kernel : made->kernels)
      if (kernel.blob == blob)
        names.push_back(kernel.name);
    EXPECT_FALSE(names.empty());
    auto code = cpu::link(objects, names, find);
    EXPECT_TRUE(code) << code.error().str();
    names.push_back("kernel_that_is_nowhere");
    auto missing = cpu::link(objects, names, find);
    ASSERT_FALSE(missing);
    EXPECT_NE(missing.error().message.find("kernel_that_is_nowhere"),
              std::string::npos)
        << missing.error().message;
  }
}

TEST(CompileParts, ThreadsSayWhenTheyEnd) {
  std::atomic<int> ends = 0;
  CompileOptions options;
  options.threads = 3; // with the one that compiles
  options.threadEnds = [&] { ++ends; };
  ASSERT_TRUE(ltc_compiler_get()->compile(softmaxes(48), options));
  EXPECT_EQ(ends, 2);
}

TEST(CompileParts, SeeAStop) {
  std::atomic<bool> stop = false;
  CompileOptions options;
  options.threads = 2;
  options.stop = &stop;
  options.betweenPhases = [&] { stop = true; };
  auto made = ltc_compiler_get()->compile(softmaxes(48), options);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "the compile was stopped");
}

} // namespace
