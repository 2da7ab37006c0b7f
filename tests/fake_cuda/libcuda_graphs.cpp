//===- libcuda_graphs.cpp - Graphs of the fake driver ---------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nodes are taken one behind the other, as runtime/drivers/cuda adds them;
// other dependencies are refused. What an executable graph is told later holds
// for launches from then on.
//
//===----------------------------------------------------------------------===//
#include "fake_gpu.h"

#include <vector>

using namespace fake_cuda;

struct CUgraphNode_st {
  CUgraph graph;
  Work work;
};

struct CUgraph_st {
  CUcontext context;
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
};

struct CUgraphExec_st {
  CUcontext context;
  std::map<CUgraphNode, size_t> places;
  std::vector<Work> works;
};

namespace {

CUresult launchOf(const CUDA_KERNEL_NODE_PARAMS *node, Work &work) {
  if (!node->func || node->kern || (node->ctx && node->ctx != currentContext()))
    return CUDA_ERROR_INVALID_VALUE;
  return makeLaunch(currentContext(), node->func,
                    {{node->gridDimX, node->gridDimY, node->gridDimZ},
                     {node->blockDimX, node->blockDimY, node->blockDimZ},
                     node->sharedMemBytes},
                    node->kernelParams, node->extra, work);
}

CUresult add(CUgraphNode *node, CUgraph graph, const CUgraphNode *before,
             size_t count, Work work) {
  bool isRow = graph->nodes.empty()
                   ? count == 0
                   : count == 1 && before[0] == graph->nodes.back().get();
  if (!isRow || graph->context != currentContext())
    return CUDA_ERROR_INVALID_VALUE;
  graph->nodes.push_back(
      std::make_unique<CUgraphNode_st>(graph, std::move(work)));
  *node = graph->nodes.back().get();
  return CUDA_SUCCESS;
}

/// In the graph that it was made of.
CUresult change(CUgraphExec executable, CUgraphNode node, Work work) {
  auto place = executable->places.find(node);
  if (place == executable->places.end())
    return CUDA_ERROR_INVALID_VALUE;
  executable->works[place->second] = std::move(work);
  return CUDA_SUCCESS;
}

} // namespace

CUresult cuGraphCreate(CUgraph *graph, unsigned flags) {
  if (CUresult result = check(); result != CUDA_SUCCESS)
    return result;
  if (!options().graphs)
    return CUDA_ERROR_NOT_SUPPORTED;
  if (flags)
    return CUDA_ERROR_INVALID_VALUE;
  *graph = new CUgraph_st{currentContext(), {}};
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph) {
  delete graph;
  return CUDA_SUCCESS;
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph,
                                 const CUgraphNode *dependencies, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS *parameters) {
  if (CUresult result = check(); result != CUDA_SUCCESS)
    return result;
  Work work;
  CUresult result = launchOf(parameters, work);
  return result == CUDA_SUCCESS
             ? add(node, graph, dependencies, count, std::move(work))
             : result;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph graph,
                                     unsigned long long flags) {
  if (CUresult result = check(); result != CUDA_SUCCESS)
    return result;
  if (flags || graph->context != currentContext())
    return CUDA_ERROR_INVALID_VALUE;
  auto made = std::make_unique<CUgraphExec_st>(graph->context);
  for (const auto &node : graph->nodes) {
    made->places[node.get()] = made->works.size();
    made->works.push_back(node->work);
  }
  *executable = made.release();
  return CUDA_SUCCESS;
}

CUresult
cuGraphExecKernelNodeSetParams_v2(CUgraphExec executable, CUgraphNode node,
                                  const CUDA_KERNEL_NODE_PARAMS *parameters) {
  if (CUresult result = check(); result != CUDA_SUCCESS)
    return result;
  Work work;
  CUresult result = launchOf(parameters, work);
  return result == CUDA_SUCCESS ? change(executable, node, std::move(work))
                                : result;
}

CUresult cuGraphExecDestroy(CUgraphExec executable) {
  delete executable;
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  if (CUresult result = check(stream); result != CUDA_SUCCESS)
    return result;
  if (executable->context != stream->context)
    return CUDA_ERROR_INVALID_VALUE;
  stream->push([works = executable->works] {
    for (const Work &work : works)
      if (CUresult result = work(); result != CUDA_SUCCESS)
        return result;
    return CUDA_SUCCESS;
  });
  return CUDA_SUCCESS;
}
