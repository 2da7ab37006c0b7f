//===- plan.h - Where every tensor of @main lives ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/formula.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ltc::compiler {

class CallOp;

struct Storage {
  enum Place { Arena, Argument, Result };
  Place place = Arena;
  unsigned argument = 0; ///< of @main on memrefs, unless in the arena
  int64_t offset = 0;    ///< in the arena, if `bytes` is constant
  unsigned slot = 0;     ///< in the arena, if not
  Formula bytes;
  int64_t first = 0, last = 0; ///< positions in @main
};

/// Decides, changes nothing but which results are donated. @main must be in the
/// form that outlineKernels leaves: calls of kernels and of the library, views,
/// scalars.
class BufferPlan {
public:
  /// Without `reuse`, temporaries have memory of their own.
  BufferPlan(mlir::func::FuncOp main, bool reuse);

  const Storage &of(mlir::Value tensor) const {
    return storages[storageNumber.lookup(tensor)];
  }

  /// The kernel updates an operand that must survive: copy it first.
  struct Copy {
    mlir::func::CallOp call;
    unsigned argument, result;
  };
  llvm::SmallVector<Copy> copies;
  /// Results that could not be computed in their place.
  llvm::SmallVector<std::pair<mlir::Value, unsigned>> finalCopies;
  /// Whether donated memory may have been written to before the call has run.
  bool isSpoilt(mlir::Operation *call) const;
  /// For each result of @main the argument whose memory it is, or -1.
  llvm::SmallVector<int64_t> donated;
  /// The arena: a part for everything of constant size, then slots.
  int64_t arenaBytes = 0;
  llvm::SmallVector<Formula> slots;

private:
  Storage &open(mlir::Value value, Storage::Place place, int64_t first);
  void findLastUses(mlir::Block &body);
  void visit(mlir::Operation *op);
  void visitKernel(mlir::func::CallOp call);
  void findDonations(mlir::Operation *ret);
  void findLastCheck(mlir::Block &body);
  bool keepsUntilChecked(mlir::Value result) const;
  bool takeOffer(mlir::OpResult result);
  bool mayOverwrite(mlir::func::CallOp call, mlir::OpResult result,
                    mlir::Value tensor);
  bool mayOverwriteBy(CallOp call, mlir::OpResult result, mlir::Value argument);
  bool takeOver(mlir::Value operand, mlir::OpResult result);
  bool overwriteInput(CallOp call, mlir::OpResult result);
  bool isOnlyInput(CallOp call, unsigned input, unsigned storage);
  void placeResults();
  void placeTemporaries(bool reuse);

  mlir::func::FuncOp main;
  std::vector<Storage> storages;
  llvm::DenseMap<mlir::Value, unsigned> storageNumber;
  llvm::DenseMap<mlir::Value, int64_t> lastUse;
  llvm::DenseMap<mlir::Value, unsigned> offered;
  llvm::DenseMap<mlir::Operation *, int64_t> positions;
  int64_t lastCheck = -1; ///< position of the last op that may fail
  int64_t firstWrite = std::numeric_limits<int64_t>::max(); ///< to an argument
};

} // namespace ltc::compiler
