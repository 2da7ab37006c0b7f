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

CUDA_MEMCPY3D copyNode(const int64_t *words) {
  CUDA_MEMCPY3D node = {};
  node.dstMemoryType = node.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  node.dstDevice = CUdeviceptr(words[0]);
  node.srcDevice = CUdeviceptr(words[1]);
  node.WidthInBytes = size_t(words[2]);
  node.Height = node.Depth = 1;
  return node;
}

int64_t launchesIn(const WorkList &work) {
  int64_t launches = 0;
  for (size_t i = 0; i < work.size(); ++i)
    launches += work[i].function != nullptr;
  return launches;
}

} // namespace

Outcome StepGraph::run(Gpu &gpu, CUstream stream, WorkList &work) {
  if (work.size() < 2) // a graph of one is no cheaper
    return work.queue(gpu, stream);
  if (isRefused || !hasGraphs()) {
    ++gpu.queued.refused;
    return work.queue(gpu, stream);
  }
  if (work.overlaps()) {
    ++gpu.queued.overlapping;
    return work.queue(gpu, stream);
  }
  bool isAlike = work.isLike(given);
  runsAlike = isAlike ? runsAlike + 1 : 1;
  if (!isAlike)
    drop();
  CUresult result = CUDA_SUCCESS;
  if (executable)
    result = patch(gpu, work);
  else if (runsAlike > kRunsBefore)
    result = build(gpu, work);
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
  gpu.launches += launchesIn(given);
  return outcomeOf(api().cuGraphLaunch(executable, stream), "launch a graph");
}

CUresult StepGraph::build(Gpu &gpu, WorkList &work) {
  CUresult result = api().cuGraphCreate(&graph, 0);
  for (size_t i = 0; i < work.size() && result == CUDA_SUCCESS; ++i)
    result = addNode(gpu, work, i);
  return result == CUDA_SUCCESS
             ? api().cuGraphInstantiate(&executable, graph, 0)
             : result;
}

CUresult StepGraph::addNode(Gpu &gpu, WorkList &work, size_t number) {
  // Steps are in order, and read what those before them write.
  const CUgraphNode *before = nodes.empty() ? nullptr : &nodes.back();
  CUgraphNode made = nullptr;
  CUresult result;
  if (work[number].function) {
    void *parameters[] = {work.wordsOf(number)};
    auto node = kernelNode(work[number], parameters);
    result =
        api().cuGraphAddKernelNode(&made, graph, before, before ? 1 : 0, &node);
  } else {
    CUDA_MEMCPY3D node = copyNode(work.wordsOf(number));
    result = api().cuGraphAddMemcpyNode(&made, graph, before, before ? 1 : 0,
                                        &node, gpu.context);
  }
  nodes.push_back(made);
  return result;
}

CUresult StepGraph::patch(Gpu &gpu, WorkList &work) {
  CUresult result = CUDA_SUCCESS;
  for (size_t i = 0; i < work.size() && result == CUDA_SUCCESS; ++i) {
    if (work.isSame(i, given))
      continue;
    if (work[i].function) {
      void *parameters[] = {work.wordsOf(i)};
      auto node = kernelNode(work[i], parameters);
      result =
          api().cuGraphExecKernelNodeSetParams(executable, nodes[i], &node);
    } else {
      CUDA_MEMCPY3D node = copyNode(work.wordsOf(i));
      result = api().cuGraphExecMemcpyNodeSetParams(executable, nodes[i], &node,
                                                    gpu.context);
    }
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
