//===- define_traces.cpp - What leads to some tensors, for Python ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// torch_ltc.lazy.lazy_core answers for PyTorch's torch._lazy with these.
//
//===----------------------------------------------------------------------===//
#include "define_traces.h"

#include "ltc_backend/graph/interpreter/trial_graph.h"
#include "ltc_backend/graph/traced_graph.h"
#include "ltc_backend/tensors/op_info.h"

#include <torch/csrc/Exceptions.h>

namespace py = pybind11;

namespace ltc::python {
namespace {

using backend::TracedGraph;

py::bytes keyOf(const TracedGraph &graph) {
  const Hash128 key = graph.key();
  return {reinterpret_cast<const char *>(&key), sizeof(key)};
}

py::tuple inputsOf(const TracedGraph &graph) {
  std::pair<std::vector<int64_t>, std::vector<c10::IValue>> inputs;
  {
    py::gil_scoped_release unlocked;
    inputs = graph.inputs();
  }
  py::list values;
  for (const c10::IValue &value : inputs.second)
    if (value.isTensor())
      values.append(py::cast(value.toTensor()));
    else if (value.isInt())
      values.append(value.toInt());
    else
      values.append(value.toDouble());
  return py::make_tuple(inputs.first, values);
}

} // namespace

void defineTraces(py::module_ &m) {
  py::class_<TracedGraph>(m, "TracedGraph")
      .def(py::init(torch::wrap_pybind_function_no_gil(
          [](const std::vector<at::Tensor> &tensors) {
            return std::make_unique<TracedGraph>(tensors);
          })))
      .def_property_readonly("key", keyOf)
      .def("text", [](const TracedGraph &graph) { return graph.get().str(); })
      .def("graph",
           [](const TracedGraph &graph) {
             return backend::TrialGraph(graph.get());
           })
      .def("inputs", torch::wrap_pybind_function(inputsOf))
      .def("results", &TracedGraph::results);
  m.def("node_text", torch::wrap_pybind_function_no_gil(backend::nodeText));
  m.def("tensor_id", torch::wrap_pybind_function_no_gil(backend::tensorId));
  m.def("forget_calls", torch::wrap_pybind_function(backend::forgetAllCalls));
}

} // namespace ltc::python
