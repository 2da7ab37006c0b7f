//===- autopsy.cpp - Why graphs were compiled, for Python -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "autopsy.h"

#include "ltc/autopsy.h"

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

py::list guardRows(const CompileGuard &guard) { return rows(guard.records()); }
py::list allRows() { return rows(compileRecords()); }

} // namespace

void defineAutopsy(py::module_ &m) {
  py::class_<CompileGuard>(m, "CompileGuard")
      .def(py::init<size_t, bool>())
      .def("enter", torch::wrap_pybind_function(&CompileGuard::enter))
      .def("leave", torch::wrap_pybind_function(&CompileGuard::leave))
      .def("records", torch::wrap_pybind_function(guardRows));
  m.def("compile_records", torch::wrap_pybind_function(allRows));
}

} // namespace ltc::python
