//===- step_graph.cpp - Steps as one CUDA graph ---------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "step_graph.h"

#include <utility>

namespace ltc::cuda {

namespace {

constexpr int kRunsBefore = 2;

/// Its parameters are one block, which the driver copies.
CUDA_KERNEL_NODE_PARAMS kernelNode(const WorkList::Item &item,
                                   void **parameters) {
  CUDA_KERNEL_NODE_PARAMS node = {};
  node.func = item.function;
  node.gridDimX = item.blocks;
  node.blockDimX = item.threads;
  node.gridDimY = node.gridDimZ = node.blockDimY = node.blockDimZ = 1;
  node.kernelParams = parameters;
  return node;
}

} // namespace

Outcome StepGraph::run(Gpu &gpu, GpuCalls &calls, CUstream stream,
                       WorkList &work) {
  if (work.size() < 2) // a graph of one is no cheaper
    return work.queue(gpu, calls, stream);
  bool isAlike = work.isLike(given);
  runsAlike = isAlike ? runsAlike + 1 : 1;
  if (!isAlike)
    drop();
  Made made = prepare(calls, stream, work);
  if (made != Made::Yes) // a lost GPU says so again below
    drop();
  isRefused |= made == Made::Refused;
  std::swap(given, work);
  if (!executable) {
    ++(made == Made::Refused      ? gpu.queued.refused
       : made == Made::Uncaptured ? gpu.queued.uncaptured
                                  : gpu.queued.unlike);
    return given.queue(gpu, calls, stream);
  }
  ++gpu.graphs;
  size_t fromLibrary = given.calls();
  gpu.calls += int64_t(fromLibrary);
  gpu.launches += int64_t(given.size() - fromLibrary);
  return outcomeOf(api().cuGraphLaunch(executable, stream), "launch a graph");
}

StepGraph::Made StepGraph::prepare(GpuCalls &calls, CUstream stream,
                                   WorkList &work) {
  bool hasCalls = work.calls() > 0;
  if (isRefused || !hasGraphs() || (hasCalls && !calls.mayRunIn(stream)))
    return Made::Refused;
  if (uint64_t now = hasCalls ? calls.settings() : 0; now != settings) {
    drop();
    settings = now;
  }
  if (!executable)
    return runsAlike > kRunsBefore ? build(calls, work) : Made::Yes;
  Made made = patch(calls, work);
  if (made != Made::Refused || !hasCalls)
    return made;
  // The library captured other kernels for other addresses.
  drop();
  return build(calls, work);
}

StepGraph::Made StepGraph::build(GpuCalls &calls, WorkList &work) {
  CUresult result = api().cuGraphCreate(&graph, 0);
  for (size_t i = 0; i < work.size() && result == CUDA_SUCCESS; ++i) {
    CUgraph captured = nullptr;
    if (work[i].call.isCall()) {
      captured = calls.capture(work[i].call, work.wordsOf(i));
      if (!captured)
        return Made::Uncaptured;
    }
    result = addNode(work, i, captured);
  }
  if (result == CUDA_SUCCESS)
    result = api().cuGraphInstantiate(&executable, graph, 0);
  return result == CUDA_SUCCESS ? Made::Yes : Made::Refused;
}

CUresult StepGraph::addNode(WorkList &work, size_t number, CUgraph captured) {
  // Steps are in order, and read what those before them write.
  const CUgraphNode *before = nodes.empty() ? nullptr : &nodes.back();
  size_t count = before ? 1 : 0;
  CUgraphNode made = nullptr;
  CUresult result;
  if (captured) {
    result =
        api().cuGraphAddChildGraphNode(&made, graph, before, count, captured);
  } else {
    void *parameters[] = {work.wordsOf(number).data()};
    auto node = kernelNode(work[number], parameters);
    result = api().cuGraphAddKernelNode(&made, graph, before, count, &node);
  }
  nodes.push_back(made);
  return result;
}

StepGraph::Made StepGraph::patch(GpuCalls &calls, WorkList &work) {
  CUresult result = CUDA_SUCCESS;
  for (size_t i = 0; i < work.size() && result == CUDA_SUCCESS; ++i) {
    if (work.isSame(i, given))
      continue;
    if (work[i].call.isCall()) {
      CUgraph captured = calls.capture(work[i].call, work.wordsOf(i));
      if (!captured)
        return Made::Uncaptured;
      result = api().cuGraphExecChildGraphNodeSetParams(executable, nodes[i],
                                                        captured);
      continue;
    }
    void *parameters[] = {work.wordsOf(i).data()};
    auto node = kernelNode(work[i], parameters);
    result = api().cuGraphExecKernelNodeSetParams(executable, nodes[i], &node);
  }
  return result == CUDA_SUCCESS ? Made::Yes : Made::Refused;
}

void StepGraph::drop() {
  if (executable)
    api().cuGraphExecDestroy(executable);
  if (graph)
    api().cuGraphDestroy(graph);
  executable = nullptr;
  graph = nullptr;
  nodes.clear();
}

} // namespace ltc::cuda
