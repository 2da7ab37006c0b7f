//===- registers.h - What a block's threads keep of a tile ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops of a tile that share its elements alike hand them on in registers: a row
// is read once, and its temporaries need no memory. What other threads read
// goes through memory, with a barrier where one is needed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseMap.h"

namespace ltc::compiler {

class Registers {
public:
  using Values = llvm::SmallVector<mlir::Value>;

  /// How the elements of a tile are shared: `lanes` side by side for each
  /// thread in turn. No lanes: one value, which all threads have. Of a row that
  /// begins anywhere, one element more, behind or in front of the vectors.
  struct Sharing {
    int64_t extent = 1, lanes = 0;
    bool isPeeled = false;
    bool operator==(const Sharing &) const = default;
    bool isUniform() const { return lanes == 0; }
  };

  /// What each thread holds of a memref, one value for each turn; or nothing.
  const Values *find(mlir::Value memref, Sharing sharing) const;
  void hold(mlir::Value memref, Sharing sharing, Values values);

  /// How an op reaches a memref: its own elements, as shared, or any.
  struct Use {
    mlir::Value memref;
    bool isWrite;
    std::optional<Sharing> own{};
  };
  /// Begins an op: a barrier stands before it if it needs what other threads
  /// have written, or writes what they have read.
  void enter(mlir::linalg::GenericOp op, llvm::ArrayRef<Use> uses);
  /// What is held of memory that any thread may have written is outdated.
  void forget(mlir::Value memref);

private:
  struct Traffic { ///< of some memory since the last barrier
    bool isRead = false, isWritten = false;
    std::optional<Sharing> own; ///< if each thread reached its own elements
  };
  bool needsBarrier(const Use &use) const;
  void note(const Use &use);

  struct Held {
    Sharing sharing;
    Values values;
  };
  mlir::Block *block = nullptr;
  llvm::DenseMap<mlir::Value, Held> held;
  llvm::DenseMap<mlir::Value, Traffic> traffic; ///< by where memory comes from
};

/// Deletes temporaries of a kernel that nobody reads.
void eraseUnreadTemporaries(mlir::func::FuncOp kernel);

} // namespace ltc::compiler
