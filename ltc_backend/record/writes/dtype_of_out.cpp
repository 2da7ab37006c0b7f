//===- writes/dtype_of_out.cpp - Reductions in the dtype of out= ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/writes/dtype_of_out.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/logsumexp_native.h>

#include <map>

namespace ltc::backend {
using c10::IValue;

DtypeOfOut::DtypeOfOut(const c10::OperatorHandle &op)
    : count(op.schema().arguments().size()) {
  static const auto *ways = new std::map<std::string, Way>{
      {"aten::mean", Way::ByArgument},    {"aten::nansum", Way::ByArgument},
      {"aten::prod", Way::ByArgument},    {"aten::sum", Way::ByArgument},
      {"aten::std", Way::ConvertFloats},  {"aten::var", Way::ConvertFloats},
      {"aten::all", Way::ConvertToBytes}, {"aten::any", Way::ConvertToBytes},
      {"aten::logsumexp", Way::Compose}};
  const c10::FunctionSchema &schema = op.schema();
  auto found = ways->find(schema.name());
  if (found == ways->end() || !schema.arguments().back().is_out())
    return;
  way = found->second;
  if (way != Way::ByArgument)
    return;
  std::optional<int> place = schema.argumentIndexWithName("dtype");
  if (!place || !schema.argumentIndexWithName("dim"))
    way = Way::None;
  dtype = size_t(place.value_or(0));
  takesAnyDtype = schema.name() == "aten::sum" || schema.name() == "aten::prod";
}

static bool isInexact(const at::Tensor &tensor) {
  return tensor.is_floating_point() || tensor.is_complex();
}

/// Whether one element is all that is left, which eager then computes in
/// float64 for any dtype of more than 16 bits.
static bool isOne(const at::Tensor &self, const IValue &dims) {
  int64_t left = self.numel();
  if (!dims.isIntList() || dims.toIntList().empty())
    return true;
  for (int64_t dim : dims.toIntVector())
    if (dim >= -self.dim() && dim < self.dim() && left)
      left /= self.size(dim);
  return left == 1;
}

bool DtypeOfOut::wasCalled(torch::jit::Stack &stack) const {
  if (way == Way::None)
    return false;
  const at::Tensor out = stack.back().toTensor();
  IValue &first = torch::jit::peek(stack, 0, count);
  const at::Tensor self = first.toTensor();
  switch (way) {
  case Way::ByArgument:
    if (IValue &given = torch::jit::peek(stack, dtype, count);
        given.isNone() &&
        (takesAnyDtype || (isInexact(self) && isInexact(out))))
      given = out.scalar_type();
    return false;
  case Way::ConvertFloats:
    if (out.scalar_type() == at::kFloat || out.scalar_type() == at::kDouble) {
      if (self.is_complex())
        first = self.to(at::toComplexType(out.scalar_type()));
      else if (!isOne(self, torch::jit::peek(stack, 1, count)))
        first = self.to(out.scalar_type());
    } else if (self.is_floating_point() && out.is_floating_point()) {
      first = self.to(out.scalar_type());
    }
    return false;
  case Way::ConvertToBytes:
    if (out.scalar_type() == at::kByte)
      first = self.to(at::kByte);
    return false;
  case Way::Compose: {
    if (self.scalar_type() == out.scalar_type())
      return false;
    auto dims = torch::jit::peek(stack, 1, count).toIntVector();
    bool keeps = torch::jit::peek(stack, 2, count).toBool();
    at::Tensor made = out;
    at::native::logsumexp_out(self, dims, keeps, made);
    torch::jit::drop(stack, count);
    torch::jit::push(stack, std::move(made));
    return true;
  }
  default:
    return false;
  }
}

} // namespace ltc::backend
