//===- graph/late_nodes.h - Nodes that wait ---------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/pending.h"

namespace ltc::backend {

/// Puts nodes that wait for what began before, as a collective, right before
/// their first reader, or last: what else there is runs meanwhile.
void placeLate(std::vector<const OpNode *> &nodes);

} // namespace ltc::backend
