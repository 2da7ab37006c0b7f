//===- define_freeze.cpp - Frozen steps for Python ------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "define_freeze.h"

#include "state_guard.h"

#include "ltc_backend/graph/frozen/frozen_step.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

namespace py = pybind11;

namespace ltc::python {
namespace {

using backend::FrozenStep, backend::StepObstacle, backend::StepRecorder,
    backend::StepRecording;
using RecordingPtr = std::shared_ptr<StepRecording>;

/// (what, file, line, function), or None.
py::object describe(const std::optional<StepObstacle> &obstacle) {
  if (!obstacle)
    return py::none();
  Source source = sourceOf(obstacle->place);
  return py::make_tuple(obstacle->what, source.file, source.line,
                        source.function);
}

/// A step with what has to be so for it to be repeated.
struct GuardedStep {
  std::shared_ptr<const FrozenStep> step;
  ArgumentGuard arguments;
  StateGuard state;

  /// The function's tensors, or None if the call has to be recorded.
  py::object call(const py::tuple &args, const py::dict &kwargs) const {
    FrozenStep::Given given;
    if (!arguments.read(args, kwargs, given.tensors, given.hosts,
                        given.leaves) ||
        !state.read(given.leaves))
      return py::none();
    std::optional<std::vector<at::Tensor>> results;
    {
      py::gil_scoped_release unlocked;
      for (at::Tensor &tensor : given.tensors)
        tensor = backend::withOwnMemory(tensor);
      results = step->run(given);
    }
    if (!results)
      return py::none();
    py::tuple tuple(results->size());
    for (size_t i = 0; i < results->size(); ++i)
      PyTuple_SET_ITEM(tuple.ptr(), Py_ssize_t(i),
                       THPVariable_Wrap((*results)[i]));
    return tuple;
  }
};

bool isOfProcess(const std::optional<at::Generator> &generator) {
  return !generator || *generator == at::detail::getDefaultCPUGenerator();
}

/// The step, or what keeps it from being one.
py::object freeze(const StepRecording &older, const StepRecording &newer,
                  std::vector<at::Tensor> tensors,
                  std::vector<at::Tensor> hosts, std::vector<uint32_t> counted,
                  const py::object &arguments, const py::list &rows) {
  StepObstacle why;
  auto step =
      FrozenStep::make(older, newer, {std::move(tensors), std::move(hosts), {}},
                       std::move(counted), why);
  if (!step)
    return describe(why);
  std::vector<bool> variable = step->variableLeaves();
  return py::cast(std::make_shared<GuardedStep>(GuardedStep{
      step, ArgumentGuard(arguments, variable), StateGuard(rows, variable)}));
}

} // namespace

void defineFreeze(py::module_ &m) {
  py::class_<StepRecording, RecordingPtr>(m, "StepRecording")
      .def_property_readonly("wait",
                             [](const StepRecording &recording) {
                               return describe(recording.wait);
                             })
      .def_property_readonly("obstacle",
                             [](const StepRecording &recording) {
                               return describe(recording.obstacle);
                             })
      .def("difference_from",
           [](const StepRecording &newer, const StepRecording &older) {
             return describe(newer.differenceFrom(older));
           })
      .def_property_readonly("draws",
                             [](const StepRecording &recording) {
                               return std::ranges::count_if(recording.draws,
                                                            isOfProcess);
                             })
      .def_property_readonly("launches", [](const StepRecording &recording) {
        return recording.launches.size();
      });
  py::class_<StepRecorder>(m, "StepRecorder")
      .def(py::init(torch::wrap_pybind_function(
          [](std::vector<at::Tensor> tensors, std::vector<at::Tensor> hosts,
             std::vector<double> leaves) {
            return std::make_unique<StepRecorder>(
                std::move(tensors), std::move(hosts), std::move(leaves));
          })))
      .def("enter", &StepRecorder::enter)
      .def("leave", &StepRecorder::leave)
      .def("finish", torch::wrap_pybind_function(
                         [](StepRecorder &recorder,
                            const std::vector<at::Tensor> &results) {
                           return std::const_pointer_cast<StepRecording>(
                               recorder.finish(results));
                         }));
  py::class_<GuardedStep, std::shared_ptr<GuardedStep>>(m, "GuardedStep")
      .def("__call__", torch::wrap_pybind_function(&GuardedStep::call));
  m.def("freeze", torch::wrap_pybind_function(freeze));
  m.def("with_own_memory",
        torch::wrap_pybind_function_no_gil(backend::withOwnMemory));
}

} // namespace ltc::python
