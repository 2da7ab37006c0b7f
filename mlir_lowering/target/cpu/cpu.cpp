//===- cpu.cpp - Which CPU code is generated for ----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/cpu/cpu.h"
#include "mlir_lowering/target/llvm/llvm.h"
#include "mlir_lowering/target/loops/tile_kernel.h"

#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"

namespace ltc::compiler {

static std::string hostFeatures() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  std::vector<std::string> names;
  for (const auto &feature : features)
    names.push_back((feature.second ? "+" : "-") + feature.first().str());
  llvm::sort(names, [](llvm::StringRef a, llvm::StringRef b) {
    return a.drop_front() < b.drop_front();
  });
  return llvm::join(names, ",");
}

Target CpuBackend::resolve(Target target) const {
  if (target.triple.empty())
    target.triple = llvm::sys::getProcessTriple();
  if (target.cpu.empty()) {
    target.cpu = llvm::sys::getHostCPUName().str();
    if (target.features.empty())
      target.features = hostFeatures();
  }
  return target;
}

static int64_t vectorBitsOf(const Target &target) {
  llvm::StringRef features = target.features;
  auto has = [&](llvm::StringRef name) {
    return features.contains("+" + name.str());
  };
  if (has("avx512f") && has("avx512vl") && has("avx512bw") && has("avx512dq"))
    return 512;
  return has("avx2") ? 256 : 128;
}

Tuning CpuBackend::tuning(const Target &target) const {
  Tuning tuning;
  tuning.facts.vector_bits = vectorBitsOf(target);
  return tuning;
}

mlir::LogicalResult CpuBackend::schedule(mlir::func::FuncOp kernel,
                                         const Schedule &schedule) const {
  return tileKernel(kernel, schedule);
}

mlir::LogicalResult CpuBackend::lower(mlir::ModuleOp part,
                                      const TargetFacts &facts) const {
  return lowerToLlvm(part, facts.vector_bits);
}

namespace targets {
const TargetBackend &cpu() {
  static const CpuBackend backend;
  return backend;
}
} // namespace targets

} // namespace ltc::compiler
