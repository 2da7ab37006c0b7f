//===- element_type.cpp - ltc::DType as MLIR element types ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/dialect/element_type.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace ltc::compiler {

Type memoryType(MLIRContext *context, DType dtype) {
  Builder b(context);
  switch (dtype) {
  case DType::Bool:
  case DType::U8:
  case DType::I8:
    return b.getI8Type();
  case DType::I16:
  case DType::U16:
    return b.getI16Type();
  case DType::I32:
  case DType::U32:
    return b.getI32Type();
  case DType::I64:
  case DType::U64:
    return b.getI64Type();
  case DType::F16:
    return b.getF16Type();
  case DType::BF16:
    return b.getBF16Type();
  case DType::F32:
    return b.getF32Type();
  case DType::F64:
    return b.getF64Type();
  case DType::C32:
    return ComplexType::get(b.getF16Type());
  case DType::C64:
    return ComplexType::get(b.getF32Type());
  case DType::C128:
    return ComplexType::get(b.getF64Type());
  case DType::F8E4M3FN:
    return Float8E4M3FNType::get(context);
  case DType::F8E5M2:
    return Float8E5M2Type::get(context);
  }
  llvm_unreachable("every dtype is listed");
}

Type elementType(MLIRContext *context, DType dtype) {
  return dtype == DType::Bool ? IntegerType::get(context, 1)
                              : memoryType(context, dtype);
}

RankedTensorType tensorType(MLIRContext *context, const TensorType &type) {
  SmallVector<int64_t> shape;
  for (int64_t dim : type.dims)
    shape.push_back(isSymbolic(dim) ? ShapedType::kDynamic : dim);
  return RankedTensorType::get(shape, memoryType(context, type.dtype));
}

Type valueType(MLIRContext *context, const ValueType &type) {
  if (type.isScalar)
    return elementType(context, type.tensor.dtype);
  return tensorType(context, type.tensor);
}

int64_t elementBytes(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type))
    return 2 * elementBytes(complex.getElementType());
  return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
}

std::optional<DType> impliedDType(Type type) {
  if (type.isInteger(1))
    return DType::Bool;
  Type element = getElementTypeOrSelf(type);
  for (DType dtype : {DType::I8, DType::I16, DType::I32, DType::I64, DType::F16,
                      DType::BF16, DType::F32, DType::F64, DType::C32,
                      DType::C64, DType::C128, DType::F8E4M3FN, DType::F8E5M2})
    if (element == memoryType(type.getContext(), dtype))
      return dtype;
  return std::nullopt;
}

ValueType graphType(Type type, DType dtype) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped)
    return ValueType::scalar(dtype);
  TensorType tensor{dtype, {}};
  for (int64_t dim : shaped.getShape())
    tensor.dims.push_back(dim);
  return {tensor, false};
}

} // namespace ltc::compiler
