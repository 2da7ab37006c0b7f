//===- python_errors.cpp - From ltc::Error to Python exceptions -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "python_errors.h"

#include "ltc/interrupts.h"
#include "ltc_backend/backend.h"
#include "ltc_backend/graph/step_counts.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/creation.h"
#include "ltc_backend/record/writes/lost_gradient.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include <atomic>

namespace py = pybind11;

namespace ltc::python {
namespace {

/// Never released: errors may come until the interpreter is gone.
PyObject *errorMaker = nullptr;

/// Python threads only; a queue thread must not gain a thread state here.
bool runsPython() {
  return Py_IsInitialized() && PyGILState_GetThisThreadState();
}

[[noreturn]] void throwPending() {
  python_error error;
  error.persist();
  throw error;
}

void raiseInPython(const Error &error) {
  if (!runsPython())
    return;
  py::gil_scoped_acquire gil;
  // Of a program that ended for it, the signal itself says more.
  if (error.code == ErrorCode::Interrupted && PyErr_CheckSignals() != 0)
    throwPending();
  try {
    py::object exception = py::reinterpret_borrow<py::function>(errorMaker)(
        std::string(name(error.code)), std::string(name(error.stage)), error.op,
        py::make_tuple(error.source.file, error.source.line,
                       error.source.function),
        error.message, error.hint, error.str());
    PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(exception.ptr())),
                    exception.ptr());
  } catch (py::error_already_set &failure) {
    failure.restore();
  }
  throwPending();
}

PyObject *undo = nullptr;

/// An error of this must not hide the one that is about to be raised.
void undoInPython() {
  if (!runsPython())
    return;
  py::gil_scoped_acquire gil;
  try {
    py::reinterpret_borrow<py::function>(undo)();
  } catch (py::error_already_set &failure) {
    failure.discard_as_unraisable("torch_ltc: undoing a step");
  }
}

/// Replaced ones are never released: another thread may be calling one.
std::atomic<PyObject *> creationListener{nullptr};

void tellPython() {
  if (!runsPython())
    return;
  py::gil_scoped_acquire gil;
  try {
    py::reinterpret_borrow<py::function>(creationListener.load())();
    return;
  } catch (py::error_already_set &failure) {
    failure.restore();
  }
  throwPending();
}

void throwIfInterrupted() {
  if (!runsPython())
    return;
  py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0)
    throwPending();
}

/// Leaves the signal for whoever handles it.
bool isInterrupted() {
  if (!runsPython())
    return false;
  py::gil_scoped_acquire gil;
  if (!PyOS_InterruptOccurred())
    return false;
  PyErr_SetInterrupt();
  return true;
}

/// At the end of the process nobody else may run Python.
void *releaseGil() {
  return Py_IsInitialized() && PyGILState_Check() ? PyEval_SaveThread()
                                                  : nullptr;
}

void restoreGil(void *thread) {
  PyEval_RestoreThread(static_cast<PyThreadState *>(thread));
}

} // namespace

void installUndoHook(py::function undoStep) {
  undo = undoStep.release().ptr();
  backend::setUndoHook(undoInPython);
}

void dropLostGradients(const py::list &objects) {
  // By the type alone: what says isinstance() may run a program's Python.
  auto *tensorType = reinterpret_cast<PyTypeObject *>(THPVariableClass);
  for (py::handle object : objects)
    if (PyObject_TypeCheck(object.ptr(), tensorType))
      backend::dropLostGradient(THPVariable_Unpack(object.ptr()));
}

void installCreationHook(std::optional<py::function> tell) {
  if (tell)
    creationListener = tell->release().ptr();
  backend::setCreationHook(tell ? tellPython : nullptr);
}

void installErrorHooks(py::function makeError) {
  errorMaker = makeError.release().ptr();
  backend::setRaiseHook(raiseInPython);
  backend::setInterruptHook(throwIfInterrupted);
  setInterruptCheck(isInterrupted);
  static constexpr backend::WaitHooks waitHooks{releaseGil, restoreGil};
  backend::setWaitHooks(waitHooks);
}

} // namespace ltc::python
