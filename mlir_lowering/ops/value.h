//===- value.h - What rows compute with -------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "mlir_lowering/dialect/sizes.h"

#include <cassert>

namespace ltc::compiler {

/// A tensor, an element inside a body, a host scalar, a literal number, or
/// absent (an argument that is None). Knows its dtype, which the MLIR type
/// alone does not tell. A literal has no dtype of its own: it takes that of
/// what it meets. A small value; valid as long as the IR it names.
class Value {
public:
  Value() = default;
  Value(mlir::Value ir, DType dtype)
      : kind(Kind::Ir), irValue(ir), type(dtype) {}
  Value(double number) : kind(Kind::Real), real(number) {}
  Value(int64_t number) : kind(Kind::Integer), integer(number) {}
  Value(int number) : Value(int64_t(number)) {}
  Value(bool flag) : kind(Kind::Flag), integer(flag) {}
  Value(const void *) = delete; // a pointer is no flag
  /// A host scalar: like a literal, it never decides a dtype within its kind.
  static Value host(mlir::Value ir, DType dtype) {
    Value value(ir, dtype);
    value.isHost = true;
    return value;
  }

  /// False when absent.
  explicit operator bool() const { return kind != Kind::Absent; }
  bool isLiteral() const {
    return kind == Kind::Real || kind == Kind::Integer || kind == Kind::Flag;
  }
  /// A literal double; dtype F64 stands for "some float".
  bool isReal() const { return kind == Kind::Real; }
  bool isFlag() const { return kind == Kind::Flag; }
  bool isTensor() const { return kind == Kind::Ir && tensorType(); }
  bool isHostScalar() const { return isHost; }
  /// True of literals and host scalars.
  bool isWeak() const { return isLiteral() || isHost; }

  /// The literal's value.
  double asReal() const { return kind == Kind::Real ? real : double(integer); }
  int64_t asInteger() const {
    return kind == Kind::Real ? int64_t(real) : integer;
  }

  mlir::Value ir() const {
    assert(kind == Kind::Ir);
    return irValue;
  }
  DType dtype() const {
    switch (kind) {
    case Kind::Real:
      return DType::F64;
    case Kind::Integer:
      return DType::I64;
    case Kind::Flag:
      return DType::Bool;
    default:
      return type;
    }
  }

  /// Tensors only.
  mlir::RankedTensorType tensorType() const {
    return irValue ? mlir::dyn_cast<mlir::RankedTensorType>(irValue.getType())
                   : mlir::RankedTensorType();
  }
  int64_t rank() const { return tensorType() ? tensorType().getRank() : 0; }
  /// Size of a dimension: a number, symbolic (sizes.h), or
  /// ShapedType::kDynamic when unknown. Only compare it; Emit computes.
  int64_t size(int64_t dim) const { return sizeOf(irValue, dim); }
  llvm::SmallVector<int64_t> sizes() const { return sizesOf(irValue); }
  /// Whether a size is 0. A symbolic one counts as another: where it is 0 at
  /// run time loops over it do not run.
  bool isEmpty() const {
    return llvm::is_contained(tensorType().getShape(), 0);
  }

private:
  enum class Kind : uint8_t { Absent, Real, Integer, Flag, Ir };
  Kind kind = Kind::Absent;
  union {
    double real;
    int64_t integer = 0;
  };
  mlir::Value irValue;
  DType type = DType::F32;
  bool isHost = false;
};

using Values = llvm::SmallVector<Value, 4>;

/// The dtype arithmetic on `dtype` is done in: F32 for the 16-bit floats.
DType computeDType(DType dtype);
/// The dtype sums of `dtype` are taken in: F32 or F64, I64 for integers and
/// bool.
DType sumDType(DType dtype);
/// PyTorch's type promotion: tensors with dimensions rank over 0-d tensors,
/// those over scalars and literals, within each kind the wider wins.
DType promote(llvm::ArrayRef<Value> values);
DType promote(DType a, DType b);
/// True for bool, integers and floats of 16 bits and up: what rows can do.
bool hasArithmetic(DType dtype);
/// True for U8, U16, U32, U64 and Bool.
bool isUnsigned(DType dtype);

} // namespace ltc::compiler
