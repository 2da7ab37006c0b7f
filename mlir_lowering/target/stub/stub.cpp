//===- stub.cpp - The smallest target of its own ----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The CPU's code for a machine with two threads, vectors of eight floats, and
// no library for products. Nothing outside this folder names it:
// tests/lit/target shows that a kind of target is a folder.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/cpu/cpu.h"

namespace ltc::compiler {
namespace {

class StubBackend final : public CpuBackend {
public:
  Tuning tuning(const Target &target) const override {
    Tuning tuning = CpuBackend::tuning(target);
    tuning.facts.vector_bits = 256;
    tuning.facts.enough_parts = 2;
    tuning.facts.product_work = 1LL << 40;
    tuning.add({kind::kPointwise.str(), "", "tile", 1024, "stub"});
    return tuning;
  }
};

} // namespace

namespace targets {
const TargetBackend &stub() {
  static const StubBackend backend;
  return backend;
}
} // namespace targets

} // namespace ltc::compiler
