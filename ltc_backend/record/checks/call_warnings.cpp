//===- checks/call_warnings.cpp - What eager's kernels warn of ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/checks/call_warnings.h"

#include "ltc_backend/record/checks/argument_kinds.h"
#include "ltc_backend/record/probe.h"
#include "ltc_backend/tensors/map_tensors.h"
#include "ltc_backend/warnings.h"

#include <ATen/ATen.h>

namespace ltc::backend {
using c10::IValue;
using ArgumentList = c10::ArrayRef<IValue>;

/// Of variances: whether there are no more elements than are taken off.
static bool hasNoFreedom(ArgumentList arguments) {
  const at::Tensor &self = arguments[0].toTensor();
  std::vector<int64_t> dims;
  if (arguments[1].isIntList())
    dims = arguments[1].toIntVector();
  int64_t count = dims.empty() ? self.numel() : 1;
  for (int64_t dim : dims)
    if (dim >= -self.dim() && dim < self.dim())
      count *= self.size(dim);
  double correction =
      arguments[2].isNone() ? 1 : arguments[2].toScalar().toDouble();
  return double(count) <= correction;
}

static bool dropsImaginary(ArgumentList arguments) {
  return arguments[0].toTensor().is_complex() && arguments[1].isInt() &&
         !at::isComplexType(at::ScalarType(arguments[1].toInt()));
}

template <bool (*isOne)(const at::Tensor &)>
static bool hasTensor(ArgumentList arguments) {
  bool found = false;
  for (const IValue &value : arguments)
    forEachTensor(value, [&](const at::Tensor &tensor) {
      found |= tensor.defined() && isOne(tensor);
    });
  return found;
}

static bool isStrided(const at::Tensor &tensor) {
  return !tensor.is_contiguous();
}

static bool isBytes(const at::Tensor &tensor) {
  return tensor.scalar_type() == at::kByte;
}

static bool maybe(ArgumentList) { return true; }

namespace {
/// Ops whose names begin like that may warn of a call that `is` so; tensors of
/// the kind `by` show of what.
struct Row {
  std::string_view name;
  bool (*is)(ArgumentList arguments);
  const ProbeMaker &by;
};
} // namespace

/// Found by a walk through the kernels (test_warnings.py).
static const Row *rowOf(const OpInfo &info) {
  static const Row rows[] = {
      {"aten::_to_copy", dropsImaginary, onCpuSmall},
      {"aten::_unsafe_index", hasTensor<isBytes>, onCpuSmall},
      {"aten::bucketize.Tensor", hasTensor<isStrided>, onCpu},
      {"aten::cholesky", maybe, onCpuSmall},
      {"aten::index.Tensor", hasTensor<isBytes>, onCpuSmall},
      {"aten::index_put", hasTensor<isBytes>, onCpuSmall},
      {"aten::index_reduce", maybe, onCpuSmall},
      {"aten::masked_scatter", hasTensor<isBytes>, onCpuSmall},
      {"aten::randint", maybe, onCpuSmall},
      {"aten::random.", maybe, onCpuSmall},
      {"aten::scatter.reduce", maybe, onCpuSmall},
      {"aten::searchsorted.Tensor", hasTensor<isStrided>, onCpu},
      {"aten::std.correction", hasNoFreedom, onCpuFlat},
      {"aten::std_mean.correction", hasNoFreedom, onCpuFlat},
      {"aten::triangular_solve", maybe, onCpuSmall},
      {"aten::var.correction", hasNoFreedom, onCpuFlat},
      {"aten::var_mean.correction", hasNoFreedom, onCpuFlat},
      {"aten::where.self", hasTensor<isBytes>, onCpuSmall}};
  auto found = std::ranges::find_if(
      rows, [&](const Row &row) { return info.name.starts_with(row.name); });
  return found == std::end(rows) ? nullptr : found;
}

static std::vector<c10::Warning> hear(const OpInfo &info,
                                      std::vector<IValue> arguments) {
  std::vector<c10::Warning> heard;
  try {
    hearOnProbes(info.handle, std::move(arguments), heard);
  } catch (const std::exception &) {
    // About probes, or others say it.
  }
  return heard;
}

std::vector<c10::Warning> warningsOf(const OpInfo &info,
                                     ArgumentList arguments) {
  const Row *row = rowOf(info);
  if (!row || !row->is(arguments))
    return {};
  auto call = [&] {
    std::vector<IValue> asked = replaceAll(arguments, row->by);
    for (size_t i = 0; i < asked.size(); ++i)
      if (isSize(info.arguments[i], asked[i]))
        asked[i] = smallSizes(asked[i].toIntVector());
    return asked;
  };
  {
    Quiet known; // also of what has been said, lest its kernel says it again
    if (hear(info, call()).empty())
      return {};
  }
  std::vector<c10::Warning> first = hear(info, call());
  std::vector<c10::Warning> each = hear(info, call());
  for (const c10::Warning &warning : first)
    if (std::ranges::none_of(each, [&](const c10::Warning &again) {
          return again.msg() == warning.msg();
        }))
      c10::warn(warning);
  return each;
}

void warnOfTypes(const CallShape &call) {
  for (const ResultType &result : call.results)
    if (result.shape.scalar_type() == at::kComplexHalf)
      at::empty({0}, at::kComplexHalf);
}

} // namespace ltc::backend
