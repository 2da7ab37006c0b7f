//===- define_ahead.h - Bundles for Python ----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace ltc::python {

/// What torch_ltc.aot makes bundles with.
void defineAhead(pybind11::module_ &m);

} // namespace ltc::python
