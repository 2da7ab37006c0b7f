//===- op_table.h - One row for each ATen op --------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row is a name and a lowering. An op without a row, or whose row does not
// accept the call, becomes a library call. docs/adding-an-op.md shows how.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/ops/emit.h"

#include <functional>
#include <initializer_list>
#include <map>
#include <type_traits>

namespace ltc::compiler {

/// The elements of a pointwise call by argument name. Tensors and host scalars
/// are in the dtype of the computation, Bool tensors stay Bool.
class Elements {
public:
  Elements(const OpCall &op, llvm::ArrayRef<Value> values)
      : op(op), values(values) {}
  /// Absent when None, literal when a number attribute.
  Value operator[](llvm::StringRef name) const;
  /// By position in the schema, for names that differ between overloads.
  Value at(size_t position) const { return values[position]; }

  const OpCall &op; ///< for attributes

private:
  llvm::ArrayRef<Value> values; ///< parallel to op.arguments
};

struct Row {
  using Lowering = std::function<Values(Emit &, const OpCall &)>;
  using Condition = std::function<bool(const OpCall &)>;

  enum class Kind { Pointwise, Structured };
  Kind kind = Kind::Structured;
  Lowering lower;
  Condition condition;
  bool takesAnyDType = false;
  bool takesAnySize = false;

  /// Takes the call only if this holds too; else it is a library call.
  Row &when(Condition holds) {
    condition = std::move(holds);
    return *this;
  }
  /// For data movement: complex and 8-bit floats as well.
  Row &anyDType() {
    takesAnyDType = true;
    return *this;
  }
  /// For a structured row that only compares and passes on sizes and integer
  /// arguments, or computes with them through Emit: they may be symbolic.
  /// Another row leaves a call with a symbolic size to the library.
  Row &anySize() {
    takesAnySize = true;
    return *this;
  }
  /// Whether this row lowers the call.
  bool accepts(const OpCall &op) const;
};

/// How a 16-bit float's call takes numbers, and tensors of other dtypes:
/// as they are, or first rounded to what its own elements are stored as. Eager
/// does the latter unless the kernel asks for the number, as mul and div do for
/// their second operand.
enum class Operands { AsTheyAre, FirstAsStored, AsStored };

/// One name, or several that share a row.
struct RowNames {
  RowNames(const char *name) : names{name} {}
  RowNames(std::initializer_list<const char *> names) : names(names) {}
  llvm::SmallVector<const char *, 2> names;
};

class OpTable {
public:
  /// The table of all families. Built once; safe from any thread.
  static const OpTable &get();

  /// An element for an element. `f(Scalar, Value...)` receives the arguments
  /// that are tensors, numbers, bools or None, in schema order, absent where
  /// missing; `f(Scalar, const Elements &)` picks them by name. They come in
  /// the dtype of the result, for a Bool result in the operands' common dtype
  /// (16-bit floats as F32); Bool tensors stay Bool. What f returns is cast to
  /// the dtype of the result.
  template <typename F>
  Row &pointwise(RowNames names, F f, Operands operands = Operands::AsTheyAre) {
    return add(names, {Row::Kind::Pointwise,
                       pointwiseLowering(elementwise(f), operands),
                       {},
                       false,
                       false});
  }
  /// `Value` or `Values f(Emit &, const OpCall &)`: one value for each result.
  template <typename F> Row &structured(RowNames names, F f) {
    return add(names,
               {Row::Kind::Structured,
                [f](Emit &e, const OpCall &op) -> Values {
                  if constexpr (std::is_same_v<decltype(f(e, op)), Value>)
                    return {f(e, op)};
                  else
                    return f(e, op);
                },
                {},
                false,
                false});
  }

  /// The row of that name, or nullptr.
  const Row *find(llvm::StringRef op) const;
  /// The row that lowers the call, or nullptr: a library call.
  const Row *match(const OpCall &op) const;
  /// Every name, sorted.
  std::vector<std::string> names() const;

private:
  using Elementwise = std::function<Value(Scalar, const Elements &,
                                          llvm::ArrayRef<Value> inOrder)>;
  Row &add(RowNames names, Row row);
  static Row::Lowering pointwiseLowering(Elementwise f, Operands operands);

  template <typename F, size_t... I>
  static Value call(const F &f, Scalar s, llvm::ArrayRef<Value> v,
                    std::index_sequence<I...>) {
    return f(s, (I < v.size() ? v[I] : Value())...);
  }
  template <typename F> static constexpr size_t arity() {
    if constexpr (std::is_invocable_v<F, Scalar, Value>)
      return 1;
    else if constexpr (std::is_invocable_v<F, Scalar, Value, Value>)
      return 2;
    else if constexpr (std::is_invocable_v<F, Scalar, Value, Value, Value>)
      return 3;
    else if constexpr (std::is_invocable_v<F, Scalar, Value, Value, Value,
                                           Value>)
      return 4;
    else if constexpr (std::is_invocable_v<F, Scalar, Value, Value, Value,
                                           Value, Value>)
      return 5;
    else
      return 6;
  }
  template <typename F> static Elementwise elementwise(F f) {
    if constexpr (std::is_invocable_v<F, Scalar, const Elements &>)
      return [f](Scalar s, const Elements &x, llvm::ArrayRef<Value>) -> Value {
        return f(s, x);
      };
    else
      return [f](Scalar s, const Elements &, llvm::ArrayRef<Value> v) -> Value {
        return call(f, s, v, std::make_index_sequence<arity<F>()>());
      };
  }

  std::vector<std::unique_ptr<Row>> rows;
  std::map<std::string, Row *, std::less<>> byName;
};

// The families, one file each.
void addPointwiseOps(OpTable &t);
void addActivationOps(OpTable &t);
void addCompareOps(OpTable &t);
void addReduceOps(OpTable &t);
void addNormalizeOps(OpTable &t);
void addReshapeOps(OpTable &t);
void addIndexOps(OpTable &t);
void addJoinOps(OpTable &t);
void addCreateOps(OpTable &t);
void addRandomOps(OpTable &t);
void addPoolOps(OpTable &t);
void addResizeOps(OpTable &t);
void addLossOps(OpTable &t);
void addOptimizerOps(OpTable &t);

} // namespace ltc::compiler
