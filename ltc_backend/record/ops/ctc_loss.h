//===- ops/ctc_loss.h - CTC loss with lengths in tensors --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <torch/library.h>

namespace ltc::backend {

/// Records aten::_ctc_loss and its gradient, with lengths in lists or tensors,
/// as calls whose shapes do not depend on the lengths: nobody but the gradient
/// looks at log_alpha, so it has columns for the longest target that there can
/// be. Other lengths are no other graph. `library` is aten's on the Lazy key.
void registerCtcLoss(torch::Library &library);

} // namespace ltc::backend
