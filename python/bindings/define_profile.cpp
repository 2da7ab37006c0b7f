//===- define_profile.cpp - Profiles of steps for Python ------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows are tuples; torch_ltc.profiling.profiler names their fields.
//
//===----------------------------------------------------------------------===//
#include "define_profile.h"

#include "source_frame.h"

#include "ltc/profile.h"
#include "ltc_backend/torch_spans.h"

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
                        run.thread, run.submitted, run.begun, run.ended,
                        run.isInterpreted, run.allocated, run.reserved,
                        run.arena);
}

py::tuple row(const profile::Event &event) {
  return py::make_tuple(event.name, event.start, event.end, event.thread);
}

py::tuple row(const profile::Transfer &transfer) {
  return py::make_tuple(transfer.start, transfer.end, transfer.thread,
                        transfer.isUpload, transfer.bytes,
                        place(transfer.place), transfer.isRepeated);
}

py::tuple row(const profile::NotANumber &found) {
  return py::make_tuple(found.submitted, found.thread, found.op,
                        place(found.place));
}

py::tuple row(const profile::Recorded &op) {
  return py::make_tuple(op.start, op.end, op.thread, op.op, place(op.place));
}

py::tuple row(const profile::DeviceSpan &span) {
  return py::make_tuple(span.device, span.lane, span.name, span.start,
                        span.end);
}

py::tuple row(const profile::KernelSpan &span) {
  // A run's number counts from 1 in its session.
  return py::make_tuple(uint32_t(span.run) - 1, span.step, span.start,
                        span.end);
}

py::tuple row(const profile::GraphNode &node) {
  return py::make_tuple(node.op, place(node.place));
}

py::object nodeOf(const profile::NodeValue &value) {
  return value.node == profile::NodeValue::kNone
             ? py::object(py::none())
             : py::object(py::int_(value.node));
}

py::tuple row(const profile::NodeValue &value) {
  return py::make_tuple(nodeOf(value), value.bytes);
}

py::tuple row(const profile::GraphProfile &graph);

template <typename Row> py::list rows(const std::vector<Row> &all) {
  py::list list;
  for (const Row &each : all)
    list.append(row(each));
  return list;
}

py::tuple row(const profile::GraphProfile &graph) {
  const profile::GraphDetails &details = graph.details;
  py::list kernels, results;
  for (size_t i = 0; i < details.kernels.size(); ++i) {
    const profile::Kernel &kernel = details.kernels[i];
    bool isTimed = i < graph.total.size();
    kernels.append(py::make_tuple(kernel.name, kernel.label, kernel.kind,
                                  kernel.flops, kernel.bytes, kernel.nodes,
                                  isTimed ? graph.total[i] : 0,
                                  isTimed ? graph.fastest[i] : 0));
  }
  for (size_t i = 0; i < details.results.size(); ++i) {
    profile::HeldResult held;
    if (i < graph.held.size())
      held = graph.held[i];
    results.append(py::make_tuple(nodeOf(details.results[i]),
                                  details.results[i].bytes, held.seen,
                                  held.held));
  }
  return py::make_tuple(graph.key.str(), details.text, details.listing,
                        place(details.endedBy), details.arena, graph.timed,
                        rows(details.nodes), kernels, results, details.peakStep,
                        rows(details.atPeak));
}

py::tuple end() {
  profile::Profile profile = profile::end();
  return py::make_tuple(profile.duration, profile.dropped, rows(profile.steps),
                        rows(profile.syncs), rows(profile.runs),
                        rows(profile.events), rows(profile.transfers),
                        rows(profile.notNumbers), rows(profile.recorded),
                        rows(profile.kernels.graphs),
                        rows(profile.kernels.spans), rows(profile.deviceSpans));
}

py::list partNames() {
  py::list names;
  for (size_t i = 0; i < profile::kParts; ++i)
    names.append(text(name(profile::Part(i))));
  return names;
}

} // namespace

void defineProfile(py::module_ &m) {
  m.def("profile_begin", torch::wrap_pybind_function(profile::begin));
  m.def("profile_now", torch::wrap_pybind_function(profile::now));
  m.def("profile_open_runs", torch::wrap_pybind_function(profile::openRuns));
  m.def("profile_end", torch::wrap_pybind_function(end));
  m.def("set_torch_profiler",
        torch::wrap_pybind_function(backend::setTorchProfiler));
  m.def("await_torch_spans",
        torch::wrap_pybind_function_no_gil(backend::awaitTorchSpans));
  m.def("profile_clock", profile::clock);
  m.def("profile_add_span", [](std::string name, int64_t begun) {
    if (profile::isOn())
      profile::addEvent(std::move(name), begun);
  });
  m.def("profile_parts", torch::wrap_pybind_function(partNames));
}

} // namespace ltc::python
