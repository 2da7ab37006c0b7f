//===- libcuda_graphs.cpp - Graphs of the fake driver ---------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nodes are taken one behind the other, as runtime/drivers/cuda adds them and a
// stream captures them; other dependencies are refused. What an executable
// graph is told later holds for launches from then on.
//
//===----------------------------------------------------------------------===//
#include "fake_gpu.h"

#include <algorithm>
#include <utility>
#include <vector>

using namespace fake_cuda;

struct CUgraphNode_st {
  CUgraph graph;
  Work work;
  CUgraphNodeType type;
};

struct CUgraph_st {
  CUcontext context;
  std::map<CUgraphNode, std::vector<CUgraphNodeType>> children = {};
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes = {};
};

struct CUgraphExec_st {
  CUcontext context;
  /// Of those nodes that are graphs: what those are made of.
  std::map<CUgraphNode, std::vector<CUgraphNodeType>> children;
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

/// All that a graph does, as one piece of work.
Work workOf(CUgraph graph) {
  std::vector<Work> works;
  for (const auto &node : graph->nodes)
    works.push_back(node->work);
  return [works = std::move(works)] {
    for (const Work &work : works)
      if (CUresult result = work(); result != CUDA_SUCCESS)
        return result;
    return CUDA_SUCCESS;
  };
}

CUresult add(CUgraphNode *node, CUgraph graph, const CUgraphNode *before,
             size_t count, Work work,
             CUgraphNodeType type = CU_GRAPH_NODE_TYPE_KERNEL) {
  bool isRow = graph->nodes.empty()
                   ? count == 0
                   : count == 1 && before[0] == graph->nodes.back().get();
  if (!isRow || graph->context != currentContext())
    return CUDA_ERROR_INVALID_VALUE;
  addNode(graph, std::move(work), type);
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

/// As many nodes of the same kinds in the same order.
bool isLike(CUgraph one, const std::vector<CUgraphNodeType> &types) {
  return std::ranges::equal(one->nodes, types, {}, &CUgraphNode_st::type);
}

std::vector<CUgraphNodeType> typesOf(CUgraph graph) {
  std::vector<CUgraphNodeType> types;
  for (const auto &node : graph->nodes)
    types.push_back(node->type);
  return types;
}

} // namespace

namespace fake_cuda {

thread_local CUstream capturing = nullptr;
thread_local bool isRelaxed = false;

void addNode(CUgraph graph, Work work, CUgraphNodeType type) {
  graph->nodes.push_back(
      std::make_unique<CUgraphNode_st>(graph, std::move(work), type));
}

} // namespace fake_cuda

CUresult cuGraphCreate(CUgraph *graph, unsigned flags) {
  if (CUresult result = check(); result != CUDA_SUCCESS)
    return result;
  if (!options().graphs)
    return CUDA_ERROR_NOT_SUPPORTED;
  if (flags)
    return CUDA_ERROR_INVALID_VALUE;
  *graph = new CUgraph_st{currentContext()};
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
  made->children = graph->children;
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

CUresult cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph,
                                  const CUgraphNode *dependencies, size_t count,
                                  CUgraph child) {
  if (CUresult result = check(); result != CUDA_SUCCESS)
    return result;
  CUresult result = add(node, graph, dependencies, count, workOf(child),
                        CU_GRAPH_NODE_TYPE_GRAPH);
  if (result == CUDA_SUCCESS)
    graph->children[*node] = typesOf(child);
  return result;
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec executable,
                                            CUgraphNode node, CUgraph child) {
  if (CUresult result = check(); result != CUDA_SUCCESS)
    return result;
  auto found = executable->children.find(node);
  if (found == executable->children.end())
    return CUDA_ERROR_INVALID_VALUE;
  if (!isLike(child, found->second))
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  return change(executable, node, workOf(child));
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
  for (size_t i = 0; nodes && i < *count && i < graph->nodes.size(); ++i)
    nodes[i] = graph->nodes[i].get();
  *count = graph->nodes.size();
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type) {
  *type = node->type;
  return CUDA_SUCCESS;
}

/// Copies from and to the host are nodes of another kind here.
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *copy) {
  if (node->type != CU_GRAPH_NODE_TYPE_MEMCPY)
    return CUDA_ERROR_INVALID_VALUE;
  *copy = {};
  copy->source.memoryType = copy->target.memoryType = CU_MEMORYTYPE_DEVICE;
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute,
                               CUdeviceptr address) {
  if (attribute != CU_POINTER_ATTRIBUTE_MEMORY_TYPE || !findMemory(address, 1))
    return CUDA_ERROR_INVALID_VALUE;
  *static_cast<unsigned *>(value) = CU_MEMORYTYPE_DEVICE;
  return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  if (CUresult result = check(stream); result != CUDA_SUCCESS)
    return result;
  if (!options().graphs)
    return CUDA_ERROR_NOT_SUPPORTED;
  if (stream->capture || capturing ||
      mode != CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
    return CUDA_ERROR_INVALID_VALUE;
  static std::atomic<unsigned long long> last = 0;
  stream->capture.emplace(++last, std::this_thread::get_id(),
                          new CUgraph_st{stream->context});
  capturing = stream;
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  if (!stream->capture || stream->capture->thread != std::this_thread::get_id())
    return CUDA_ERROR_INVALID_VALUE;
  Capture ended = *stream->capture;
  stream->capture.reset();
  capturing = nullptr;
  *graph = ended.isValid ? ended.graph : nullptr;
  if (ended.isValid)
    return CUDA_SUCCESS;
  delete ended.graph;
  return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream,
                                   CUstreamCaptureStatus *status,
                                   unsigned long long *id, CUgraph *graph,
                                   const CUgraphNode **dependencies,
                                   size_t *count) {
  if (dependencies || count)
    return CUDA_ERROR_INVALID_VALUE; // nobody asks
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (!stream->capture)
    return CUDA_SUCCESS;
  *status = stream->capture->isValid ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                     : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  if (id)
    *id = stream->capture->id;
  if (graph)
    *graph = stream->capture->graph;
  return CUDA_SUCCESS;
}

unsigned long long fakeCudaCapture(CUstream stream) {
  return stream->capture ? stream->capture->id : 0;
}

bool fakeCudaRelax(bool relaxed) { return std::exchange(isRelaxed, relaxed); }

CUresult cuGraphExecDestroy(CUgraphExec executable) {
  delete executable;
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  if (CUresult result = check(stream); result != CUDA_SUCCESS)
    return result;
  if (CUresult result = stream->invalidate(); result != CUDA_SUCCESS)
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
