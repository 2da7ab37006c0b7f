//===- captured_call.cpp - A library call as a CUDA graph -----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "captured_call.h"

#include <algorithm>

namespace ltc::cuda {

namespace {

/// A copy from the host would read memory that is not there any more.
bool isOnDevice(const CUDA_MEMCPY3D_end &end) {
  if (end.memoryType != CU_MEMORYTYPE_UNIFIED)
    return end.memoryType == CU_MEMORYTYPE_DEVICE;
  unsigned type = 0;
  return api().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                     end.device) == CUDA_SUCCESS &&
         type == CU_MEMORYTYPE_DEVICE;
}

bool mayRepeat(CUgraphNode node) {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_HOST;
  api().cuGraphNodeGetType(node, &type);
  if (type != CU_GRAPH_NODE_TYPE_MEMCPY)
    return type == CU_GRAPH_NODE_TYPE_KERNEL ||
           type == CU_GRAPH_NODE_TYPE_MEMSET ||
           type == CU_GRAPH_NODE_TYPE_EMPTY;
  CUDA_MEMCPY3D copy = {};
  return api().cuGraphMemcpyNodeGetParams(node, &copy) == CUDA_SUCCESS &&
         isOnDevice(copy.source) && isOnDevice(copy.target);
}

} // namespace

CapturedCall::CapturedCall(Gpu &gpu, drivers::BoundCall &call,
                           std::span<int64_t> words)
    : gpu(&gpu), binding(call.binding), words(words.begin(), words.end()),
      capture(nullptr, gpu.library.host.capture_free) {
  char text[1024] = "";
  const ltc_host &host = gpu.library.host;
  capture.reset(
      host.capture_begin(call.kernel.get(), gpu.captures, text, sizeof(text)));
  if (!capture) {
    why = "refused";
    return;
  }
  runInCapture(call);
  if (host.capture_end(capture.get(), text, sizeof(text)) != LTC_OK)
    captured = nullptr;
  if (captured)
    why = objection();
  if (!why.empty())
    captured = nullptr;
}

void CapturedCall::runInCapture(drivers::BoundCall &call) {
  char text[1024] = "";
  call.read(words.data());
  ltc_error_code failure = gpu->library.host.kernel_run_on(
      call.kernel.get(), gpu->captures, call.views.data(), call.operands,
      call.views.data() + call.operands, call.views.size() - call.operands,
      text, sizeof(text));
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUgraph graph = nullptr;
  CUresult asked = api().cuStreamGetCaptureInfo(gpu->captures, &status, nullptr,
                                                &graph, nullptr, nullptr);
  if (asked != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
    // It waited for the stream, or the like. The library ends its own part of a
    // capture only if the device's ends well: give it an empty one.
    why = "waits";
    api().cuStreamEndCapture(gpu->captures, &graph);
    api().cuStreamBeginCapture(gpu->captures,
                               CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    return;
  }
  if (failure == LTC_OK)
    captured = graph;
  else if (failure != LTC_OUT_OF_MEMORY)
    why = "refused";
}

std::string_view CapturedCall::objection() const {
  size_t count = 0;
  CUresult result = api().cuGraphGetNodes(captured, nullptr, &count);
  std::vector<CUgraphNode> nodes(count);
  if (result == CUDA_SUCCESS && count)
    result = api().cuGraphGetNodes(captured, nodes.data(), &count);
  if (result != CUDA_SUCCESS)
    return "refused";
  return std::ranges::all_of(nodes, mayRepeat) ? "" : "host";
}

bool CapturedCall::isFor(uint64_t otherBinding,
                         std::span<const int64_t> otherWords) const {
  return binding == otherBinding && std::ranges::equal(words, otherWords);
}

} // namespace ltc::cuda
