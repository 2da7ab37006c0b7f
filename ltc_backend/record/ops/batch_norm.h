//===- ops/batch_norm.h - The one op that writes without saying so --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <torch/library.h>

namespace ltc::backend {

/// The kernel of aten::native_batch_norm. `library` is aten's on the Lazy key.
void registerBatchNorm(torch::Library &library);

/// What records calls met before. `library` is aten's on the Functionalize key,
/// where the op has its wrapper already.
void registerDirectBatchNorm(torch::Library &library);

} // namespace ltc::backend
