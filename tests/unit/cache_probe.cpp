//===- cache_probe.cpp - A process that shares a cache with others --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   cache_probe FIRST COUNT
//
// Runs graphs FIRST to FIRST + COUNT - 1 on the CPU and checks their values.
// Prints the number of each that it compiled, one a line, then "done".
//
//===----------------------------------------------------------------------===//
#include "ltc/engine.h"
#include "ltc/metrics.h"

#include <cstdlib>
#include <iostream>

using namespace ltc;

namespace {

/// x * 2 + x with sizes of its own: (x * 2 + x) * 2 + x and so on.
Graph graphNumber(int number) {
  std::string type = "f32[" + std::to_string(number % 3 + 2) + ", " +
                     std::to_string(number / 3 + 5) + "]";
  std::string text = "graph {\n%0 = input " + type + "\n";
  for (int i = 1; i <= 4; ++i)
    text += "%" + std::to_string(i) + " = aten::add.Tensor(self=%0, other=%" +
            std::to_string(i - 1) + ", alpha=2) : " + type + "\n";
  return *Graph::parse(text + "output %4\n}");
}

int fail(const std::string &why) {
  std::cout << why << std::endl;
  return 1;
}

int runGraph(Engine &engine, int number) {
  int64_t before = metrics()["codegen.graphs"];
  Graph graph = graphNumber(number);
  auto executable = engine.compile(graph);
  if (!executable)
    return fail(executable.error().str());
  if (metrics()["codegen.graphs"] != before)
    std::cout << number << std::endl;
  std::vector<float> values(size_t(graph.inputs[0].tensor.elements()));
  std::vector<float> found(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = float(i) + 1;
  auto input = engine.upload(graph.inputs[0].tensor, values.data());
  if (!input)
    return fail(input.error().str());
  auto results = engine.launch(*executable, {{*input, {}}});
  if (!results)
    return fail(results.error().str());
  Status status = engine.download((*results)[0], found.data());
  if (!status)
    return fail(status.error().str());
  for (size_t i = 0; i < values.size(); ++i)
    if (found[i] != 31 * values[i])
      return fail("wrong value in graph " + std::to_string(number) + ": " +
                  std::to_string(found[i]));
  return 0;
}

} // namespace

int main(int count, char **arguments) {
  if (count != 3)
    return fail("usage: cache_probe FIRST COUNT");
  auto engine = engineFor(0);
  if (!engine)
    return fail(engine.error().str());
  int first = std::atoi(arguments[1]);
  for (int i = 0; i < std::atoi(arguments[2]); ++i)
    if (int failed = runGraph(**engine, first + i))
      return failed;
  std::cout << "done" << std::endl;
  return 0;
}
