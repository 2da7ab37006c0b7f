//===- cpp/counters.cpp - The runtime's counters --------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/metrics.h"

/// Before ltc.h, which has another function of that name.
static std::map<std::string, int64_t> counters() { return ltc::metrics(); }

#include "ltc_backend/cpp/ltc.h"

std::map<std::string, int64_t> ltc::v0::metrics() { return counters(); }
