//===- define_trials.cpp - Graphs that are tried out, for Python ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// torch_ltc.checking.verifier compares, bisects and writes reproducers with
// these.
//
//===----------------------------------------------------------------------===//
#include "define_trials.h"

#include "ltc/compile_hooks.h"
#include "ltc/engine.h"
#include "ltc_backend/graph/interpreter/checked_launch.h"
#include "ltc_backend/graph/interpreter/trial_graph.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/raise.h"

#include <torch/csrc/Exceptions.h>

namespace py = pybind11;

namespace ltc::python {
namespace {

using backend::TrialGraph;

/// Never released: graphs may be compiled until the interpreter is gone.
PyObject *verifying = nullptr, *failing = nullptr;

bool runsPython() {
  return Py_IsInitialized() && PyGILState_GetThisThreadState();
}

Source sourceFrom(const py::tuple &place) {
  return {place[0].cast<std::string>(), place[1].cast<uint32_t>(),
          place[2].cast<std::string>()};
}

/// torch_ltc.checking.verifier.check() returns None, or message, op, place and
/// hint.
std::optional<Error> verify(const backend::VerifiedRun &run) {
  if (!runsPython())
    return std::nullopt;
  py::gil_scoped_acquire gil;
  Error error;
  error.code = ErrorCode::Miscompiled;
  try {
    py::object found = py::reinterpret_borrow<py::function>(verifying)(
        TrialGraph(run.graph), run.key.str(), run.inputs, run.results);
    if (found.is_none())
      return std::nullopt;
    auto row = found.cast<py::tuple>();
    error.message = row[0].cast<std::string>();
    error.op = row[1].cast<std::string>();
    error.source = sourceFrom(row[2].cast<py::tuple>());
    error.hint = row[3].cast<std::string>();
  } catch (py::error_already_set &failure) {
    error.code = ErrorCode::Internal;
    error.message =
        "a graph could not be verified: " + std::string(failure.what());
  } catch (const std::exception &failure) {
    error.code = ErrorCode::Internal;
    error.message =
        "a graph could not be verified: " + std::string(failure.what());
  }
  return error;
}

/// torch_ltc.checking.verifier.compile_failed() returns where a reproducer
/// lies.
std::string compileFailed(const Graph &graph, const Error &error) {
  if (!runsPython())
    return "";
  py::gil_scoped_acquire gil;
  try {
    return py::reinterpret_borrow<py::function>(failing)(TrialGraph(graph),
                                                         error.str())
        .cast<std::string>();
  } catch (py::error_already_set &failure) {
    failure.discard_as_unraisable("torch_ltc: writing a reproducer");
  } catch (const std::exception &) {
  }
  return "";
}

void installVerifier(py::function check, py::function failed) {
  verifying = check.release().ptr();
  failing = failed.release().ptr();
  backend::setVerifyHook(verify);
  compileHooks.failed = compileFailed;
}

py::list nodes(const TrialGraph &graph) {
  py::list list;
  for (const Node &node : graph.get().nodes) {
    Source source = sourceOf(node.source);
    py::list types;
    for (const TensorType &type : node.results)
      types.append(type.str());
    list.append(py::make_tuple(
        node.op, backend::operandsOf(node), types,
        py::make_tuple(source.file, source.line, source.function)));
  }
  return list;
}

py::list inputs(const TrialGraph &graph) {
  py::list list;
  for (const ValueType &type : graph.get().inputs)
    list.append(py::make_tuple(type.str(), type.isScalar,
                               std::string(name(type.tensor.dtype)),
                               type.tensor.dims));
  return list;
}

py::list outputs(const TrialGraph &graph) {
  py::list list;
  for (const GraphOutput &output : graph.get().outputs)
    list.append(py::make_tuple(
        output.value, output.donated ? py::object(py::int_(*output.donated))
                                     : py::object(py::none())));
  return list;
}

py::tuple part(const TrialGraph &graph, const std::vector<uint32_t> &nodes,
               bool donates) {
  TrialGraph::Part made = graph.part(nodes, donates);
  return py::make_tuple(std::move(made.graph), made.inputs, made.outputs);
}

void forgetPrograms() {
  auto device = uint32_t(backend::currentDevice());
  backend::valueOrRaise(engineFor(device))->clearCache();
}

} // namespace

void defineTrials(py::module_ &m) {
  py::class_<TrialGraph>(m, "TrialGraph")
      .def(py::init(torch::wrap_pybind_function(&TrialGraph::parse)))
      .def("text", [](const TrialGraph &graph) { return graph.get().str(); })
      .def("nodes", nodes)
      .def("inputs", inputs)
      .def("outputs", outputs)
      .def("reference",
           torch::wrap_pybind_function_no_gil(&TrialGraph::reference))
      .def("compiled",
           torch::wrap_pybind_function_no_gil(&TrialGraph::compiled))
      .def("part", torch::wrap_pybind_function(part));
  m.def("install_verifier", torch::wrap_pybind_function(installVerifier));
  m.def("forget_programs", torch::wrap_pybind_function(forgetPrograms));
}

} // namespace ltc::python
