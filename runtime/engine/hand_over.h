//===- hand_over.h - What a device is handed of a graph ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "device/device.h"
#include "ltc/compiler.h"

namespace ltc::runtime {

/// Whether the device runs code that our compiler makes.
bool runsOurCode(const Device &device);

/// Compiles a graph into what the device runs, as its target says: code of our
/// compiler's, library calls, or parts that the device's own compiler makes and
/// library calls of the host's between them. `options` has everything but the
/// target.
Result<Artifact> compileFor(Device &device, Compiler &compiler,
                            const Graph &graph, CompileOptions options);

} // namespace ltc::runtime
