//===- profile.cpp - Profiles of steps for Python ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows are tuples; torch_ltc.profiler names their fields.
//
//===----------------------------------------------------------------------===//
#include "profile.h"

#include "source_frame.h"

#include "ltc/profile.h"

#include <torch/csrc/Exceptions.h>

namespace py = pybind11;

namespace ltc::python {
namespace {

py::tuple place(SourceId id) {
  Source source = sourceOf(id);
  return py::make_tuple(source.file, source.line, source.function);
}

py::str text(std::string_view view) { return {view.data(), view.size()}; }

py::tuple row(const profile::Step &step) {
  return py::make_tuple(step.start, step.end, step.thread, step.isWhole,
                        text(name(step.cause)), place(step.place), step.parts);
}

py::tuple row(const profile::Sync &sync) {
  return py::make_tuple(sync.start, sync.end, sync.thread,
                        text(name(sync.cause)), sync.detail, place(sync.place),
                        sync.parts, sync.graphs);
}

py::tuple row(const profile::Run &run) {
  return py::make_tuple(run.key.str(), run.ops, run.inputs, run.results,
                        run.thread, run.submitted, run.begun, run.ended);
}

py::tuple row(const profile::Event &event) {
  return py::make_tuple(text(event.name), event.start, event.end, event.thread);
}

template <typename Row> py::list rows(const std::vector<Row> &all) {
  py::list list;
  for (const Row &each : all)
    list.append(row(each));
  return list;
}

py::tuple end() {
  profile::Profile profile = profile::end();
  return py::make_tuple(profile.duration, profile.dropped, rows(profile.steps),
                        rows(profile.syncs), rows(profile.runs),
                        rows(profile.events));
}

py::list partNames() {
  py::list names;
  for (size_t i = 0; i < profile::kParts; ++i)
    names.append(text(name(profile::Part(i))));
  return names;
}

/// For what is only known to be one sync in Python.
bool beginPrint() {
  return profile::isOn() &&
         profile::beginSync(profile::Cause::Print, "", currentSource());
}

} // namespace

void defineProfile(py::module_ &m) {
  m.def("profile_begin", torch::wrap_pybind_function(profile::begin));
  m.def("profile_open_runs", torch::wrap_pybind_function(profile::openRuns));
  m.def("profile_end", torch::wrap_pybind_function(end));
  m.def("profile_parts", torch::wrap_pybind_function(partNames));
  m.def("begin_print", torch::wrap_pybind_function(beginPrint));
  m.def("end_sync", torch::wrap_pybind_function(profile::endSync));
}

} // namespace ltc::python
