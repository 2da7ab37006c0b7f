//===- checks/cpu_check.cpp - What the CPU's kernels refuse --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/checks/cpu_check.h"

#include "ltc_backend/record/call_key.h"
#include "ltc_backend/record/checks/argument_kinds.h"
#include "ltc_backend/record/checks/factory_check.h"
#include "ltc_backend/record/checks/size_labels.h"
#include "ltc_backend/record/probe.h"
#include "ltc_backend/tensors/map_tensors.h"

#include <ATen/ATen.h>

#include <limits>
#include <map>

namespace ltc::backend {
using c10::IValue;

/// A number that is a bool, as an argument or as the tensor that stands for
/// one.
static bool isBoolNumber(const c10::Argument &schema, const IValue &value) {
  if (value.isTensor()) {
    const at::Tensor &tensor = value.toTensor();
    return tensor.defined() && tensor.scalar_type() == at::kBool &&
           tensor.unsafeGetTensorImpl()->is_wrapped_number();
  }
  return value.isBool() && schema.type()->kind() == c10::TypeKind::NumberType;
}

/// Meta kernels see to it that sizes fit.
static bool isElementwise(const OpInfo &info) {
  return info.handle.hasTag(at::Tag::pointwise) ||
         info.name.starts_with("aten::_foreach_");
}

/// Whether small tensors whose sizes compare alike are computed as large ones
/// are, so that what is refused of them is about no value.
static bool isAlikeWhenSmall(const OpInfo &info) {
  return isElementwise(info) || info.facts.has(OpFact::CheckSmall);
}

/// A pool's strides beyond what its kernel's integers hold, or an interpolation
/// to nothing.
static bool hasOddSizes(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  bool isPool = info.name.find("_pool") != info.name.npos;
  if (!isPool && !info.name.starts_with("aten::upsample"))
    return false;
  auto isOdd = [&](int64_t size) {
    return isPool ? size > std::numeric_limits<int>::max() : size == 0;
  };
  for (size_t i = 0; i < arguments.size(); ++i)
    if (info.arguments[i].name == (isPool ? "stride" : "output_size") &&
        arguments[i].isIntList() &&
        std::ranges::any_of(arguments[i].toIntVector(), isOdd))
      return true;
  return false;
}

/// Of which few kernels of the CPU know.
static bool hasComplexHalf(const OpInfo &info,
                           c10::ArrayRef<IValue> arguments) {
  bool found = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    found |= info.arguments[i].name == "dtype" && arguments[i].isInt() &&
             at::ScalarType(arguments[i].toInt()) == at::kComplexHalf;
    forEachTensor(arguments[i], [&](const at::Tensor &tensor) {
      found |= tensor.defined() && tensor.scalar_type() == at::kComplexHalf;
    });
  }
  return found;
}

/// Whether the meta kernel lets shapes and numbers pass that the CPU's refuses,
/// which next to no work is asked about with.
static bool checksMoreThanMeta(const OpInfo &info,
                               c10::ArrayRef<IValue> arguments) {
  return info.facts.has(OpFact::CheckBeyondMeta) ||
         hasOddSizes(info, arguments) || hasComplexHalf(info, arguments);
}

/// All kernels take floats of these dtypes; convolutions others too, and to ask
/// them would be much work.
static bool isCommonFloat(const OpInfo &info, at::ScalarType type) {
  return type == at::kFloat || type == at::kDouble ||
         (info.name.starts_with("aten::convolution") &&
          (type == at::kHalf || type == at::kBFloat16));
}

/// Whether kernels and rows may differ in what dtypes they take: not of floats
/// of one common dtype, maybe with indices, but for a bool among the numbers.
static bool hasRareDtypes(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  bool rare = false, indices = false, bools = false;
  std::optional<at::ScalarType> common;
  const auto &schema = info.handle.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    bools |= isBoolNumber(schema[i], arguments[i]);
    forEachTensor(arguments[i], [&](const at::Tensor &tensor) {
      if (!tensor.defined())
        return;
      at::ScalarType type = tensor.scalar_type();
      if (type == at::kLong)
        indices = true;
      else if (!isCommonFloat(info, type) || common.value_or(type) != type)
        rare = true;
      else
        common = type;
    });
  }
  return rare || (indices && !common) || (common && bools);
}

/// The arguments as other zeros, and bools among the numbers as integers.
static std::vector<IValue> asOthers(const OpInfo &info,
                                    c10::ArrayRef<IValue> arguments,
                                    const ProbeMaker &by) {
  std::vector<IValue> others = replaceAll(arguments, by);
  const auto &schema = info.handle.schema().arguments();
  for (size_t i = 0; i < others.size(); ++i)
    if (isBoolNumber(schema[i], others[i]))
      others[i] = others[i].isTensor() ? IValue(at::zeros({})) : IValue(1);
  return others;
}

static bool isCountOfIntegers(const OpInfo &info,
                              c10::ArrayRef<IValue> arguments) {
  return info.facts.has(OpFact::CountsIntegers) &&
         c10::isIntegralType(arguments[0].toTensor().scalar_type(),
                             /*includeBool=*/false);
}

static bool isMask(const at::Tensor &index) {
  return index.scalar_type() == at::kBool || index.scalar_type() == at::kByte;
}

/// How many elements a mask chooses, only its values tell.
static bool hasMask(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  bool found = false;
  if (info.name == "aten::index_put")
    forEachTensor(arguments[1], [&](const at::Tensor &index) {
      found |= index.defined() && isMask(index);
    });
  return found;
}

/// What does not depend on that number.
static void checkMask(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  const at::Tensor &self = arguments[0].toTensor(),
                   &values = arguments[2].toTensor();
  TORCH_CHECK(
      values.numel() == 1 || values.scalar_type() == self.scalar_type(),
      "Index put requires the source and destination dtypes match, got ",
      self.scalar_type(), " for the destination and ", values.scalar_type(),
      " for the source.");
  bool others = false;
  forEachTensor(arguments[1], [&](const at::Tensor &index) {
    others |= index.defined() && !isMask(index);
  });
  if (others)
    return; // of as many elements
  std::vector<IValue> none = replaceAll(arguments, onCpu);
  none[2] = at::zeros({}, none[2].toTensor().options());
  if (values.numel() != 1) // one goes by another kernel, which takes no bytes
    none[1] = mapTensors(none[1], [](const at::Tensor &index) {
      return index.defined() ? index.to(at::kBool) : index;
    });
  callOnProbes(info.handle, std::move(none));
}

/// No rows of the probabilities, where there are any.
static at::Tensor noRows(const at::Tensor &probabilities) {
  at::Tensor rows = onCpuFlat.make(probabilities);
  if (rows.dim() == 1)
    rows = rows.unsqueeze(0);
  return rows.numel() ? rows.slice(0, 0, 0) : onCpu.make(probabilities);
}

/// The arguments less the values that are checked before all else.
static std::vector<IValue> withoutValues(const OpInfo &info,
                                         c10::ArrayRef<IValue> arguments) {
  std::vector<IValue> rest = arguments.vec();
  if (info.name == "aten::segment_reduce")
    rest[6] = true; // "unsafe": the lengths are not added up
  if (info.name == "aten::multinomial")
    rest[0] = noRows(arguments[0].toTensor());
  return rest;
}

static bool takes(const OpInfo &info, std::vector<IValue> probes) {
  try {
    callOnProbes(info.handle, std::move(probes));
    return true;
  } catch (const c10::Error &) {
    return false;
  }
}

/// Whether the kernel looks at all there is to check before it computes: not at
/// a dilation of 0, padding of the result, and other dtypes than the input's.
static bool isPlainConvolution(c10::ArrayRef<IValue> arguments) {
  at::ScalarType type = arguments[0].toTensor().scalar_type();
  for (const IValue &value : arguments.slice(1, 2))
    if (value.isTensor() && value.toTensor().defined() &&
        value.toTensor().scalar_type() != type)
      return false;
  auto padding = arguments[7].toIntVector();
  return !std::ranges::count(arguments[5].toIntVector(), 0) &&
         std::ranges::count(padding, 0) == std::ssize(padding);
}

/// Whether the kernel takes the call with so few elements that it has next to
/// no work.
static bool takesFew(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  if (isAlikeWhenSmall(info)) {
    SizeLabels labels(arguments);
    return takes(info, replaceAll(arguments, labels.probes()));
  }
  if (info.name != "aten::convolution" || !isPlainConvolution(arguments))
    return false;
  std::vector<IValue> noSamples = replaceAll(arguments, onCpuFlat);
  noSamples[0] = noSamples[0].toTensor().slice(0, 0, 0);
  return takes(info, std::move(noSamples));
}

/// Whether the kernel takes zeros or ones. Throws what it says of zeros, unless
/// it may be about the values: what it says of zeros of float too, or of a
/// division by them.
static bool takesOrThrows(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  for (const ProbeMaker &maker : {onCpu, onCpuOnes})
    try {
      callOnProbes(info.handle, replaceAll(arguments, maker));
      return true;
    } catch (const c10::Error &refused) {
      std::string_view what = refused.what_without_backtrace();
      if (what == "ZeroDivisionError")
        continue;
      if (isAlikeWhenSmall(info) || checksMoreThanMeta(info, arguments) ||
          what.find("not implemented for") != what.npos ||
          takes(info, asOthers(info, arguments, onCpuFloat)) ||
          takes(info, asOthers(info, arguments, onCpuWide)))
        throw;
    }
  return false;
}

void checkSlice(const at::Tensor &slice, const at::Tensor &source) {
  TORCH_CHECK(slice.sizes() == source.sizes(),
              "expected src to have a size equal to the slice of self. src "
              "size = ",
              source.sizes(), ", slice size = ", slice.sizes());
}

/// The meta kernel does not look at sizes.
static void checkScatter(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  static const auto *views = new std::map<std::string, c10::OperatorName>{
      {"aten::diagonal_scatter", {"aten::diagonal", ""}},
      {"aten::select_scatter", {"aten::select", "int"}},
      {"aten::slice_scatter", {"aten::slice", "Tensor"}}};
  auto found = views->find(info.name);
  if (found == views->end())
    return;
  torch::jit::Stack stack = replaceAll(arguments, onMeta);
  at::Tensor source = stack[1].toTensor();
  stack.erase(stack.begin() + 1);
  c10::Dispatcher::singleton()
      .findSchemaOrThrow(found->second.name.c_str(),
                         found->second.overload_name.c_str())
      .callBoxed(&stack);
  checkSlice(stack.back().toTensor(), source);
}

/// Meta kernels and the compiler's rows take what the CPU's kernels refuse.
/// Those are asked: about dtypes once for each kind of arguments.
void checkCall(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  // Of PyTorch's custom ops, those that the table names.
  bool isPyTorchs =
      info.name.starts_with("aten::") || info.facts.has(OpFact::CheckSmall);
  if (info.view || !isPyTorchs || isCountOfIntegers(info, arguments))
    return;
  checkScatter(info, arguments);
  checkFactory(info, arguments);
  if (hasMask(info, arguments))
    return checkMask(info, arguments);
  std::vector<IValue> asked = withoutValues(info, arguments);
  arguments = asked;
  bool isRare = hasRareDtypes(info, arguments);
  if (checksMoreThanMeta(info, arguments))
    return void((!isRare && takesFew(info, arguments)) ||
                takesOrThrows(info, arguments));
  if (!isRare && !isAlikeWhenSmall(info))
    return;
  static auto *taken = new KeySet;
  Hash128 kinds = kindsOf(info, arguments);
  if (isAlikeWhenSmall(info) && !isElementwise(info)) {
    Hash128 sizes = SizeLabels(arguments).hashOf(arguments);
    kinds = Hasher().add(kinds).add(sizes).finish();
  }
  if (taken->contains(kinds))
    return;
  if (takesFew(info, arguments) || takesOrThrows(info, arguments))
    taken->insert(kinds);
}

} // namespace ltc::backend
