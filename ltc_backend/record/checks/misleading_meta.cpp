//===- checks/misleading_meta.cpp - Where meta kernels err ----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/checks/misleading_meta.h"

#include <ATen/ATen.h>
#include <ATen/native/ConvUtils.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace ltc::backend {
using c10::IValue;

/// Powers of bools: meta kernels make integers of them, as of any number.
static bool isPowerOfBool(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  return info.name == "aten::pow.Tensor_Scalar" && arguments[1].isBool() &&
         arguments[0].toTensor().scalar_type() == at::kBool;
}

/// Over no dimension it is the sum of all, as that of sum().
static bool isSumOverNone(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  return info.name == "aten::nansum" && arguments[1].isIntList() &&
         arguments[1].toIntVector().empty();
}

/// Where eager counts steps in doubles, or has no kernel for the dtype.
static bool countsUnlikeMeta(const OpInfo &info,
                             c10::ArrayRef<IValue> arguments) {
  if (!info.facts.has(OpFact::MakesRange))
    return false;
  bool isRange = info.name.starts_with("aten::arange") ||
                 info.name.starts_with("aten::range");
  constexpr double exact = 1LL << 31;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (info.arguments[i].name == "dtype" && arguments[i].isInt()) {
      auto dtype = at::ScalarType(arguments[i].toInt());
      if (dtype == at::kBool || at::isComplexType(dtype))
        return true;
    }
    if (isRange && arguments[i].isScalar() && !arguments[i].isBool() &&
        !(std::abs(arguments[i].toScalar().toDouble()) < exact))
      return true;
  }
  return false;
}

/// Eager draws no integers by these.
static bool drawsIntegers(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  const std::string &name = info.handle.schema().name();
  if (name != "aten::rand" && name != "aten::randn")
    return false;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (info.arguments[i].name == "dtype" && arguments[i].isInt())
      return at::isIntegralType(at::ScalarType(arguments[i].toInt()),
                                /*includeBool=*/true);
  return false;
}

/// What PyTorch generates of an op that writes, and that the CPU has no kernel
/// for: its meta kernel knows shapes of what eager refuses.
static bool isOfOtherDevices(const OpInfo &info) {
  using c10::DispatchKey;
  if (info.handle.hasKernelForDispatchKey(DispatchKey::CPU))
    return false;
  c10::OperatorName name = info.handle.operator_name();
  name.name += "_";
  auto writer = c10::Dispatcher::singleton().findSchema(name);
  return writer && std::ranges::none_of(
                       std::array{DispatchKey::CPU,
                                  DispatchKey::CompositeExplicitAutograd,
                                  DispatchKey::CompositeImplicitAutograd},
                       [&](DispatchKey key) {
                         return writer->hasKernelForDispatchKey(key);
                       });
}

bool hasMisleadingMeta(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  return info.facts.has(OpFact::MetaMisleads) ||
         isPowerOfBool(info, arguments) || isSumOverNone(info, arguments) ||
         countsUnlikeMeta(info, arguments) || drawsIntegers(info, arguments) ||
         isOfOtherDevices(info);
}

/// What the CPU's convolution, or its gradients, of arguments from `input` on
/// are laid out as. It chooses a kernel by all of them.
static at::MemoryFormat formatOfConvolution(c10::ArrayRef<IValue> arguments,
                                            size_t input) {
  auto onCpu = [&](size_t i) { // with memory that nobody touches
    const at::Tensor &like = arguments[i].toTensor();
    return at::empty_strided(like.sizes(), like.strides(), like.scalar_type());
  };
  auto sizes = [&](size_t i) {
    std::vector<c10::SymInt> sizes;
    for (int64_t size : arguments[input + i].toIntVector())
      sizes.emplace_back(size);
    return sizes;
  };
  at::Tensor self = onCpu(input), weight = onCpu(input + 1);
  auto kernel = at::native::select_conv_backend(
      self, weight, std::nullopt, sizes(3), sizes(4), sizes(5),
      arguments[input + 6].toBool(), sizes(7), arguments[input + 8].toInt(),
      at::OptionalSymIntArrayRef());
  return at::native::_determine_backend_memory_format(self, weight, kernel);
}

/// The meta kernel's, and that of contiguous(), is any that fits the sizes.
static at::Tensor madeAs(const at::Tensor &result, at::MemoryFormat format) {
  return at::empty(result.sizes(), result.options().memory_format(format));
}

static void layOutAsColumns(IValue &matrix) {
  matrix = matrix.toTensor().mT().contiguous().mT();
}

void correctResults(const OpInfo &info, c10::ArrayRef<IValue> arguments,
                    torch::jit::Stack &results) {
  // LAPACK's matrices are columns. Without vectors there is no matrix.
  if (info.name == "aten::_linalg_svd" && results[2].toTensor().dim() > 1)
    layOutAsColumns(results[2]);
  if (info.name == "aten::linalg_eig")
    layOutAsColumns(results[1]);
  if (info.name == "aten::isin.Scalar_Tensor") // whose kernel resizes it
    results[0] = results[0].toTensor().new_empty({});
  if (info.name == "aten::normal.Tensor_Tensor")
    results[0] = results[0].toTensor().to(arguments[0].toTensor().dtype());
  bool isBackward = info.name.ends_with("_backward");
  size_t input = isBackward;
  bool isGroup = info.name.starts_with("aten::native_group_norm");
  if (!isGroup && info.name != "aten::convolution" &&
      info.name != "aten::convolution_backward")
    return;
  const at::Tensor &self = arguments[input].toTensor();
  auto format = self.dim() < 4 ? at::MemoryFormat::Contiguous
                : isGroup      ? self.suggest_memory_format()
                               : formatOfConvolution(arguments, input);
  for (IValue &value : results) {
    const at::Tensor &result = value.toTensor();
    if (!result.defined() || result.dim() != self.dim())
      continue;
    value = isGroup ? result.contiguous(format) : madeAs(result, format);
  }
}

} // namespace ltc::backend
