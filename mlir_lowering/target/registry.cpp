//===- registry.cpp - The kinds of targets ----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/target_backend.h"

namespace ltc::compiler {

// targets.def has a row for each folder beside this file (CMakeLists.txt).
namespace targets {
#define LTC_TARGET(kind) const TargetBackend &kind();
#include "mlir_lowering/target/targets.def"
#undef LTC_TARGET
} // namespace targets

Result<const TargetBackend *> findBackend(const std::string &kind) {
  std::string kinds;
#define LTC_TARGET(name)                                                       \
  if (kind == #name)                                                           \
    return &targets::name();                                                   \
  kinds += kinds.empty() ? #name : ", " #name;
#include "mlir_lowering/target/targets.def"
#undef LTC_TARGET
  return Error{ErrorCode::Unsupported,
               Stage::Codegen,
               "the compiler has no code generator for target kind '" + kind +
                   "'",
               {},
               {},
               "the kinds that it has are: " + kinds};
}

} // namespace ltc::compiler
