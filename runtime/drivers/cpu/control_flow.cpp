//===- control_flow.cpp - Calls that run programs of their own ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "control_flow.h"

#include "ltc/region_ops.h"

#include <algorithm>
#include <cstring>

namespace ltc::cpu {

namespace {

Error failed(ErrorCode code, std::string message) {
  return {code, Stage::Execute, std::move(message), "", {}, ""};
}

constexpr size_t kLine = 64;

size_t rounded(size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

bool isBool(const TensorType &type) {
  return type.dtype == DType::Bool && type.elements() == 1;
}

} // namespace

bool ControlFlow::View::isDense() const {
  int64_t step = 1;
  for (size_t dim = type.tensor.dims.size(); dim-- > 0;
       step *= type.tensor.dims[dim])
    if (type.tensor.dims[dim] != 1 && strides[dim] != step)
      return bytes == 0;
  return true;
}

void ControlFlow::View::copy(void *dense, bool isTo) const {
  const std::vector<int64_t> &dims = type.tensor.dims;
  size_t element = byteSize(type.tensor.dtype);
  auto *packed = static_cast<char *>(dense);
  auto *spread = static_cast<char *>(data);
  if (isDense()) {
    if (bytes && packed != spread)
      std::memmove(isTo ? packed : spread, isTo ? spread : packed, bytes);
    return;
  }
  std::vector<int64_t> index(dims.size());
  for (size_t done = 0; done < bytes; done += element) {
    int64_t offset = 0;
    for (size_t dim = 0; dim < dims.size(); ++dim)
      offset += index[dim] * strides[dim];
    char *at = spread + offset * int64_t(element);
    std::memcpy(isTo ? packed + done : at, isTo ? at : packed + done, element);
    for (size_t dim = dims.size(); dim-- > 0;) {
      if (++index[dim] < dims[dim])
        break;
      index[dim] = 0;
    }
  }
}

ControlFlow::ControlFlow(const Graph &call, const ltc_host &services)
    : services(services), isLoop(call.nodes[0].op == kWhileLoop),
      operands(call.inputs.size()) {
  auto viewOf = [](const ValueType &type) {
    return View{type, type.isScalar ? 0 : size_t(type.tensor.bytes())};
  };
  for (const ValueType &type : call.inputs)
    views.push_back(viewOf(type));
  if (!isLoop && !views.empty()) {
    predicate = views.front();
    views.erase(views.begin());
    --operands;
  }
  for (const GraphOutput &output : call.outputs)
    views.push_back(viewOf(call.typeOf(output.value)));
  inputs.resize(operands);
  results.resize(views.size() - operands);
  others.resize(isLoop ? results.size() : 0);
}

Status ControlFlow::load(Region &region, std::string_view text,
                         const Artifact &artifact, std::string_view blobKind,
                         MakeCode makeCode) {
  const std::string name = regionName(text);
  auto kernel = std::ranges::find_if(
      artifact.kernels, [&](const Artifact::Kernel &kernel) {
        return kernel.kind == kRegionKernel && kernel.name == name;
      });
  if (kernel == artifact.kernels.end())
    return failed(ErrorCode::InvalidArgument,
                  "the program lacks one that it runs");
  Result<Artifact> read =
      Artifact::deserialize(artifact.blobs[kernel->blob].bytes);
  if (!read)
    return read.takeError();
  region.described = *read;
  region.described.blobs.clear();
  auto program = Program::make(std::move(*read), blobKind, makeCode, services);
  if (!program)
    return program.takeError();
  region.program = std::move(*program);
  return {};
}

Result<std::unique_ptr<ControlFlow>>
ControlFlow::make(const Graph &call, const Artifact &artifact,
                  std::string_view blobKind, MakeCode makeCode,
                  const ltc_host &services) {
  std::unique_ptr<ControlFlow> flow(new ControlFlow(call, services));
  auto texts = regionsOf(call.nodes[0]);
  for (size_t i = 0; i < texts.size(); ++i)
    if (Status status = flow->load(flow->regions[i], texts[i], artifact,
                                   blobKind, makeCode);
        !status)
      return status.takeError();
  if (!call.isDynamic() && flow->fits())
    return flow;
  return failed(ErrorCode::InvalidArgument,
                "a program takes or gives other types than " +
                    call.nodes[0].op + " that runs it");
}

bool ControlFlow::fits() const {
  std::span<const View> all = views;
  auto taken = all.first(operands), given = all.subspan(operands);
  auto gives = [&](const Artifact &region) {
    return std::ranges::equal(
        region.results, given, {}, {},
        [](const View &view) { return view.type.tensor; });
  };
  auto takes = [&](const Artifact &region) {
    return region.symbols == 0 &&
           std::ranges::equal(region.inputs, taken, {}, {}, &View::type);
  };
  auto donates = [](const Artifact &region) {
    return std::ranges::any_of(region.donated,
                               [](auto &input) { return input.has_value(); });
  };
  const Artifact &first = regions[0].described, &second = regions[1].described;
  if (!takes(first) || !takes(second) || !gives(second))
    return false;
  if (!isLoop)
    return predicate && !predicate->type.isScalar &&
           isBool(predicate->type.tensor) && gives(first) && !donates(first) &&
           !donates(second);
  if (given.size() > taken.size() || first.results.size() != 1 ||
      !isBool(first.results[0]) || donates(first))
    return false;
  for (size_t i = 0; i < given.size(); ++i)
    if (taken[i].type != given[i].type ||
        (second.donated[i] && *second.donated[i] != i))
      return false;
  return true;
}

bool ControlFlow::place(const int64_t *words) {
  auto read = [&](View &view) {
    if (view.type.isScalar) {
      view.bits = uint64_t(*words++);
      return;
    }
    size_t rank = view.type.tensor.dims.size();
    view.data = reinterpret_cast<void *>(*words);
    view.strides = words + 1 + rank;
    words += 1 + 2 * rank;
  };
  if (predicate)
    read(*predicate);
  std::ranges::for_each(views, read);
  auto isInPlace = [](const View &view) {
    return view.type.isScalar || (view.data && view.isDense());
  };
  size_t wanted = 0;
  auto want = [&](const View &view) { wanted += rounded(view.bytes); };
  for (const View &view : views)
    if (!isInPlace(view))
      want(view);
  for (size_t i = 0; isLoop && i < results.size(); ++i)
    if (!regions[1].described.donated[i])
      want(views[operands + i]);
  char *next = memory.atLeast(wanted);
  if (!next)
    return false;
  auto take = [&](const View &view) {
    return std::exchange(next, next + rounded(view.bytes));
  };
  for (size_t i = 0; i < views.size(); ++i) {
    const View &view = views[i];
    void *dense = isInPlace(view) ? view.data : take(view);
    if (i >= operands) {
      results[i - operands] = dense;
      continue;
    }
    inputs[i] = {dense, view.bits};
    if (dense != view.data)
      view.copyTo(dense);
  }
  for (size_t i = 0; isLoop && i < results.size(); ++i)
    others[i] = regions[1].described.donated[i] ? results[i]
                                                : take(views[operands + i]);
  return true;
}

Status ControlFlow::Region::run(std::span<const Value> given,
                                std::span<void *const> made,
                                const ltc_host &services) {
  std::vector<ltc_operand> operands(given.size() + made.size());
  std::vector<OperandMemory> places(operands.size());
  for (size_t i = 0; i < given.size(); ++i) {
    operands[i].bits = given[i].bits;
    places[i].data = given[i].data;
  }
  for (size_t i = 0; i < made.size(); ++i) {
    std::optional<uint32_t> donated = described.donated[i];
    places[given.size() + i].data = donated ? given[*donated].data : made[i];
  }
  auto bytes = size_t(described.arenaBytes({}).value_or(0));
  OperandMemory scratch{arena.atLeast(bytes), bytes};
  if (!scratch.data)
    return failed(ErrorCode::OutOfMemory, "no memory for " +
                                              std::to_string(bytes) +
                                              " bytes of values in between");
  Run run(services, program->calls, program->steps);
  program->run(run, operands, places, scratch);
  if (run.code == LTC_OK)
    return {};
  auto site = size_t(run.site);
  std::string op;
  if (site < described.errorSites.size())
    op = described.errorSites[site].op;
  else if (site - described.errorSites.size() < described.calls.size())
    op = described.calls[site - described.errorSites.size()].graph.nodes[0].op;
  return failed(ErrorCode(run.code - 1), op + ": " + run.message);
}

Status ControlFlow::runBranch() {
  bool isThen = *static_cast<const bool *>(predicate->data);
  return regions[isThen ? 0 : 1].run(inputs, results, services);
}

Status ControlFlow::runLoop() {
  auto &[condition, body] = regions;
  for (size_t i = 0; i < results.size(); ++i) {
    if (size_t bytes = views[operands + i].bytes)
      std::memcpy(results[i], inputs[i].data, bytes);
    inputs[i].data = results[i];
  }
  alignas(kLine) bool goesOn = false;
  void *const decision[] = {&goesOn};
  while (true) {
    if (Status status = condition.run(inputs, decision, services); !status)
      return status;
    if (!goesOn)
      break;
    if (Status status = body.run(inputs, others, services); !status)
      return status;
    for (size_t i = 0; i < others.size(); ++i)
      std::swap(others[i], inputs[i].data);
  }
  for (size_t i = 0; i < results.size(); ++i)
    if (size_t bytes = views[operands + i].bytes;
        bytes && inputs[i].data != results[i])
      std::memcpy(results[i], inputs[i].data, bytes);
  return {};
}

Status ControlFlow::run(const int64_t *words) {
  if (!place(words))
    return failed(ErrorCode::OutOfMemory,
                  "no memory for what control flow carries");
  if (Status status = isLoop ? runLoop() : runBranch(); !status)
    return status;
  for (size_t i = 0; i < results.size(); ++i)
    if (const View &view = views[operands + i]; results[i] != view.data)
      view.copyFrom(results[i]);
  return {};
}

} // namespace ltc::cpu
