//===- direct_call.h - The hot operators without the dispatcher -*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "call_plan.h"

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

namespace ltc::backend {

/// Calls one operator with the arguments of its schema, writing into the
/// results. `generator` is seeded for a random call, else undefined. False: it
/// has done nothing, and the dispatcher is to be asked. May throw.
using DirectCall = bool (*)(const Stack &arguments,
                            c10::ArrayRef<at::Tensor> results,
                            const at::Generator &generator);

/// The direct call for `plan`, or nullptr: then the dispatcher is asked, as for
/// most of other devices than the CPU.
DirectCall directCall(const CallPlan &plan);

} // namespace ltc::backend
