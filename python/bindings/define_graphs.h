//===- define_graphs.h - Graphs of a front end for Python -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/graph.h"

#include <torch/csrc/utils/pybind.h>

#include <string>

namespace ltc::python {

/// The graph for another compiler, in the form of that name.
pybind11::bytes lowered(const Graph &graph, const std::string &form);

/// What python/torch_ltc/dynamo/backend.py asks for.
void defineGraphs(pybind11::module_ &m);

} // namespace ltc::python
