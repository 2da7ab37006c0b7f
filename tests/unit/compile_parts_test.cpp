//===- compile_parts_test.cpp - One compile, several threads ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "drivers/cpu/link.h"
#include "ltc/compiler.h"

#include <gtest/gtest.h>

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

void serial(void *, int64_t n, int64_t, void (*body)(int64_t, int64_t, void *),
            void *argument) {
  body(0, n, argument);
}

void noKernelCall(void *, int64_t, int64_t *) { FAIL(); }

void *findSymbol(const std::string &name) {
  if (name == "ltc_parallel_for")
    return reinterpret_cast<void *>(serial);
  if (name == "ltc_kernel_call")
    return reinterpret_cast<void *>(noKernelCall);
  return dlsym(RTLD_DEFAULT, name.c_str());
}

TEST(CompileParts, SmallGraphsStayWhole) {
  auto made = compile(softmaxes(2), 4);
  ASSERT_TRUE(made) << made.error().str();
  EXPECT_EQ(made->objects.size(), 1u);
}

TEST(CompileParts, AreTheSameForAnyNumberOfThreads) {
  Graph graph = softmaxes(48);
  auto one = compile(graph, 1);
  ASSERT_TRUE(one) << one.error().str();
  EXPECT_GE(one->objects.size(), 4u);
  for (unsigned threads : {2, 5}) {
    auto several = compile(graph, threads);
    ASSERT_TRUE(several) << several.error().str();
    EXPECT_EQ(several->serialize(), one->serialize());
  }
}

TEST(CompileParts, EachReferToThemselvesAndThoseBefore) {
  constexpr int count = 48;
  auto made = compile(softmaxes(count), 3);
  ASSERT_TRUE(made) << made.error().str();
  auto code = cpu::link(made->objects, made->entry, findSymbol);
  ASSERT_TRUE(code) << code.error().str();
  // Memref descriptors as artifact.h has them: of inputs, results, the arena.
  std::vector<std::vector<float>> data;
  std::vector<std::vector<int64_t>> descriptors;
  for (int i = 0; i < 2 * count; ++i) {
    int64_t columns = 9 + i % count;
    data.emplace_back(size_t(8 * columns), i < count ? 1.0f : -1.0f);
    auto address = reinterpret_cast<int64_t>(data.back().data());
    descriptors.push_back({address, address, 0, 8, columns, columns, 1});
  }
  std::vector<char> arena(size_t(made->arenaBytes.constant()) + 64);
  auto start = (reinterpret_cast<int64_t>(arena.data()) + 63) / 64 * 64;
  descriptors.push_back({start, start, 0, made->arenaBytes.constant(), 1});
  std::vector<void *> arguments;
  for (std::vector<int64_t> &descriptor : descriptors)
    arguments.push_back(descriptor.data());
  void *context = nullptr;
  arguments.push_back(&context);
  reinterpret_cast<void (*)(void **)>((*code)->entry)(arguments.data());
  for (int i = 0; i < count; ++i)
    for (float value : data[size_t(count + i)])
      EXPECT_NEAR(value, 1.0f / float(9 + i), 1e-6f);

  // The last one alone has nobody to call.
  std::span<const std::string> objects = made->objects;
  auto alone = cpu::link(objects.last(1), made->entry, findSymbol);
  ASSERT_FALSE(alone);
  EXPECT_NE(alone.error().message.find("which nothing defines"),
            std::string::npos)
      << alone.error().message;
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
