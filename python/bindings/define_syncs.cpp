//===- define_syncs.cpp - The ledger of syncs for Python ------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows are tuples; torch_ltc.syncs names their fields.
//
//===----------------------------------------------------------------------===//
#include "define_syncs.h"

#include "source_frame.h"

#include "ltc/syncs.h"
#include "ltc_backend/graph/sync_cause.h"

#include <torch/csrc/Exceptions.h>

namespace py = pybind11;

namespace ltc::python {
namespace {

py::tuple place(SourceId id) {
  Source source = sourceOf(id);
  return py::make_tuple(source.file, source.line, source.function);
}

py::list ledger() {
  py::list list;
  for (const syncs::Row &row : syncs::ledger())
    list.append(py::make_tuple(std::string(name(row.cause)), row.detail,
                               place(row.place), row.count, row.time, row.wait,
                               row.graphs));
  return list;
}

py::list counted(const syncs::Guard &guard) {
  py::list list;
  for (const syncs::Guard::Counted &sync : guard.counted())
    list.append(py::make_tuple(std::string(name(sync.cause)), sync.detail,
                               place(sync.place)));
  return list;
}

py::dict remedies() {
  py::dict all;
  for (size_t i = 0; i <= size_t(profile::Cause::Other); ++i) {
    auto cause = profile::Cause(i);
    all[py::str(std::string(name(cause)))] = std::string(syncs::remedy(cause));
  }
  return all;
}

} // namespace

void defineSyncs(py::module_ &m) {
  py::class_<syncs::Guard>(m, "SyncGuard")
      .def(py::init<size_t>())
      .def("enter", torch::wrap_pybind_function(&syncs::Guard::enter))
      .def("leave", torch::wrap_pybind_function(&syncs::Guard::leave))
      .def("counted", torch::wrap_pybind_function(counted));
  py::class_<syncs::NoFallback>(m, "FallbackGuard")
      .def(py::init<>())
      .def("enter", [](syncs::NoFallback &) { syncs::NoFallback::enter(); })
      .def("leave", [](syncs::NoFallback &) { syncs::NoFallback::leave(); });
  m.def("sync_ledger", torch::wrap_pybind_function(ledger));
  m.def("sync_remedies", torch::wrap_pybind_function(remedies));
  m.def("begin_print", torch::wrap_pybind_function(backend::beginPrint));
  m.def("end_sync", torch::wrap_pybind_function(syncs::end));
}

} // namespace ltc::python
