//===- torch_layout.h - Whether private members are where they were -------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// torch_private.h reads members where the headers of one release have them, and
// runs beside any patch release of it. Before anything else does, each member
// is read here once, and compared with what PyTorch's own code gives.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/error.h"

#include <vector>

namespace ltc::backend {

/// One member: what was read, and what had to be.
struct LayoutReading {
  const char *member;
  uint64_t found, wanted;
};

/// Of objects made for it; nothing is dispatched, nothing stays registered.
LTC_API std::vector<LayoutReading> readLayouts();

/// An error that names the first reading that is wrong, if one is.
LTC_API Status judgeLayouts(const std::vector<LayoutReading> &readings);

} // namespace ltc::backend
