//===- python_errors.h - From ltc::Error to Python exceptions ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <optional>

namespace ltc::python {

/// From now on errors of the backend are raised as what `makeError(code, stage,
/// op, (file, line, function), message, hint, text)` returns, on any thread
/// that runs Python, and a wait for the device ends at Ctrl-C. Needs the GIL.
void installErrorHooks(pybind11::function makeError);

/// From now on `undo()` is called, on a thread that runs Python, before the
/// error of a failed graph is raised there. Needs the GIL.
void installUndoHook(pybind11::function undo);

/// backend::dropLostGradient() of each of them that is a tensor.
void dropLostGradients(const pybind11::list &objects);

/// From now on `tell()` is called where a program makes a lazy tensor, on a
/// thread that runs Python; what it raises is raised there. None: nothing is.
void installCreationHook(std::optional<pybind11::function> tell);

} // namespace ltc::python
