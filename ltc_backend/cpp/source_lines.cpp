//===- cpp/source_lines.cpp - Lines of C++ programs -----------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/cpp/ltc.h"

#include "ltc/settings.h"
#include "ltc_backend/cpp/backtrace.h"
#include "ltc_backend/cpp/source_lines.h"
#include "ltc_backend/current_source.h"

namespace ltc::backend {

static thread_local SourceId named = 0;

static SourceId here() {
  if (named || !settings().source_backtrace)
    return named;
  return lineByBacktrace();
}

void watchLines() {
  if (settings().source_backtrace)
    offerFrameHook(here);
}

} // namespace ltc::backend

namespace ltc::inline v0 {

uint32_t source_id(const char *file, uint32_t line, const char *function) {
  backend::offerFrameHook(backend::here);
  return internSource({file, line, function});
}

void set_source(uint32_t id) { backend::named = id; }

} // namespace ltc::inline v0
