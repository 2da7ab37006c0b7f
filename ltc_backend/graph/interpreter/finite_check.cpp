//===- interpreter/finite_check.cpp - Ops that make a NaN or an Inf -------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/interpreter/finite_check.h"

#include "ltc_backend/aten/clean_thread_state.h"
#include "ltc_backend/convert.h"
#include "ltc_backend/raise.h"

#include <ATen/ATen.h>

#include <bit>
#include <cmath>
#include <cstdio>

namespace ltc::backend {

namespace {
struct Found {
  int64_t nan = 0, inf = 0;

  Found &operator+=(const Found &other) {
    nan += other.nan;
    inf += other.inf;
    return *this;
  }
};
} // namespace

static bool isFractional(const at::Tensor &tensor) {
  return tensor.is_floating_point() || tensor.is_complex();
}

/// A sum over what is not finite is not finite, and is much the fastest test;
/// where one of large numbers is not, counting finds none.
static Found countIn(const at::Tensor &tensor) {
  if (!isFractional(tensor) || tensor.numel() == 0)
    return {};
  at::Tensor plain = tensor.is_complex() ? at::view_as_real(tensor) : tensor;
  if (std::isfinite(plain.sum(at::kDouble).item<double>()))
    return {};
  return {at::isnan(plain).sum().item<int64_t>(),
          at::isinf(plain).sum().item<int64_t>()};
}

static Found of(double number) {
  return {std::isnan(number), std::isinf(number)};
}

/// In the numbers that are arguments of the call.
static Found countInNumbers(const Node &call,
                            std::span<const OperandValue> operands) {
  Found found;
  for (const OperandValue &operand : operands)
    if (!operand.tensor && operand.dtype == DType::F64)
      found += of(std::bit_cast<double>(operand.bits));
  for (const Argument &argument : call.arguments) {
    const auto *attribute = std::get_if<Attribute>(&argument.value);
    if (!attribute)
      continue;
    if (const auto *number = std::get_if<double>(attribute))
      found += of(*number);
    if (const auto *list = std::get_if<std::vector<double>>(attribute))
      for (double number : *list)
        found += of(number);
  }
  return found;
}

static std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return text;
}

/// "f32[8] from -1 to 2, 3 of them Inf".
static std::string rangeOf(const at::Tensor &tensor) {
  std::string text =
      TensorType{*toDType(tensor.scalar_type()), tensor.sizes().vec()}.str();
  if (tensor.numel() == 0)
    return text + " is empty";
  if (tensor.scalar_type() == at::kBool)
    return text;
  at::Tensor plain = tensor.is_complex() ? at::view_as_real(tensor) : tensor;
  at::Tensor finite = plain.reshape({-1}).to(at::kDouble);
  finite = finite.masked_select(finite.isfinite());
  if (finite.numel() == 0)
    return text + " has no finite value";
  text += " from " + number(finite.min().item<double>()) + " to " +
          number(finite.max().item<double>());
  Found found = countIn(tensor);
  if (found.nan)
    text += ", " + std::to_string(found.nan) + " NaN";
  if (found.inf)
    text += ", " + std::to_string(found.inf) + " Inf";
  return text;
}

static std::string rangesOf(std::span<const OperandValue> operands) {
  std::string text;
  for (const OperandValue &operand : operands) {
    text += text.empty() ? "" : "; ";
    if (operand.tensor)
      text += rangeOf(*operand.tensor);
    else
      text += operand.dtype == DType::F64
                  ? "number " + number(std::bit_cast<double>(operand.bits))
                  : "number " + std::to_string(int64_t(operand.bits));
  }
  return text.empty() ? "it has no operands" : "its operands: " + text;
}

static Status check(const Node &call, std::span<const OperandValue> operands,
                    std::span<const at::Tensor> results, bool orInf) {
  for (size_t i = 0; i < results.size(); ++i) {
    Found made = countIn(results[i]);
    if (!made.nan && !(orInf && made.inf))
      continue;
    Found had = countInNumbers(call, operands);
    for (const OperandValue &operand : operands)
      if (operand.tensor)
        had += countIn(*operand.tensor);
    const bool isNan = made.nan && !had.nan;
    if (!isNan && !(orInf && made.inf && !had.inf && !had.nan))
      continue;
    Error error;
    error.code = ErrorCode::NotFinite;
    error.message = "it made " + std::to_string(isNan ? made.nan : made.inf) +
                    (isNan ? " NaN" : " Inf") + " of " +
                    std::to_string(results[i].numel()) +
                    " values, and no operand has any; " + rangesOf(operands);
    error.hint = isNan ? "keep the operands in the op's domain, as by clamp() "
                         "or an epsilon"
                       : "keep the operands small enough, or look for NaN "
                         "alone: torch_ltc.detect_nan(inf=False)";
    return error;
  }
  return {};
}

Status checkFinite(const Node &call, std::span<const OperandValue> operands,
                   std::span<const at::Tensor> results, bool orInf) {
  try {
    CleanThreadState clean;
    return check(call, operands, results, orInf);
  } catch (...) { // no memory for it
    return currentError(Stage::Execute, call.op);
  }
}

} // namespace ltc::backend
