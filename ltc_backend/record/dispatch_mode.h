//===- record/dispatch_mode.h - New tensors under a mode --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A TorchDispatchMode runs below functionalisation. What an op on functional
// tensors returns is wrapped on its way up, but an op that makes a tensor from
// none (torch.ones, cpu.to) has been past that layer: its result would come up
// bare, and know nothing of its views.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace ltc::backend {

/// Wraps what ops that take a device return to a program under a mode. Without
/// a mode their kernels are never called.
void registerForDispatchModes();

} // namespace ltc::backend
