//===- views/conjugate.h - Conjugates without a bit -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Eager's x.conj() is x's memory with a bit that says how to read it; here it
// is a view like others, and is_conj() is false. What asks for a tensor without
// the bit gets a copy in eager, which later writes to x do not reach.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace ltc::backend {

void registerConjugates();

} // namespace ltc::backend
