//===- define_cache.cpp - The cache on disk for Python --------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "define_cache.h"

#include "ltc/cache.h"
#include "ltc_backend/raise.h"

#include <torch/csrc/Exceptions.h>

namespace py = pybind11;

namespace ltc::python {
namespace {

py::list files(const std::vector<cache::File> &found) {
  py::list rows;
  for (const cache::File &file : found)
    rows.append(py::make_tuple(file.key, file.bytes, file.lastUse));
  return rows;
}

py::list list(const std::string &directory) {
  return files(cache::list(directory));
}

py::list prune(const std::string &directory, uint64_t bytes) {
  return files(cache::prune(directory, bytes));
}

py::dict read(const std::string &directory, const std::string &key) {
  Artifact entry = backend::valueOrRaise(cache::read(directory, key));
  py::dict fields;
  fields["compiler"] = entry.compiler;
  fields["target"] = entry.target;
  fields["code_bytes"] = entry.codeBytes();
  std::vector<int64_t> symbols(entry.symbols, 0);
  fields["arena_bytes"] = entry.arenaBytes(symbols).value_or(0);
  fields["kernels"] = entry.launches();
  fields["library_calls"] = entry.calls.size();
  fields["inputs"] = entry.inputs.size();
  fields["results"] = entry.results.size();
  fields["donated"] = entry.donated.size() -
                      size_t(std::count(entry.donated.begin(),
                                        entry.donated.end(), std::nullopt));
  fields["graph"] = entry.graphText;
  return fields;
}

std::string add(const std::string &directory, const py::bytes &bytes) {
  return backend::valueOrRaise(cache::add(directory, std::string_view(bytes)));
}

} // namespace

void defineCache(py::module_ &m) {
  m.def("cache_directory", torch::wrap_pybind_function(cache::directory));
  m.def("cache_list", torch::wrap_pybind_function(list));
  m.def("cache_read", torch::wrap_pybind_function(read));
  m.def("cache_add", torch::wrap_pybind_function(add));
  m.def("cache_remove", torch::wrap_pybind_function(cache::remove));
  m.def("cache_prune", torch::wrap_pybind_function(prune));
}

} // namespace ltc::python
