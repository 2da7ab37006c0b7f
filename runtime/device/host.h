//===- host.h - What this process lends to a device -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/plugin.h"

namespace ltc::runtime {

/// The ltc_host table in front of hostServices(). Lives as long as the process.
const ltc_host &hostTable();

} // namespace ltc::runtime
