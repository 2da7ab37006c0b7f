//===- ahead.cpp - Programs that are compiled for later -------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/ahead.h"

#include "dynamic/fit.h"
#include "engine/engine.h"
#include "ltc/kernels.h"
#include "ltc/settings.h"

#include <algorithm>

namespace ltc {

using namespace runtime;

namespace {

Error unsupported(std::string message, std::string hint = "") {
  return {ErrorCode::Unsupported, Stage::Graph, std::move(message), "", {},
          std::move(hint)};
}

/// The op at which two graphs of one program part.
Error differs(const Graph &one, const Graph &other) {
  size_t i = 0;
  while (i < one.nodes.size() && i < other.nodes.size() &&
         one.nodes[i].op == other.nodes[i].op)
    ++i;
  Error error = unsupported("the program makes other calls for other sizes",
                            "export it with that dimension fixed, or once for "
                            "each case");
  if (i < one.nodes.size()) {
    error.op = one.nodes[i].op;
    error.source = sourceOf(one.nodes[i].source);
  }
  return error;
}

Error noFormula(const Graph &graph, size_t position) {
  return unsupported(describeInteger(graph, position) +
                         " is no polynomial of the sizes that are open",
                     "export it with the dimension fixed that it depends on");
}

} // namespace

Result<ahead::OpenProgram> ahead::open(std::span<const Trace> traces) {
  if (traces.empty())
    return unsupported("a program without a trace");
  const Graph &first = traces[0].graph;
  const size_t extras = traces[0].integers.size();
  Skeleton skeleton = skeletonOf(first);
  std::vector<IntegerKind> kinds = skeleton.kinds;
  kinds.resize(kinds.size() + extras, IntegerKind::ResultSize);
  std::vector<runtime::Trace> all;
  for (const Trace &trace : traces) {
    Skeleton own = skeletonOf(trace.graph);
    if (own.key != skeleton.key)
      return differs(first, trace.graph);
    all.push_back(own.integers);
    all.back().insert(all.back().end(), trace.integers.begin(),
                      trace.integers.end());
  }
  // As many as choose the formulas are left to prove them.
  std::span<const runtime::Trace> chosen(all);
  Fit fit = fitTraces(chosen.first((all.size() + 1) / 2), kinds);
  for (size_t t = 0; t < all.size(); ++t)
    if (!fit.solve(all[t])) {
      std::vector<int64_t> symbols;
      for (uint32_t position : fit.symbolAt)
        symbols.push_back(all[t][position]);
      for (size_t p = 0; p < skeleton.integers.size(); ++p)
        if (fit.at(p).evaluate(symbols) != all[t][p])
          return noFormula(traces[t].graph, p);
      return unsupported("a size of a result is no polynomial of the sizes "
                         "that are open");
    }
  OpenProgram program;
  for (size_t i = 0; i < extras; ++i)
    program.integers.push_back(fit.at(skeleton.integers.size() + i));
  program.graph = openGraph(first, fit, all[0]);
  if (Status status = program.graph.verify(); !status)
    return status.takeError();
  return program;
}

Result<Artifact> ahead::compile(const Graph &graph, const std::string &cpu) {
  CompileOptions options;
  options.target.kind = "aot";
  options.target.cpu = cpu;
  options.threads = std::min(hostThreads(), 8u);
  Result<Optimizations> optimizations =
      Optimizations::without(settings().without);
  if (!optimizations)
    return optimizations.takeError();
  options.optimizations = *optimizations;
  Result<Recipes> recipes = Recipes::read(settings().recipes);
  if (!recipes)
    return recipes.takeError();
  options.recipes = std::move(*recipes);
  Result<Compiler *> compiler = processCompiler();
  if (!compiler)
    return compiler.takeError();
  return (*compiler)->compile(graph, options);
}

} // namespace ltc
