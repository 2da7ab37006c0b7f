//===- graph/number.h - Numbers that need no graph --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop that logs its mean loss and starts the sum again (`total.zero_()`,
// `total -= total`) does so in few steps, whose graphs would have one op more
// than the others'. A graph that is not known is therefore looked up without
// such numbers; if it is known so, the numbers are computed on the host. That
// takes two more walks over what is pending, of 0.2 us a node.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/pending.h"

namespace ltc::backend {

/// Whether one op makes a single number of such data, the same bits wherever it
/// is computed. Under the pending list's lock.
bool isNumber(const OpNode &node);

} // namespace ltc::backend
