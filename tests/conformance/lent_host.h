//===- lent_host.h - What the suite lends the driver under test -*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/plugin.h"

namespace conformance {

/// A host whose loops really run on several threads, with a library of two
/// kernels.
const ltc_host &host();

} // namespace conformance
