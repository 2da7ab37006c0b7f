//===- op_call.h - An ATen call as a lowering sees it -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/ops/value.h"

#include "mlir/IR/Attributes.h"

namespace ltc::compiler {

class OpOp;

/// Type of one result.
struct ResultType {
  mlir::RankedTensorType type;
  DType dtype;
  llvm::SmallVector<int64_t> sizes; ///< numbers or symbolic (sizes.h)

  int64_t rank() const { return type.getRank(); }
};

/// One ATen call: its arguments by schema name, its results' types. Asking for
/// an argument the op was not recorded with gives absent, or the default.
class OpCall {
public:
  struct Argument {
    std::string name;
    mlir::Attribute attribute; ///< when neither an operand nor a list
    Value value;               ///< operand, or literal number
    Values list;               ///< of a tensor list; absent elements are None
    bool isList = false;
    bool isOperand = false;
  };

  OpCall() = default;
  explicit OpCall(OpOp op);

  /// The operand, or a number attribute as a literal; absent when None.
  Value operator[](llvm::StringRef name) const;
  /// Present and not None.
  bool has(llvm::StringRef name) const;
  const Values &list(llvm::StringRef name) const;

  // Attributes.
  int64_t integer(llvm::StringRef name, int64_t otherwise = 0) const;
  double real(llvm::StringRef name, double otherwise = 0) const;
  bool flag(llvm::StringRef name, bool otherwise = false) const;
  llvm::StringRef text(llvm::StringRef name,
                       llvm::StringRef otherwise = "") const;
  std::optional<DType> dtype(llvm::StringRef name) const;
  llvm::SmallVector<int64_t> integers(llvm::StringRef name) const;
  llvm::SmallVector<double> reals(llvm::StringRef name) const;
  llvm::SmallVector<bool> flags(llvm::StringRef name) const;

  /// A dimension of `of` (default: the first tensor operand), counted from 0.
  int64_t dim(llvm::StringRef name, int64_t otherwise = 0,
              Value of = Value()) const;
  /// Dimensions, counted from 0, ascending; all of them when None or empty.
  llvm::SmallVector<int64_t> dims(llvm::StringRef name,
                                  Value of = Value()) const;

  size_t resultCount() const { return results.size(); }
  ResultType result(size_t index = 0) const { return results[index]; }

  /// Whether a tensor, or a result, has a symbolic size.
  bool hasSymbolicSize() const;
  /// Whether an integer argument is a formula.
  bool hasSymbolicArgument() const;

  std::string op;                  ///< "aten::add.Tensor"
  std::vector<Argument> arguments; ///< in schema order
  std::vector<ResultType> results;
  int64_t site = 0;

private:
  const Argument *find(llvm::StringRef name) const;
  Value self() const;
};

/// The overload's base: "add" of "aten::add.Tensor".
llvm::StringRef baseName(llvm::StringRef op);

} // namespace ltc::compiler
