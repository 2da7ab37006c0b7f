//===- module.cpp - torch_ltc._C --------------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What these mean to a user is said in python/torch_ltc. Nothing happens when
// the module is imported: initialize() does it.
//
//===----------------------------------------------------------------------===//
#include "define_ahead.h"
#include "define_autopsy.h"
#include "define_cache.h"
#include "define_freeze.h"
#include "define_graphs.h"
#include "define_profile.h"
#include "define_syncs.h"
#include "define_traces.h"
#include "define_trials.h"
#include "python_errors.h"
#include "source_frame.h"

#include "ltc/devices.h"
#include "ltc/metrics.h"
#include "ltc/settings.h"
#include "ltc_backend/backend.h"
#include "ltc_backend/graph/reads/call_memory.h"
#include "ltc_backend/graph/reads/lent_memory.h"
#include "ltc_backend/graph/reads/library_copy.h"
#include "ltc_backend/graph/step_counts.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/collectives/collective_chain.h"
#include "ltc_backend/record/ops/autocast.h"
#include "ltc_backend/record/ops/custom_lowering.h"
#include "ltc_backend/record/ops/custom_op.h"
#include "ltc_backend/record/ops/fused_step.h"
#include "ltc_backend/record/views/storage_view.h"
#include "ltc_backend/record/writes/freed_storage.h"
#include "ltc_backend/register.h"
#include "ltc_backend/startup.h"
#include "ltc_backend/tensors/lazy_tensor.h"

#include <ATen/dlpack.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

namespace py = pybind11;

namespace ltc::python {
namespace {

/// The interpreter does it between two instructions of the main thread, so
/// behind the one that ends a library.
void releaseEndedOpsSoon() {
  if (Py_IsInitialized())
    Py_AddPendingCall(
        [](void *) {
          py::gil_scoped_release released;
          backend::releaseEndedOps();
          return 0;
        },
        nullptr);
}

/// Holds the GIL from end to end: a Python thread in its first lazy op waits.
void initialize(py::function makeError, std::vector<std::string> inside,
                py::function dropFirstKernel) {
  installErrorHooks(std::move(makeError));
  setInsideFolders(std::move(inside));
  backend::setFrameHook(currentSource);
  backend::initialize([&] { dropFirstKernel(); });
  backend::setEndedOpsHook(releaseEndedOpsSoon);
}

py::tuple memory(int64_t device) {
  backend::MemoryInfo info = backend::memory(device);
  return py::make_tuple(info.allocated, info.maxAllocated, info.reserved);
}

py::tuple deviceInfo(int64_t device) {
  backend::checkOrdinal(device);
  DeviceInfo info = backend::valueOrRaise(ltc::deviceInfo(uint32_t(device)));
  py::dict properties, statistics;
  for (const auto &[name, value] : info.properties)
    properties[py::str(name)] = value;
  for (const auto &[name, value] : info.statistics)
    statistics[py::str(name)] = value;
  return py::make_tuple(info.driver, info.ordinal, properties, statistics);
}

/// "cuda:0" of a lazy device that is this one of PyTorch's too, or None.
std::optional<std::string> libraryDevice(int64_t device,
                                         const std::string &type) {
  backend::checkOrdinal(device);
  auto found = backend::libraryDevice(device, c10::Device(type).type());
  return found ? std::optional(found->str()) : std::nullopt;
}

py::list settingsTable() {
  py::list table;
  for (const SettingInfo &row : listSettings())
    table.append(
        py::make_tuple(row.name, row.type, row.value, row.initial, row.doc));
  return table;
}

void setSetting(const std::string &name, const std::string &value) {
  backend::raiseIfFailed(set(name, value));
}

py::tuple callerSource() {
  Source source = sourceOf(currentSource());
  return py::make_tuple(source.file, source.line, source.function);
}

void defineDevice(py::module_ &m) {
  m.def("device_count", torch::wrap_pybind_function(backend::deviceCount));
  m.def("check_ordinal", torch::wrap_pybind_function(backend::checkOrdinal));
  m.def("current_device", torch::wrap_pybind_function(backend::currentDevice));
  m.def("set_current_device",
        torch::wrap_pybind_function(backend::setCurrentDevice));
  m.def("mark_step", torch::wrap_pybind_function_no_gil(backend::markStep));
  m.def("finish_compiling",
        torch::wrap_pybind_function_no_gil(backend::finishDryRun));
  m.def("synchronize",
        torch::wrap_pybind_function_no_gil(backend::synchronize));
  m.def("device_info", torch::wrap_pybind_function(deviceInfo));
  m.def("library_device", torch::wrap_pybind_function(libraryDevice));
  m.def("open_devices", &openDevices);
  m.def("memory", torch::wrap_pybind_function(memory));
  m.def("reset_peak_memory",
        torch::wrap_pybind_function(backend::resetPeakMemory));
  m.def("set_autocast_enabled",
        torch::wrap_pybind_function(backend::setAutocastEnabled));
  m.def("clear_autocast_cache",
        torch::wrap_pybind_function(backend::clearAutocastCache));
  m.def("mark_dim",
        torch::wrap_pybind_function_no_gil(
            [](const at::Tensor &tensor, int64_t dim, bool dynamic) {
              backend::markDim(tensor, dim,
                               dynamic ? DimMark::Kind::Dynamic
                                       : DimMark::Kind::Static);
            }));
  m.def("settle_collectives",
        torch::wrap_pybind_function_no_gil(backend::settleRecorded));
  m.def("pending_graph",
        torch::wrap_pybind_function_no_gil(backend::pendingGraphText));
}

bool isReached(Marker &marker) {
  return marker.waitFor(std::chrono::milliseconds(0));
}

double secondsSince(const Marker &end, const Marker &start) {
  return secondsBetween(start, end);
}

/// A capsule of DLPack's that says what is in it, or null.
DLManagedTensorVersioned *inCapsule(const py::object &capsule) {
  const char *name = "dltensor_versioned";
  if (!PyCapsule_IsValid(capsule.ptr(), name))
    return nullptr;
  return static_cast<DLManagedTensorVersioned *>(
      PyCapsule_GetPointer(capsule.ptr(), name));
}

/// Of capsules that are lent: by its address they are told from others.
char lent;

void markLent(const py::object &capsule) {
  inCapsule(capsule)->flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
  if (PyCapsule_SetContext(capsule.ptr(), &lent))
    throw py::error_already_set();
}

bool isLent(const py::object &capsule) {
  return inCapsule(capsule) && PyCapsule_GetContext(capsule.ptr()) == &lent;
}

void defineMemory(py::module_ &m) {
  m.def("await_values",
        torch::wrap_pybind_function_no_gil(backend::awaitValues));
  m.def("storage_values", torch::wrap_pybind_function(backend::storageValues));
  m.def("resize_storage", torch::wrap_pybind_function(backend::resizeStorage));
  m.def("lend_memory", torch::wrap_pybind_function(backend::lendMemory));
  m.def("mark_lent", torch::wrap_pybind_function(markLent));
  m.def("is_lent", torch::wrap_pybind_function(isLent));
}

void defineMarker(py::module_ &m) {
  py::class_<Marker, MarkerPtr>(m, "Marker")
      .def("wait", torch::wrap_pybind_function_no_gil(backend::waitForEvent))
      .def("is_reached", torch::wrap_pybind_function_no_gil(isReached))
      .def("seconds_since", torch::wrap_pybind_function(secondsSince));
  m.def("is_idle", torch::wrap_pybind_function(backend::isIdle));
  m.def("record_event",
        torch::wrap_pybind_function_no_gil(backend::recordEvent));
}

py::object toPython(const c10::IValue &value) {
  if (value.isNone())
    return py::none();
  if (value.isTensor())
    return py::reinterpret_steal<py::object>(
        THPVariable_Wrap(value.toTensor()));
  if (value.isBool())
    return py::bool_(value.toBool());
  if (value.isInt())
    return py::int_(value.toInt());
  if (value.isDouble())
    return py::float_(value.toDouble());
  if (value.isString())
    return py::str(value.toStringRef());
  if (!value.isList())
    throw py::type_error("a lowering from text for an op with an argument of "
                         "type " +
                         value.tagKind());
  py::list list;
  for (const c10::IValue &element : value.toListRef())
    list.append(toPython(element));
  return list;
}

/// A number that is an operand of the graph has a type and no value there.
py::object describe(const backend::ArgumentInfo &info,
                    const c10::IValue &value) {
  if (info.lifts(value) && !value.isList())
    return py::str(value.isDouble() ? "f64" : "i64");
  return toPython(value);
}

void registerLowering(const std::string &name, const std::string &overload,
                      py::function function) {
  auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(),
                                                           overload.c_str());
  // The function lives as long as the op may be called: for ever.
  auto *text = new py::function(std::move(function));
  backend::registerLowering(op, [text](const backend::OpInfo &info,
                                       c10::ArrayRef<c10::IValue> arguments) {
    py::gil_scoped_acquire gil;
    py::tuple described(arguments.size());
    for (size_t i = 0; i < arguments.size(); ++i)
      described[i] = describe(info.arguments[i], arguments[i]);
    return py::cast<std::string>((*text)(*described));
  });
}

void defineProcess(py::module_ &m) {
  m.def("initialize", torch::wrap_pybind_function(initialize));
  m.def("keep_kernel", torch::wrap_pybind_function(backend::keepKernel));
  m.def("shutdown", torch::wrap_pybind_function_no_gil(backend::shutdown));
  m.def("is_forked", torch::wrap_pybind_function(isForked));
  m.def("metrics", torch::wrap_pybind_function(metrics));
  m.def("reset_metrics", torch::wrap_pybind_function(resetMetrics));
  m.def("settings", torch::wrap_pybind_function(settingsTable));
  m.def("set_setting", torch::wrap_pybind_function(setSetting));
  m.def("fallback_reason",
        torch::wrap_pybind_function(backend::fallbackReason));
  m.def("are_alike", torch::wrap_pybind_function(backend::areAlike));
  m.def("count_step", torch::wrap_pybind_function(backend::countStep));
  m.def("set_undo_hook", torch::wrap_pybind_function(installUndoHook));
  m.def("set_creation_hook", torch::wrap_pybind_function(installCreationHook));
  m.def("records_alone", torch::wrap_pybind_function(backend::recordsAlone));
  m.def("drop_lost_gradients", torch::wrap_pybind_function(dropLostGradients));
  m.def("note_step",
        torch::wrap_pybind_function(
            [](const at::Tensor &parameter, std::vector<at::Tensor> counts) {
              backend::noteStep(parameter, std::move(counts));
            }));
  m.def("auto_step", torch::wrap_pybind_function_no_gil(backend::autoStep));
  m.def("caller_source", torch::wrap_pybind_function(callerSource));
  m.def("adopt_custom_ops",
        torch::wrap_pybind_function(backend::adoptCustomOps));
  m.def("register_lowering", torch::wrap_pybind_function(registerLowering));
}

} // namespace
} // namespace ltc::python

PYBIND11_MODULE(_C, m) {
  ltc::python::defineDevice(m);
  ltc::python::defineGraphs(m);
  ltc::python::defineFreeze(m);
  ltc::python::defineMemory(m);
  ltc::python::defineMarker(m);
  ltc::python::defineProcess(m);
  ltc::python::defineCache(m);
  ltc::python::defineAutopsy(m);
  ltc::python::defineAhead(m);
  ltc::python::defineProfile(m);
  ltc::python::defineSyncs(m);
  ltc::python::defineTraces(m);
  ltc::python::defineTrials(m);
}
