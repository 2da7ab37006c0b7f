//===- define_autopsy.cpp - Why graphs were compiled, for Python ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "define_autopsy.h"

#include "ltc/autopsy.h"
#include "ltc/engine.h"
#include "ltc_backend/raise.h"

#include <torch/csrc/Exceptions.h>

namespace py = pybind11;

namespace ltc::python {
namespace {

py::tuple place(const Source &source) {
  return py::make_tuple(source.file, source.line, source.function);
}

/// The fields of torch_ltc.autopsy.Compile, in order.
py::tuple row(const CompileRecord &record) {
  const GraphDifference &difference = record.difference;
  return py::make_tuple(
      record.number, std::string(name(difference.cause)), difference.what,
      difference.op, difference.subject, difference.was, difference.now,
      place(record.source), place(record.earlier), place(record.endedAt),
      record.comparedWith, record.remedy(), record.ops, record.seconds,
      record.fromDisk, record.open, record.key.str(), record.str());
}

py::list rows(const std::vector<CompileRecord> &records) {
  py::list list;
  for (const CompileRecord &record : records)
    list.append(row(record));
  return list;
}

/// The fields of torch_ltc.autopsy.Interpreted, of all devices.
py::list interpretedRows() {
  py::list list;
  for (uint32_t device = 0; device < backend::valueOrRaise(deviceCount());
       ++device)
    for (const DeferredGraphs &graphs :
         backend::valueOrRaise(engineFor(device))->deferred())
      list.append(py::make_tuple(graphs.ops, place(sourceOf(graphs.endedBy)),
                                 graphs.runs, graphs.spent, graphs.until));
  return list;
}

py::list guardRows(const CompileWatch &guard) { return rows(guard.records()); }
py::list allRows() { return rows(compileRecords()); }

} // namespace

void defineAutopsy(py::module_ &m) {
  py::class_<CompileWatch>(m, "CompileGuard")
      .def(py::init<size_t, bool>())
      .def("enter", torch::wrap_pybind_function(&CompileWatch::enter))
      .def("leave", torch::wrap_pybind_function(&CompileWatch::leave))
      .def("records", torch::wrap_pybind_function(guardRows));
  m.def("compile_records", torch::wrap_pybind_function(allRows));
  m.def("interpreted_graphs", torch::wrap_pybind_function(interpretedRows));
}

} // namespace ltc::python
