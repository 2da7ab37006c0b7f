//===- ltc-run.cpp - Compile and run a dumped graph -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   ltc-run graph.ltc                 run on made-up inputs, print the results
//   ltc-run a.ltc b.ltc               run both on equal inputs and compare
//   ltc-run graph.ltc --repeat=50     run again and again, compare every bit
//   ltc-run graph.ltc --list          print the steps of its program
//
//   ltc-run model.ltcpkg in.npy...    run a bundle, and write out.npy
//   ltc-run model.ltcpkg --list       print what it takes and gives
//
//   --seed=N       of the inputs (1)
//   --bound=N      integer inputs lie in [0, N) (2)
//   --tolerance=X  largest relative difference of two graphs (1e-5)
//   --entry=NAME   of a bundle (its first)
//   --out=PATH     where a bundle's output goes (out.npy)
//
// Library calls are those of the CPU's own kernels (kernels/cpu).
//
//===----------------------------------------------------------------------===//
#include "ltc/cpu_kernels.h"
#include "ltc/engine.h"
#include "run_bundle.h"
#include "sample_tensor.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace ltc;

namespace {

struct Options {
  std::vector<std::string> files;
  uint64_t seed = 1;
  int64_t bound = 2;
  int64_t repeat = 1;
  double tolerance = 1e-5;
  bool list = false;
  std::string entry, out = "out.npy";

  bool isOfBundle() const {
    return !files.empty() && files[0].ends_with(".ltcpkg");
  }
};

using Results = std::vector<tools::SampleTensor>;

Result<Graph> readGraph(const std::string &path) {
  std::ifstream file(path);
  if (!file)
    return Error{ErrorCode::InvalidArgument,
                 Stage::Graph,
                 "could not open " + path,
                 {},
                 {},
                 {}};
  std::stringstream text;
  text << file.rdbuf();
  Result<Graph> graph = Graph::parse(text.str());
  if (graph)
    if (Status valid = graph->verify(); !valid)
      return valid.takeError();
  return graph;
}

Result<Results> launch(Engine &engine, const ExecutablePtr &executable,
                       const Graph &graph, const Options &options) {
  std::vector<LaunchArgument> arguments;
  tools::Random random(options.seed);
  for (const ValueType &input : graph.inputs) {
    LaunchArgument &argument = arguments.emplace_back();
    if (input.isScalar) {
      if (input.tensor.dtype == DType::F64)
        argument.real = random.unit();
      else
        argument.integer = int64_t(random.below(uint64_t(options.bound)));
      continue;
    }
    tools::SampleTensor sample(input.tensor, random, options.bound);
    Result<BufferPtr> buffer = engine.upload(input.tensor, sample.bytes.data());
    if (!buffer)
      return buffer.takeError();
    argument.buffer = *buffer;
  }
  auto buffers = engine.launch(executable, std::move(arguments));
  if (!buffers)
    return buffers.takeError();
  Results results;
  for (const BufferPtr &buffer : *buffers) {
    tools::SampleTensor &result = results.emplace_back(buffer->type());
    if (Status status = engine.download(buffer, result.bytes.data()); !status)
      return status.takeError();
  }
  return results;
}

/// Runs a file `repeat` times; every run must give the same bits.
Result<Results> runFile(Engine &engine, const std::string &path,
                        const Options &options) {
  Result<Graph> graph = readGraph(path);
  if (!graph)
    return graph.takeError();
  Result<ExecutablePtr> executable = engine.compile(*graph);
  if (!executable)
    return executable.takeError();
  Result<Results> first = launch(engine, *executable, *graph, options);
  for (int64_t i = 1; first && i < options.repeat; ++i) {
    Result<Results> again = launch(engine, *executable, *graph, options);
    if (!again)
      return again;
    for (size_t r = 0; r < first->size(); ++r)
      if ((*first)[r].bytes != (*again)[r].bytes)
        return Error{ErrorCode::Internal,
                     Stage::Execute,
                     "run " + std::to_string(i + 1) + " of " + path +
                         " gave another result " + std::to_string(r),
                     {},
                     {},
                     {}};
  }
  return first;
}

void print(const Results &results) {
  for (size_t i = 0; i < results.size(); ++i) {
    const tools::SampleTensor &result = results[i];
    std::printf("result %zu: %s", i, result.type.str().c_str());
    size_t shown = std::min<size_t>(result.elements(), 8);
    for (size_t e = 0; e < shown; ++e)
      std::printf(" %.7g", result.at(e));
    double sum = 0;
    for (size_t e = 0; e < result.elements(); ++e)
      sum += result.at(e);
    std::printf("%s sum %.7g\n", shown < result.elements() ? " ..." : "", sum);
  }
}

/// Largest difference, relative to the largest magnitude of either.
double difference(const tools::SampleTensor &a, const tools::SampleTensor &b) {
  if (!(a.type == b.type))
    return INFINITY;
  double most = 0, scale = 1e-30;
  for (size_t e = 0; e < a.elements(); ++e) {
    double x = a.at(e), y = b.at(e);
    if (std::isnan(x) != std::isnan(y))
      return INFINITY;
    if (std::isnan(x) || x == y)
      continue;
    most = std::max(most, std::fabs(x - y));
    scale = std::max({scale, std::fabs(x), std::fabs(y)});
  }
  return most / scale;
}

int fail(const Error &error) {
  std::cerr << error.str() << '\n';
  return 1;
}

/// Prints what the file's graph is compiled to, without running it.
int list(Engine &engine, const std::string &path) {
  Result<Graph> graph = readGraph(path);
  if (!graph)
    return fail(graph.error());
  Result<ExecutablePtr> executable = engine.compile(*graph);
  if (!executable)
    return fail(executable.error());
  std::cout << (*executable)->artifact().listing();
  return 0;
}

int compare(const Results &a, const Results &b, const Options &options) {
  if (a.size() != b.size()) {
    std::printf("%zu results and %zu results\n", a.size(), b.size());
    return 1;
  }
  bool equal = true;
  for (size_t i = 0; i < a.size(); ++i) {
    double found = difference(a[i], b[i]);
    bool close = found <= options.tolerance;
    equal &= close;
    std::printf("result %zu: %s difference %.3g%s\n", i,
                a[i].type.str().c_str(), found, close ? "" : " TOO LARGE");
  }
  return equal ? 0 : 1;
}

bool parse(int argc, char **argv, Options &options) {
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    size_t equals = argument.find('=');
    std::string name = argument.substr(0, equals);
    const char *value = equals == argument.npos ? "" : argv[i] + equals + 1;
    if (name == "--seed")
      options.seed = std::strtoull(value, nullptr, 10);
    else if (name == "--bound")
      options.bound = std::max(1L, std::strtol(value, nullptr, 10));
    else if (name == "--repeat")
      options.repeat = std::strtol(value, nullptr, 10);
    else if (name == "--tolerance")
      options.tolerance = std::strtod(value, nullptr);
    else if (name == "--entry")
      options.entry = value;
    else if (name == "--out")
      options.out = value;
    else if (name == "--list")
      options.list = true;
    else if (name.rfind("--", 0) == 0)
      return false;
    else
      options.files.push_back(argument);
  }
  return options.isOfBundle() || options.files.size() == 1 ||
         options.files.size() == 2;
}

int run(const Options &options) {
  if (options.isOfBundle()) {
    std::vector<std::string> inputs(options.files.begin() + 1,
                                    options.files.end());
    return options.list ? tools::listBundle(options.files[0])
                        : tools::runBundle(options.files[0], options.entry,
                                           inputs, options.out);
  }
  kernels::install();
  Result<Engine *> engine = engineFor(0);
  if (!engine)
    return fail(engine.error());
  if (options.list)
    return list(**engine, options.files[0]);
  Result<Results> first = runFile(**engine, options.files[0], options);
  if (!first)
    return fail(first.error());
  if (options.files.size() == 1) {
    print(*first);
    return 0;
  }
  Result<Results> second = runFile(**engine, options.files[1], options);
  return second ? compare(*first, *second, options) : fail(second.error());
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::cerr << "usage: ltc-run graph.ltc [other.ltc] [--seed=N] [--bound=N] "
                 "[--repeat=N] [--tolerance=X] [--list]\n"
                 "       ltc-run model.ltcpkg [in.npy...] [--entry=NAME] "
                 "[--out=PATH] [--list]\n";
    return 2;
  }
  int status = run(options);
  shutdown();
  return status;
}
