//===- convert.cpp - Between torch's values and ltc's -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "convert.h"

#include <ATen/core/jit_type.h>

#include <array>

namespace ltc::backend {

using c10::IValue;
using c10::TypeKind;

/// In the order of DType.
static constexpr std::array kScalarTypes = {
    at::kBool,        at::kByte,        at::kChar,         at::kShort,
    at::kInt,         at::kLong,        at::kHalf,         at::kBFloat16,
    at::kFloat,       at::kDouble,      at::kComplexFloat, at::kComplexDouble,
    at::kUInt16,      at::kUInt32,      at::kUInt64,       at::kFloat8_e4m3fn,
    at::kFloat8_e5m2, at::kComplexHalf,
};
static_assert(kScalarTypes.size() == size_t(DType::C32) + 1);

at::ScalarType toScalarType(DType dtype) { return kScalarTypes[size_t(dtype)]; }

std::optional<DType> toDType(at::ScalarType type) {
  static constexpr uint8_t kNone = 0xff;
  static constexpr auto table = [] {
    std::array<uint8_t, size_t(at::ScalarType::NumOptions)> table{};
    table.fill(kNone);
    for (size_t i = 0; i < kScalarTypes.size(); ++i)
      table[size_t(kScalarTypes[i])] = uint8_t(i);
    return table;
  }();
  if (size_t(type) >= table.size() || table[size_t(type)] == kNone)
    return std::nullopt;
  return DType(table[size_t(type)]);
}

/// The type under any number of optionals. Types are held by the schema.
static const c10::Type &withoutOptional(const c10::Type &type) {
  const c10::Type *inner = &type;
  while (inner->kind() == TypeKind::OptionalType)
    inner = inner->castRaw<c10::OptionalType>()->getElementType().get();
  return *inner;
}

/// The element type of a list, or nullptr.
static const c10::Type *elementOf(const c10::Type &type) {
  if (type.kind() != TypeKind::ListType)
    return nullptr;
  return &withoutOptional(*type.castRaw<c10::ListType>()->getElementType());
}

static const c10::Type &typeOf(const c10::Argument &argument) {
  return withoutOptional(*argument.real_type());
}

ArgumentKind kindOf(const c10::Argument &argument) {
  const c10::Type &type = typeOf(argument);
  const c10::Type *element = elementOf(type);
  switch (element ? element->kind() : type.kind()) {
  case TypeKind::TensorType:
    return element ? ArgumentKind::TensorList : ArgumentKind::Tensor;
  case TypeKind::NumberType:
    return element ? ArgumentKind::ScalarList : ArgumentKind::Scalar;
  case TypeKind::FloatType:
    return element ? ArgumentKind::FloatList : ArgumentKind::Float;
  case TypeKind::IntType:
  case TypeKind::SymIntType:
    return ArgumentKind::Attribute;
  case TypeKind::BoolType:
    if (!element && argument.name() == "pin_memory")
      return ArgumentKind::Placement;
    return ArgumentKind::Attribute;
  case TypeKind::DeviceObjType:
  case TypeKind::GeneratorType:
  case TypeKind::LayoutType:
    return element ? ArgumentKind::Refused : ArgumentKind::Placement;
  case TypeKind::StringType:
  case TypeKind::ScalarTypeType:
  case TypeKind::MemoryFormatType:
    return element ? ArgumentKind::Refused : ArgumentKind::Attribute;
  default:
    return ArgumentKind::Refused;
  }
}

//===----------------------------------------------------------------------===//
// IValue to Attribute
//===----------------------------------------------------------------------===//

static std::optional<Attribute> listToAttribute(const IValue &value) {
  if (value.isIntList())
    return value.toIntVector();
  if (value.isDoubleList())
    return value.toDoubleVector();
  if (value.isBoolList()) {
    auto list = value.toBoolList();
    return std::vector<bool>(list.begin(), list.end());
  }
  if (!value.isList())
    return std::nullopt;
  // A Scalar[] comes as a generic list. It has one attribute only when its
  // elements agree, since ints and floats promote differently.
  std::vector<int64_t> ints;
  std::vector<double> reals;
  std::vector<bool> bools;
  auto elements = value.toListRef();
  for (const IValue &element : elements) {
    if (element.isInt())
      ints.push_back(element.toInt());
    else if (element.isDouble())
      reals.push_back(element.toDouble());
    else if (element.isBool())
      bools.push_back(element.toBool());
    else
      return std::nullopt;
  }
  if (reals.size() == elements.size() && !reals.empty())
    return reals;
  if (bools.size() == elements.size() && !bools.empty())
    return bools;
  if (ints.size() == elements.size())
    return ints;
  return std::nullopt;
}

std::optional<Attribute> toAttribute(const IValue &value,
                                     const c10::Argument &argument) {
  if (value.isNone())
    return std::monostate();
  ArgumentKind kind = kindOf(argument);
  if (kind == ArgumentKind::Tensor || kind == ArgumentKind::TensorList ||
      kind == ArgumentKind::Placement || kind == ArgumentKind::Refused)
    return std::nullopt;
  if (value.isList())
    return listToAttribute(value);
  if (value.isBool())
    return value.toBool();
  if (value.isDouble())
    return value.toDouble();
  if (value.isString())
    return value.toStringRef();
  if (value.isComplexDouble()) {
    c10::complex<double> number = value.toComplexDouble();
    return std::vector<double>{number.real(), number.imag()};
  }
  if (!value.isInt()) // a symbolic number
    return std::nullopt;
  TypeKind type = typeOf(argument).kind();
  if (type == TypeKind::ScalarTypeType) {
    if (auto dtype = toDType(at::ScalarType(value.toInt())))
      return *dtype;
    return std::nullopt;
  }
  if (type == TypeKind::FloatType)
    return double(value.toInt());
  return value.toInt();
}

//===----------------------------------------------------------------------===//
// Attribute to IValue
//===----------------------------------------------------------------------===//

static std::optional<int64_t> asInt(const Attribute &attribute) {
  if (auto *integer = std::get_if<int64_t>(&attribute))
    return *integer;
  if (auto *flag = std::get_if<bool>(&attribute))
    return int64_t(*flag);
  return std::nullopt;
}

static std::optional<double> asReal(const Attribute &attribute) {
  if (auto *real = std::get_if<double>(&attribute))
    return *real;
  if (auto integer = asInt(attribute))
    return double(*integer);
  return std::nullopt;
}

/// Scalar[] is a generic list in which each element keeps its own type.
template <typename T> static IValue scalarList(const std::vector<T> &elements) {
  c10::List<at::Scalar> list;
  list.reserve(elements.size());
  for (T element : elements)
    list.push_back(at::Scalar(element));
  return list;
}

template <typename T> static IValue boolList(const std::vector<T> &elements) {
  c10::List<bool> list;
  list.reserve(elements.size());
  for (T element : elements)
    list.push_back(bool(element));
  return list;
}

static std::optional<IValue> toListIValue(const Attribute &attribute,
                                          TypeKind element) {
  return std::visit(
      [&](const auto &elements) -> std::optional<IValue> {
        using V = std::decay_t<decltype(elements)>;
        constexpr bool isInts = std::is_same_v<V, std::vector<int64_t>>;
        constexpr bool isReals = std::is_same_v<V, std::vector<double>>;
        constexpr bool isBools = std::is_same_v<V, std::vector<bool>>;
        if constexpr (isInts || isReals || isBools) {
          bool empty = elements.empty();
          if (element == TypeKind::NumberType)
            return scalarList(elements);
          if (element == TypeKind::FloatType && (!isBools || empty))
            return IValue(
                std::vector<double>(elements.begin(), elements.end()));
          if (element == TypeKind::BoolType && (isBools || empty))
            return boolList(elements);
          if ((element == TypeKind::IntType ||
               element == TypeKind::SymIntType) &&
              (isInts || empty))
            return IValue(
                std::vector<int64_t>(elements.begin(), elements.end()));
        }
        return std::nullopt;
      },
      attribute);
}

/// `int[2] stride` takes one number for both.
static std::optional<IValue> repeated(const Attribute &attribute,
                                      TypeKind element, size_t count) {
  if (element == TypeKind::BoolType)
    if (auto *flag = std::get_if<bool>(&attribute))
      return boolList(std::vector<bool>(count, *flag));
  if (element == TypeKind::IntType || element == TypeKind::SymIntType)
    if (auto *integer = std::get_if<int64_t>(&attribute))
      return IValue(std::vector<int64_t>(count, *integer));
  if (element == TypeKind::FloatType)
    if (auto real = asReal(attribute))
      return IValue(std::vector<double>(count, *real));
  return std::nullopt;
}

static std::optional<IValue> toScalarIValue(const Attribute &attribute) {
  if (auto *flag = std::get_if<bool>(&attribute))
    return IValue(*flag);
  if (auto *integer = std::get_if<int64_t>(&attribute))
    return IValue(*integer);
  if (auto *real = std::get_if<double>(&attribute))
    return IValue(*real);
  auto *parts = std::get_if<std::vector<double>>(&attribute);
  if (parts && parts->size() == 2)
    return IValue(c10::complex<double>((*parts)[0], (*parts)[1]));
  return std::nullopt;
}

std::optional<IValue> toIValue(const Attribute &attribute,
                               const c10::Argument &argument) {
  bool optional = argument.real_type()->kind() == TypeKind::OptionalType;
  if (std::holds_alternative<std::monostate>(attribute))
    return optional ? std::optional(IValue()) : std::nullopt;
  const c10::Type &type = typeOf(argument);
  if (const c10::Type *element = elementOf(type)) {
    if (auto list = toListIValue(attribute, element->kind()))
      return list;
    if (argument.N())
      return repeated(attribute, element->kind(), size_t(*argument.N()));
    return std::nullopt;
  }
  switch (type.kind()) {
  case TypeKind::BoolType:
    if (auto *flag = std::get_if<bool>(&attribute))
      return IValue(*flag);
    return std::nullopt;
  case TypeKind::IntType:
  case TypeKind::SymIntType:
  case TypeKind::LayoutType:
  case TypeKind::MemoryFormatType:
    if (auto integer = asInt(attribute))
      return IValue(*integer);
    return std::nullopt;
  case TypeKind::FloatType:
    if (auto real = asReal(attribute))
      return IValue(*real);
    return std::nullopt;
  case TypeKind::NumberType:
    return toScalarIValue(attribute);
  case TypeKind::StringType:
    if (auto *text = std::get_if<std::string>(&attribute))
      return IValue(*text);
    return std::nullopt;
  case TypeKind::ScalarTypeType:
    if (auto *dtype = std::get_if<DType>(&attribute))
      return IValue(int64_t(toScalarType(*dtype)));
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

} // namespace ltc::backend
