//===- link_test.cpp - Many programs, and no memory for them ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "drivers/cpu/link.h"
#include "ltc/compiler.h"
#include "memory_maps.h"

#include <dlfcn.h>

using namespace ltc;

namespace {

Result<Artifact> addNumber(int number) {
  Result<Graph> graph = Graph::parse(
      "graph {\n%0 = input f32[8]\n%1 = aten::add.Scalar("
      "self=%0, other=" +
      std::to_string(number) + ", alpha=1) : f32[8]\noutput %1\n}\n");
  if (!graph)
    return graph.takeError();
  return ltc_compiler_get()->compile(*graph, {});
}

void *findSymbol(const std::string &name) {
  return dlsym(RTLD_DEFAULT, name.c_str());
}

auto load(const Artifact &artifact) {
  std::string_view object = artifact.blobs[0].bytes;
  std::string_view name = artifact.kernels[0].name;
  return cpu::link({&object, 1}, {&name, 1}, findSymbol);
}

/// What the program's kernel, of words (from, to), makes of a zero.
float run(const cpu::LinkedCode &code) {
  alignas(64) float from[8] = {}, to[8] = {};
  void *words[] = {from, to};
  auto kernel =
      reinterpret_cast<void (*)(int64_t, int64_t, void **)>(code.symbols[0]);
  kernel(0, 1, words);
  return to[7];
}

TEST(Link, ManyProgramsTakeFewMaps) {
  auto one = addNumber(1), two = addNumber(2);
  ASSERT_TRUE(one) << one.error().str();
  ASSERT_TRUE(two) << two.error().str();
  auto first = load(*one);
  ASSERT_TRUE(first) << first.error().str();
  size_t before = maps::all().size();
  std::vector<std::unique_ptr<cpu::LinkedCode>> loaded;
  for (int i = 0; i < 5000; ++i) {
    auto code = load(i % 2 ? *one : *two);
    ASSERT_TRUE(code) << code.error().str();
    loaded.push_back(std::move(*code));
  }
  EXPECT_LT(maps::all().size(), before + 100);
  for (size_t i : {0, 1, 2, 2499, 4998, 4999})
    EXPECT_EQ(run(*loaded[i]), i % 2 ? 1 : 2);
  for (const maps::Map &map : maps::all())
    EXPECT_FALSE(map.access[1] == 'w' && map.access[2] == 'x');
  EXPECT_EQ(maps::accessOf(loaded[7]->symbols[0]), "r-x");
  loaded.clear();
  EXPECT_LT(maps::all().size(), before + 5);
  EXPECT_EQ(run(**first), 1);
}

TEST(Link, WithoutMapsItFailsAndSaysSo) {
  if (!maps::limit())
    GTEST_SKIP() << "this system allows very many memory maps";
  auto one = addNumber(1);
  ASSERT_TRUE(one) << one.error().str();
  auto before = load(*one);
  ASSERT_TRUE(before) << before.error().str();
  {
    maps::Filler filler(/*left=*/0);
    auto failed = load(*one);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::OutOfMemory);
    const std::string &message = failed.error().message;
    EXPECT_NE(message.find("Cannot allocate memory"), message.npos) << message;
    EXPECT_NE(message.find("vm.max_map_count="), message.npos) << message;
    EXPECT_EQ(run(**before), 1);
  }
  auto after = load(*one);
  ASSERT_TRUE(after) << after.error().str();
  EXPECT_EQ(run(**after), 1);
}

} // namespace
