//===- hand_over.cpp - What a device is handed of a graph -----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/hand_over.h"

#include "engine/cut.h"
#include "ltc/log.h"
#include "ltc/metrics.h"

#include <map>

namespace ltc::runtime {

namespace {

/// The target kind of a device that runs library calls and copies alone.
constexpr std::string_view kCallsOnly = "calls";

Target parseTarget(std::string_view text) {
  auto next = [&] {
    size_t colon = text.find(':');
    std::string part(text.substr(0, colon));
    text = colon == text.npos ? "" : text.substr(colon + 1);
    return part;
  };
  Target target;
  target.kind = next();
  target.triple = next();
  target.cpu = next();
  target.features = text;
  return target;
}

Result<Artifact> compileToCalls(Compiler &compiler, const Graph &graph,
                                CompileOptions options) {
  options.target = Target(); // what sizes its memory is planned by
  options.optimizations.loops = false;
  Result<Artifact> artifact = compiler.compile(graph, options);
  if (!artifact || artifact->kernels.empty())
    return artifact;
  return Error{ErrorCode::Unsupported,
               Stage::Codegen,
               "the device runs library calls alone, and the graph has loops "
               "that are none, as " +
                   artifact->kernels[0].name,
               "",
               {},
               "LTC_DEVICE=cpu runs it"};
}

/// Cuts a graph, until the device's compiler takes every part.
class Parts {
public:
  Parts(Device &device, Compiler &compiler, const Graph &graph)
      : device(device), compiler(compiler), graph(graph) {}

  Result<Artifact> compile(const CompileOptions &options) {
    std::vector<bool> isTaken;
    for (uint32_t n = 0; n < graph.nodes.size(); ++n)
      isTaken.push_back(device.takes(callOf(graph, n).str(SourceLines::Omit)));
    for (bool isDone = false; !isDone;) {
      pieces = cut(graph, isTaken);
      code.clear();
      isDone = true;
      for (const Cut::Part &part : pieces.parts) {
        const Result<std::string> &made = codeOf(part.graph);
        if (made) {
          code.push_back(*made);
          continue;
        }
        if (made.error().code != ErrorCode::Unsupported)
          return Error(made.error());
        isDone = false;
        leave(part, isTaken);
      }
    }
    Result<Artifact> artifact = compileToCalls(compiler, pieces.rest, options);
    if (artifact)
      takeIn(*artifact);
    return artifact;
  }

private:
  /// Gives calls of the part to the host: those that by themselves have no form
  /// either, or that the device does not take; all if no such call is found.
  void leave(const Cut::Part &part, std::vector<bool> &isTaken) {
    bool hasForm(formOf(part.graph)), isFound = false;
    for (uint32_t node : part.nodes) {
      Graph call = callOf(graph, node);
      if (hasForm ? bool(codeOf(call)) : bool(formOf(call)))
        continue;
      isTaken[node] = false;
      isFound = true;
    }
    if (!isFound)
      for (uint32_t node : part.nodes)
        isTaken[node] = false;
  }

  const Result<std::string> &formOf(const Graph &part) {
    std::string text = part.str(SourceLines::Omit);
    auto known = forms.find(text);
    if (known == forms.end())
      known = forms
                  .emplace(std::move(text),
                           compiler.lower(part, *device.partForm()))
                  .first;
    return known->second;
  }

  const Result<std::string> &codeOf(const Graph &part) {
    static Counter &compiled = counter("codegen.parts");
    static Counter &refused = counter("codegen.parts_refused");
    const Result<std::string> &form = formOf(part);
    if (!form)
      return form;
    auto known = codes.find(*form);
    if (known != codes.end())
      return known->second;
    Result<std::string> made = device.compilePart(*form);
    if (!made && made.error().code == ErrorCode::Unsupported)
      log(LogLevel::Info, Stage::Codegen,
          "the device refuses a part of " + std::to_string(part.nodes.size()) +
              (part.nodes.size() == 1 ? " call, " + part.nodes[0].op
                                      : " calls") +
              ": " + made.error().message);
    (made ? compiled : refused).add();
    return codes.emplace(*form, std::move(made)).first->second;
  }

  /// Puts the parts' code in the place of the calls that stand for them, and
  /// has all numbers of nodes name those of the whole graph.
  void takeIn(Artifact &artifact) {
    artifact.graphText = graph.str(SourceLines::Omit);
    // Without kernels of ours there are no checks: sites are those of parts.
    artifact.errorSites.clear();
    for (size_t i = 0; i < code.size(); ++i) {
      artifact.blobs.push_back({"device", std::move(code[i])});
      artifact.kernels.push_back(
          {"part" + std::to_string(i), "part", uint32_t(i)});
      artifact.errorSites.push_back(siteOf(pieces.parts[i]));
    }
    std::vector<Artifact::Call> calls;
    for (ltc_step &step : artifact.steps) {
      if (step.kind != LTC_CALL)
        continue;
      Artifact::Call &call = artifact.calls[step.target];
      if (call.graph.nodes[0].op == kPartOp) {
        const Argument *number = call.graph.nodes[0].find("number");
        step.kind = LTC_LAUNCH;
        step.target =
            uint32_t(std::get<int64_t>(std::get<Attribute>(number->value)));
        step.grain = INT64_MAX;
        step.writes_donated = 1;
        continue;
      }
      step.target = uint32_t(calls.size());
      call.node = pieces.origin[call.node];
      calls.push_back(std::move(call));
    }
    artifact.calls = std::move(calls);
  }

  Artifact::ErrorSite siteOf(const Cut::Part &part) const {
    const std::string &first = graph.nodes[part.nodes[0]].op;
    size_t calls = part.nodes.size();
    return {calls == 1 ? first
                       : "a part of " + std::to_string(calls) +
                             " calls, from " + first,
            part.nodes[0], ""};
  }

  Device &device;
  Compiler &compiler;
  const Graph &graph;
  Cut pieces;
  std::vector<std::string> code;                    ///< by part
  std::map<std::string, Result<std::string>> forms; ///< by graph
  std::map<std::string, Result<std::string>> codes; ///< by form
};

} // namespace

bool runsOurCode(const Device &device) {
  return !device.partForm() && parseTarget(device.target()).kind != kCallsOnly;
}

Result<Artifact> compileFor(Device &device, Compiler &compiler,
                            const Graph &graph, CompileOptions options) {
  options.target = parseTarget(device.target());
  if (runsOurCode(device))
    return compiler.compile(graph, options);
  Result<Artifact> artifact =
      device.partForm() ? Parts(device, compiler, graph).compile(options)
                        : compileToCalls(compiler, graph, options);
  if (artifact)
    artifact->target = device.target();
  return artifact;
}

} // namespace ltc::runtime
