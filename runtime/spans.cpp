//===- spans.cpp - Spans for the profiler of another library ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/spans.h"

namespace ltc::spans {

std::atomic<uint8_t> watchers = 0;

static Listener &functions() {
  static Listener functions;
  return functions;
}

void setListener(Listener lent) { functions() = lent; }

const Listener &listener() { return functions(); }

void setOn(bool on) {
  if (on && functions().begin)
    watchers |= kListener;
  else
    watchers &= uint8_t(~kListener);
}

void Span::begin(std::string_view name, std::string_view more) {
  if (!name.empty())
    open = listener().begin("ltc::" + std::string(name) + std::string(more));
}

} // namespace ltc::spans
