//===- places.h - Where the operands of a step are --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/artifact.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ltc::compiler {

/// The memory that a memref of @main shows: elements from `begin` bytes plus
/// `offset` elements behind a base. Sizes as in sizes.h.
struct Place {
  uint32_t base, index; ///< as in ltc_word
  int64_t begin = 0, offset = 0;
  llvm::SmallVector<int64_t> sizes, strides; ///< in elements
};

/// What @main's values are as words of a program. Adds formulas to the artifact
/// as they are needed.
class Places {
public:
  /// The arguments of @main are the inputs, the results that are not donated,
  /// and the parts of the arena.
  Places(mlir::func::FuncOp main, Artifact &artifact);

  Place of(mlir::Value memref);
  /// Of a memref its address; of a scalar its bits. Fails where the value is
  /// neither given nor a constant.
  llvm::FailureOr<ltc_word> word(mlir::Value value);
  /// A power of two, up to `most`, of which a memref's address is a multiple if
  /// its base is one of `most`.
  int64_t alignment(mlir::Value memref, int64_t most);
  /// A size of the compiler's as a number of the artifact's.
  int64_t number(int64_t size);

private:
  /// How many bytes it begins behind its base.
  int64_t amountOf(mlir::Value memref, const Place &place);
  Place placeOf(mlir::BlockArgument argument);

  mlir::func::FuncOp main;
  Artifact &artifact;
  size_t inputs;                       ///< of @main's arguments
  llvm::SmallVector<uint32_t> results; ///< that come behind them
  llvm::StringMap<int64_t> formulas;   ///< numbers by text
};

} // namespace ltc::compiler
