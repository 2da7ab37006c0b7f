//===- ops/packed_sequence.h - Sequences packed by length -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

namespace ltc::backend {

/// Records torch.nn.utils.rnn's packing and padding as one gather each, whose
/// rows are numbers of run time: other lengths are the same graph.
void registerPackedSequence();

} // namespace ltc::backend
