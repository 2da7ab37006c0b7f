//===- define_graphs.cpp - Graphs of a front end for Python ---------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "define_graphs.h"

#include "ltc/devices.h"
#include "ltc_backend/graph/built/compiled_call.h"
#include "ltc_backend/graph/built/graph_builder.h"
#include "ltc_backend/graph/built/open_call.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/ops/region_call.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

namespace py = pybind11;

namespace ltc::python {
namespace {

using backend::BuiltGraph, backend::GraphBuilder, backend::HostArgument,
    backend::CompiledCall, backend::HostProgram, backend::HostResult,
    backend::OpenCall, backend::RegionCall;

/// A tensor or number, or none if it is another object.
std::optional<c10::IValue> fromPython(PyObject *object) {
  if (THPVariable_Check(object))
    return THPVariable_Unpack(object);
  if (PyBool_Check(object))
    return c10::IValue(object == Py_True);
  if (PyLong_Check(object))
    return c10::IValue(int64_t(PyLong_AsLongLong(object)));
  if (PyFloat_Check(object))
    return c10::IValue(PyFloat_AS_DOUBLE(object));
  return std::nullopt;
}

PyObject *toPython(const c10::IValue &value) {
  if (value.isTensor())
    return THPVariable_Wrap(value.toTensor());
  if (value.isBool())
    return py::bool_(value.toBool()).release().ptr();
  if (value.isInt())
    return PyLong_FromLongLong(value.toInt());
  if (value.isDouble())
    return PyFloat_FromDouble(value.toDouble());
  return py::none().release().ptr();
}

c10::IValue numberFrom(const py::object &object) {
  std::optional<c10::IValue> number = fromPython(object.ptr());
  if (!number && !object.is_none())
    throw py::type_error("a program's argument or result is a tensor, a number "
                         "or None");
  return number.value_or(c10::IValue());
}

/// (an argument like it, number of the graph's input or None, is it copied).
HostArgument argumentFrom(const py::tuple &row) {
  HostArgument argument;
  c10::IValue like = numberFrom(row[0]);
  argument.isTensor = like.isTensor();
  if (argument.isTensor) {
    argument.type = like.toTensor().scalar_type();
    argument.sizes = like.toTensor().sizes().vec();
    argument.strides = like.toTensor().strides().vec();
  } else {
    argument.number = like;
  }
  argument.input = row[1].cast<std::optional<size_t>>();
  argument.isCopied = row[2].cast<bool>();
  return argument;
}

/// ("number", value), ("argument", i), or (kind, i, sizes, strides, offset).
HostResult resultFrom(const py::tuple &row) {
  auto kind = row[0].cast<std::string>();
  HostResult result;
  if (kind == "number") {
    result.number = numberFrom(row[1]);
    return result;
  }
  result.index = row[1].cast<size_t>();
  result.kind = kind == "argument" ? HostResult::Argument
                : kind == "view"   ? HostResult::ViewOfArgument
                                   : HostResult::Result;
  if (row.size() > 2) {
    result.sizes = row[2].cast<std::vector<int64_t>>();
    result.strides = row[3].cast<std::vector<int64_t>>();
    result.offset = row[4].cast<int64_t>();
  }
  return result;
}

/// (graph, rows of arguments, rows of results).
HostProgram programFrom(const py::tuple &parts) {
  HostProgram program{parts[0].cast<std::shared_ptr<BuiltGraph>>(), {}, {}};
  for (py::handle row : parts[1])
    program.arguments.push_back(argumentFrom(row.cast<py::tuple>()));
  for (py::handle row : parts[2])
    program.results.push_back(resultFrom(row.cast<py::tuple>()));
  return program;
}

/// Pairs of a program's parts and what is derived for its sizes.
std::shared_ptr<const OpenCall> openCall(const std::vector<py::tuple> &given) {
  std::vector<OpenCall::Trace> traces;
  for (const py::tuple &trace : given)
    traces.push_back({programFrom(trace[0].cast<py::tuple>()),
                      trace[1].cast<std::vector<int64_t>>()});
  py::gil_scoped_release unlocked;
  return OpenCall::make(traces);
}

/// Nothing if one is no argument of a program.
std::optional<std::vector<c10::IValue>>
argumentsFrom(const py::list &arguments) {
  std::vector<c10::IValue> given;
  given.reserve(arguments.size());
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(arguments.ptr()); ++i) {
    PyObject *object = PyList_GET_ITEM(arguments.ptr(), i);
    if (object == Py_None) {
      given.emplace_back();
    } else {
      std::optional<c10::IValue> value = fromPython(object);
      if (!value)
        return std::nullopt;
      given.push_back(std::move(*value));
    }
  }
  return given;
}

/// The results for a list of arguments, or None if the call is not for them.
py::object call(const CompiledCall &self, const py::list &arguments) {
  auto given = argumentsFrom(arguments);
  if (!given || !self.fits(*given))
    return py::none();
  std::vector<c10::IValue> results;
  {
    py::gil_scoped_release unlocked;
    results = self.run(*given);
  }
  py::list list(results.size());
  for (size_t i = 0; i < results.size(); ++i)
    PyList_SET_ITEM(list.ptr(), Py_ssize_t(i), toPython(results[i]));
  return list;
}

std::shared_ptr<const CompiledCall>
callAt(const OpenCall &self, const py::list &arguments,
       const std::vector<int64_t> &derived) {
  auto given = argumentsFrom(arguments);
  return given ? self.at(*given, derived) : nullptr;
}

py::bytes lower(const BuiltGraph &graph, const std::string &form) {
  return lowered(graph.program(), form);
}

} // namespace

py::bytes lowered(const Graph &graph, const std::string &form) {
  std::optional<LoweredForm> wanted = loweredForm(form);
  if (!wanted)
    throw py::value_error("a graph is lowered to " +
                          std::string(loweredFormNames()) + ", and not to " +
                          form);
  std::string text;
  torch::wrap_pybind_function_no_gil(
      [&] { text = backend::valueOrRaise(lowerGraph(graph, *wanted)); })();
  return text;
}

void defineGraphs(py::module_ &m) {
  py::class_<BuiltGraph, std::shared_ptr<BuiltGraph>>(m, "BuiltGraph")
      .def("run", torch::wrap_pybind_function_no_gil(&BuiltGraph::run))
      .def("text", torch::wrap_pybind_function(&BuiltGraph::text))
      .def("lower", torch::wrap_pybind_function(lower))
      .def_property_readonly(
          "key", [](const BuiltGraph &graph) { return graph.key.str(); });
  py::class_<GraphBuilder>(m, "GraphBuilder")
      .def(py::init(
               torch::wrap_pybind_function([](int64_t device, bool inPlace) {
                 return std::make_unique<GraphBuilder>(device, inPlace);
               })),
           py::arg("device"), py::arg("in_place") = false)
      .def_property_readonly(
          "device",
          [](const GraphBuilder &builder) { return builder.device(); })
      .def("input", torch::wrap_pybind_function(&GraphBuilder::input))
      .def("finish", torch::wrap_pybind_function_no_gil(&GraphBuilder::finish))
      .def("trace", torch::wrap_pybind_function_no_gil(&GraphBuilder::trace));
  py::class_<CompiledCall, std::shared_ptr<CompiledCall>>(m, "CompiledCall")
      .def(py::init(torch::wrap_pybind_function([](const py::tuple &parts) {
        return std::make_shared<CompiledCall>(programFrom(parts));
      })))
      .def("__call__", torch::wrap_pybind_function(call));
  py::class_<OpenCall, std::shared_ptr<OpenCall>>(m, "OpenCall")
      .def("at", torch::wrap_pybind_function(
                     [](const OpenCall &self, const py::list &arguments,
                        const std::vector<int64_t> &derived) {
                       return std::const_pointer_cast<CompiledCall>(
                           callAt(self, arguments, derived));
                     }));
  m.def("open_call",
        torch::wrap_pybind_function([](const std::vector<py::tuple> &traces) {
          return std::const_pointer_cast<OpenCall>(openCall(traces));
        }));
  m.def("record_cond", torch::wrap_pybind_function_no_gil(&RegionCall::cond));
  m.def("record_while_loop",
        torch::wrap_pybind_function_no_gil(&RegionCall::whileLoop));
  m.def("home_of", torch::wrap_pybind_function(
                       [](int64_t device) { return backend::homeOf(device); }));
  m.def("is_host", torch::wrap_pybind_function(
                       [](int64_t device) { return backend::isHost(device); }));
}

} // namespace ltc::python
