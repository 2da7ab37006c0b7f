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

Outcome StepGraph::run(Gpu &gpu, CUstream stream, WorkList &work) {
  if (work.size() < 2) // a graph of one is no cheaper
    return work.queue(gpu, stream);
  if (isRefused || !hasGraphs()) {
    ++gpu.queued.refused;
    return work.queue(gpu, stream);
  }
  bool isAlike = work.isLike(given);
  runsAlike = isAlike ? runsAlike + 1 : 1;
  if (!isAlike)
    drop();
  CUresult result = CUDA_SUCCESS;
  if (executable)
    result = patch(work);
  else if (runsAlike > kRunsBefore)
    result = build(work);
  if (result != CUDA_SUCCESS) { // a lost GPU says so again below
    drop();
    isRefused = true;
  }
  std::swap(given, work);
  if (!executable) {
    ++(isRefused ? gpu.queued.refused : gpu.queued.unlike);
    return given.queue(gpu, stream);
  }
  ++gpu.graphs;
  gpu.launches += int64_t(given.size());
  return outcomeOf(api().cuGraphLaunch(executable, stream), "launch a graph");
}

CUresult StepGraph::build(WorkList &work) {
  CUresult result = api().cuGraphCreate(&graph, 0);
  for (size_t i = 0; i < work.size() && result == CUDA_SUCCESS; ++i)
    result = addNode(work, i);
  return result == CUDA_SUCCESS
             ? api().cuGraphInstantiate(&executable, graph, 0)
             : result;
}

CUresult StepGraph::addNode(WorkList &work, size_t number) {
  // Steps are in order, and read what those before them write.
  const CUgraphNode *before = nodes.empty() ? nullptr : &nodes.back();
  CUgraphNode made = nullptr;
  void *parameters[] = {work.wordsOf(number)};
  auto node = kernelNode(work[number], parameters);
  CUresult result =
      api().cuGraphAddKernelNode(&made, graph, before, before ? 1 : 0, &node);
  nodes.push_back(made);
  return result;
}

CUresult StepGraph::patch(WorkList &work) {
  CUresult result = CUDA_SUCCESS;
  for (size_t i = 0; i < work.size() && result == CUDA_SUCCESS; ++i) {
    if (work.isSame(i, given))
      continue;
    void *parameters[] = {work.wordsOf(i)};
    auto node = kernelNode(work[i], parameters);
    result = api().cuGraphExecKernelNodeSetParams(executable, nodes[i], &node);
  }
  return result;
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
