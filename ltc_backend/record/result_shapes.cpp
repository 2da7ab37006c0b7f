//===- record/result_shapes.cpp - Tensors like the results of a call ------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/result_shapes.h"

#include "ltc_backend/record/checks/misleading_meta.h"
#include "ltc_backend/record/meta_kernel.h"
#include "ltc_backend/record/probe.h"
#include "ltc_backend/record/size_rules.h"
#include "ltc_backend/record/small_call.h"
#include "ltc_backend/tensors/layout.h"
#include "ltc_backend/tensors/map_tensors.h"

#include <set>

namespace ltc::backend {
using c10::IValue;

/// True for what a meta kernel says when it cannot know a shape without values.
static bool saysNoShape(const std::exception &error) {
  if (dynamic_cast<const c10::NotImplementedError *>(&error))
    return true;
  std::string_view what = error.what();
  for (const char *name : {"NotImplementedError", "DynamicOutputShapeException",
                           "DataDependentOutputException"})
    if (what.find(name) != std::string_view::npos)
      return true;
  return false;
}

/// Calls the op with arguments that have been replaced. False where the meta
/// kernel knows no shape.
static bool runOn(const ProbeMaker &by, const c10::OperatorHandle &op,
                  torch::jit::Stack &stack, std::string &reason) {
  try {
    stack = callOnProbes(op, std::move(stack), by.device);
    return true;
  } catch (const std::exception &error) {
    if (by.device != c10::kMeta || !saysNoShape(error))
      throw;
    reason = kShapeByValues;
    return false;
  }
}

static bool isStrided(const IValue &value) {
  if (value.isTensor()) {
    const at::Tensor &tensor = value.toTensor();
    return tensor.defined() && !isRowMajor(tensor.sizes(), tensor.strides());
  }
  return value.isList() && std::ranges::any_of(value.toListRef(), isStrided);
}

/// On ones: zeros may not be divided by. What the kernel refuses of them leaves
/// the results as they are.
static void takeStridesOfCpu(const OpInfo &info,
                             c10::ArrayRef<IValue> arguments,
                             torch::jit::Stack &results) {
  torch::jit::Stack stack = replaceAll(arguments, onCpuOnes);
  std::string reason;
  try {
    if (runOn(onCpuOnes, info.handle, stack, reason))
      results = std::move(stack);
  } catch (const std::exception &) {
  }
}

/// Whether the rank, which values decide, decides if there are residuals.
static bool hasResidualsByRank(const OpInfo &info,
                               c10::ArrayRef<IValue> arguments) {
  if (info.name != "aten::linalg_lstsq" || !arguments[3].isString())
    return false;
  const std::string &driver = arguments[3].toStringRef();
  const at::Tensor &self = arguments[0].toTensor();
  return (driver == "gelss" || driver == "gelsd") && self.dim() >= 2 &&
         self.size(-2) > self.size(-1);
}

/// Kernels refuse some tensors without elements, as max() does, and lay out
/// others in ways of their own, of both of which meta kernels know nothing. The
/// CPU's kernel has next to nothing to do to tell.
static void askAboutEmpty(const OpInfo &info, c10::ArrayRef<IValue> arguments,
                          torch::jit::Stack &results) {
  bool any = false;
  if (info.name == "aten::index_put") // of as many values as a mask chooses
    return;
  for (const IValue &value : arguments)
    forEachTensor(value, [&](const at::Tensor &tensor) {
      any |= tensor.defined() && tensor.numel() == 0;
    });
  if (any && !info.random)
    results = callOnProbes(info.view.value_or(info.handle),
                           replaceAll(arguments, onCpu));
}

static std::vector<std::vector<int64_t>>
shapesOf(c10::ArrayRef<IValue> results) {
  std::vector<std::vector<int64_t>> shapes;
  for (const IValue &value : results)
    forEachTensor(value, [&](const at::Tensor &tensor) {
      shapes.push_back(tensor.defined() ? tensor.sizes().vec()
                                        : std::vector<int64_t>());
    });
  return shapes;
}

/// Meta kernels have words of their own for what is wrong; users know those of
/// the CPU kernel, so let it complain first. If it does not, it has to run: a
/// meta kernel may refuse what the CPU takes, as byte masks.
static void complainAsCpu(const OpInfo &info, c10::ArrayRef<IValue> arguments,
                          std::string &reason) {
  torch::jit::Stack stack = replaceAll(arguments, onCpuFlat);
  try {
    runOn(onCpuFlat, info.handle, stack, reason);
  } catch (const std::exception &) {
    // Some want memory for every element before they look at anything else.
    stack = replaceAll(arguments, onCpu);
    runOn(onCpu, info.handle, stack, reason);
  }
}

/// Asks the CPU's kernel, once for each shape, where no meta kernel can tell. A
/// shape that depends on values differs between zeros and ones. A kernel may
/// refuse some values; if it says the same of all, it says so to the user.
static bool inferByCpu(const OpInfo &info, c10::ArrayRef<IValue> arguments,
                       torch::jit::Stack &stack, std::string &reason) {
  std::vector<torch::jit::Stack> answers;
  std::set<std::string> refusals;
  for (const ProbeMaker *by : {&onCpu, &onCpuOnes, &onCpuFullRank}) {
    if (by == &onCpuFullRank && !answers.empty())
      break;
    stack = replaceAll(arguments, *by);
    for (size_t i = 0; i < stack.size(); ++i)
      if (info.arguments[i].name == "unsafe") // not to look at values
        stack[i] = true;
    try {
      if (runOn(*by, info.handle, stack, reason))
        answers.push_back(std::move(stack));
    } catch (const std::exception &refusal) {
      refusals.insert(refusal.what());
    }
  }
  if (answers.empty() && refusals.size() == 1)
    complainAsCpu(info, arguments, reason);
  reason = kShapeByValues;
  if (answers.empty() || shapesOf(answers.front()) != shapesOf(answers.back()))
    return false;
  stack = std::move(answers.front());
  return true;
}

/// Where there is no meta kernel of its own: of PyTorch's ops alone, since of
/// others nobody says whether shapes depend on values.
static bool inferWithoutMeta(const OpInfo &info,
                             c10::ArrayRef<IValue> arguments,
                             torch::jit::Stack &stack, std::string &reason) {
  if (!info.name.starts_with("aten::") || !lacksMetaKernel(info.handle))
    return false;
  if (info.handle.hasTag(at::Tag::pointwise))
    if (auto results = inferFromSmall(info, arguments)) {
      stack = std::move(*results);
      return true;
    }
  return inferByCpu(info, arguments, stack, reason);
}

/// Where it takes no kernel that knows meta tensors.
static std::optional<torch::jit::Stack>
inferBySizes(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  auto results = inferBySizeRule(info, arguments);
  if (results)
    correctResults(info, arguments, *results);
  else if (info.facts.has(OpFact::SizesOfArguments))
    results = inferFromSmall(info, arguments);
  if (results)
    askAboutEmpty(info, arguments, *results);
  return results;
}

bool inferResults(const OpInfo &info, c10::ArrayRef<IValue> arguments,
                  torch::jit::Stack &stack, std::string &reason) {
  if (info.facts.has(OpFact::FusedStep)) { // some have no meta kernel
    stack = replaceAll(arguments, onMeta);
    stack.resize(info.handle.schema().returns().size());
    return true;
  }
  bool wantsBins = info.name == "aten::histogram.bins_tensor" ||
                   info.name == "aten::_histogramdd_from_bin_tensors";
  bool wantsRank = info.name == "aten::linalg_lstsq";
  // How much it saves goes by the strides of the weight, if it has any.
  bool wantsRows = info.name.starts_with("aten::_embedding_bag");
  bool misleads = wantsBins || wantsRank || hasMisleadingMeta(info, arguments);
  if (hasResidualsByRank(info, arguments)) {
    reason = "has residuals only if the rank is full";
    return false;
  }
  if (auto results = inferBySizes(info, arguments)) {
    stack = std::move(*results);
    return true;
  }
  const c10::OperatorHandle &asked = info.view.value_or(info.handle);
  const ProbeMaker &by = wantsBins   ? onCpuRising
                         : wantsRank ? onCpuFullRank
                         : wantsRows ? onCpuRowMajor
                         : misleads  ? onCpu
                                     : onMeta;
  stack = replaceAll(arguments, by);
  bool isInferred = false;
  try {
    if (!runOn(by, asked, stack, reason))
      return inferWithoutMeta(info, arguments, stack, reason);
    correctResults(info, arguments, stack);
    if (info.facts.has(OpFact::StridesMislead) &&
        std::ranges::any_of(arguments, isStrided))
      takeStridesOfCpu(info, arguments, stack);
    isInferred = true;
  } catch (const std::exception &) {
    if (misleads)
      throw;
  }
  if (isInferred) {
    if (!misleads)
      askAboutEmpty(info, arguments, stack);
    return true;
  }
  if (std::ranges::any_of(arguments, isStrided)) {
    stack = replaceAll(arguments, onMetaRowMajor);
    try {
      return runOn(onMetaRowMajor, info.handle, stack, reason);
    } catch (const std::exception &) {
    }
  }
  complainAsCpu(info, arguments, reason);
  reason = kShapeByValues;
  return false;
}

} // namespace ltc::backend
