//===- record/direct_kernel.h - Kernels that record known calls -*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/tensors/op_info.h"

#include <torch/library.h>

namespace ltc::backend {

/// Gives a recorded op that has no Functionalize kernel one that tries this,
/// and one in front of autograd's (no_grad.h) if that is asked for and the
/// op's arguments are among the commonest. `library` is aten's on
/// Functionalize, `name` the op's without the namespace.
void registerDirectKernel(torch::Library &library, const char *name,
                          const OpInfo &info, bool overAutograd);

} // namespace ltc::backend
