//===- library_calls.cpp - Kernels that a program calls -------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "library_calls.h"

#include "ltc/region_ops.h"

#include <algorithm>
#include <atomic>
#include <unordered_map>

namespace ltc::drivers {

namespace {

ltc_view viewOf(const ValueType &type) {
  ltc_view view = {};
  view.dtype = uint8_t(type.tensor.dtype);
  view.is_scalar = type.isScalar;
  view.rank = uint32_t(type.tensor.dims.size());
  return view;
}

Result<BoundCall> bindOne(const Graph &call, std::span<const int64_t> symbols,
                          const Library &library) {
  Result<Graph> fixed = call.instantiate(symbols);
  if (!fixed)
    return fixed.takeError();
  ltc_kernel *kernel = nullptr;
  if (!hasRegions(call)) {
    std::string text = fixed->str(SourceLines::Omit);
    char message[1024] = "";
    kernel =
        library.resolve({text.data(), text.size()}, message, sizeof(message));
    if (!kernel && !library.type)
      return Error{ErrorCode::Unsupported,
                   Stage::Execute,
                   "no kernel for " +
                       (call.nodes.empty() ? "nothing" : call.nodes[0].op) +
                       ": " + message,
                   "",
                   {},
                   ""};
  }
  static std::atomic<uint64_t> bindings = 0;
  BoundCall bound{
      {kernel, library.host.kernel_free}, {}, call.inputs.size(), ++bindings};
  for (const ValueType &type : call.inputs)
    bound.views.push_back(viewOf(type));
  for (const GraphOutput &output : call.outputs)
    bound.views.push_back(viewOf(call.typeOf(output.value)));
  return bound;
}

bool hasSymbolicAttribute(const Graph &call) {
  for (const Node &node : call.nodes)
    for (const Argument &argument : node.arguments) {
      auto *attribute = std::get_if<Attribute>(&argument.value);
      if (!attribute)
        continue;
      auto *one = std::get_if<int64_t>(attribute);
      auto *list = std::get_if<std::vector<int64_t>>(attribute);
      if ((one && isSymbolic(*one)) ||
          (list && std::ranges::any_of(*list, isSymbolic)))
        return true;
    }
  return false;
}

} // namespace

ltc_kernel *Library::resolve(ltc_bytes call, char *message,
                             size_t capacity) const {
  if (!type)
    return host.kernel_resolve(call, message, capacity);
  constexpr size_t needed =
      offsetof(ltc_host, kernel_run_on) + sizeof(ltc_host::kernel_run_on);
  if (host.struct_size < needed || !host.kernel_resolve_on)
    return nullptr; // it is of an older version
  return host.kernel_resolve_on(call, type, number, message, capacity);
}

bool Library::has(const Graph &call) const {
  Result<BoundCall> bound = bindOne(call, call.symbols, *this);
  return bound && bound->kernel;
}

void BoundCall::read(const int64_t *words) {
  for (ltc_view &view : views) {
    if (view.is_scalar) {
      view.bits = uint64_t(*words++);
      continue;
    }
    view.data = reinterpret_cast<void *>(*words++);
    view.sizes = words;
    view.strides = words + view.rank;
    words = view.strides + view.rank;
  }
}

Result<Calls> Calls::bind(const std::vector<Artifact::Call> &all,
                          const Library &library) {
  Calls calls(library);
  std::unordered_map<Hash128, uint32_t> known;
  for (const Artifact::Call &call : all) {
    auto [same, isNew] =
        known.try_emplace(call.graph.hash(), uint32_t(calls.bound.size()));
    calls.kernelOf.push_back(same->second);
    if (!isNew)
      continue;
    Result<BoundCall> bound = bindOne(call.graph, call.graph.symbols, library);
    if (!bound)
      return bound.takeError();
    if (hasSymbolicAttribute(call.graph)) {
      calls.varying.push_back({calls.bound.size(), call.graph});
      calls.chosen = call.graph.symbols;
    }
    calls.bound.push_back(std::move(*bound));
  }
  return calls;
}

Result<std::vector<BoundCall>>
Calls::bindVarying(std::span<const int64_t> symbols) const {
  std::vector<BoundCall> made;
  for (const Varying &call : varying) {
    Result<BoundCall> bound = bindOne(call.graph, symbols, library);
    if (!bound)
      return bound.takeError();
    made.push_back(std::move(*bound));
  }
  return made;
}

Status Calls::choose(std::span<const int64_t> symbols) {
  if (varying.empty() || std::ranges::equal(symbols, chosen))
    return {};
  auto known = std::ranges::find_if(others, [&](const Choice &choice) {
    return std::ranges::equal(choice.symbols, symbols);
  });
  Choice wanted;
  if (known != others.end()) {
    wanted = std::move(*known);
    others.erase(known);
  } else {
    Result<std::vector<BoundCall>> made = bindVarying(symbols);
    if (!made)
      return made.takeError();
    wanted = {{symbols.begin(), symbols.end()}, std::move(*made)};
  }
  for (size_t i = 0; i < varying.size(); ++i)
    std::swap(bound[varying[i].kernel], wanted.calls[i]);
  std::swap(chosen, wanted.symbols);
  others.push_front(std::move(wanted));
  if (others.size() >= kMaxChoices)
    others.pop_back();
  return {};
}

} // namespace ltc::drivers
