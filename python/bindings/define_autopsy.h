//===- define_autopsy.h - Why graphs were compiled, for Python --*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace ltc::python {

/// Adds the functions behind torch_ltc.autopsy.
void defineAutopsy(pybind11::module_ &m);

} // namespace ltc::python
