//===- writes/overlap.cpp - Writes through views that repeat their base ---===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/writes/overlap.h"

#include "ltc_backend/current_source.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/probe.h"
#include "ltc_backend/record/views/strided_view.h"
#include "ltc_backend/record/writes/write_value.h"
#include "ltc_backend/tensors/deferred_view.h"
#include "ltc_backend/tensors/map_tensors.h"
#include "ltc_backend/tensors/schema.h"
#include "ltc_backend/torch_private.h"

#include <ATen/ATen.h>
#include <ATen/FunctionalTensorWrapper.h>

namespace ltc::backend {
namespace functional = at::functionalization;
using c10::IValue;

static bool lacksInverse(const functional::ViewMeta &meta) {
  if (auto *own = dynamic_cast<const OwnViewMeta *>(&meta))
    return !own->hasInverse;
  return meta.is_as_strided ||
         isOneOf(meta, {"expand_ViewMeta", "unfold_ViewMeta"});
}

/// For each element of a functional view, its position in the base, as int64 on
/// the CPU; undefined for views that have an inverse, which most have.
static at::Tensor placesInBase(const at::Tensor &view) {
  if (!view.defined() || view.device().type() != at::kLazy ||
      !functional::impl::isFunctionalTensor(view))
    return {};
  const auto &metas =
      functional::impl::unsafeGetFunctionalWrapper(view)->view_metas();
  if (std::ranges::none_of(metas, [](auto &m) { return lacksInverse(*m); }))
    return {};
  if (changesElements(view))
    raise({ErrorCode::Unsupported,
           Stage::Record,
           "a write through as_strided, expand or unfold and another dtype",
           {},
           sourceOf(currentSource()),
           "write to x.clone(), then copy it to where it came from"});
  at::NoGradGuard noGrad;
  at::AutoDispatchSkipFunctionalize below;
  const at::Tensor &base = storageOf(view).base();
  at::Tensor places = at::arange(base.numel()).view(base.sizes());
  for (const auto &meta : metas)
    places = meta->forward(places);
  return places;
}

namespace {
/// A view without an inverse that a call writes to, and which of its elements
/// the call fills: undefined if all are written to.
struct Target {
  at::Tensor view, places, copy, filled;
};
using Targets = std::vector<Target>;
} // namespace

static Targets findTargets(const c10::FunctionSchema &schema,
                           c10::ArrayRef<IValue> arguments) {
  Targets targets;
  auto add = [&](const at::Tensor &tensor) {
    at::Tensor places = placesInBase(tensor);
    if (places.defined()) [[unlikely]]
      targets.push_back({tensor, places, {}, {}});
  };
  for (size_t i = 0; i < arguments.size(); ++i)
    if (isWritten(schema.arguments()[i]))
      forEachTensor(arguments[i], add);
  return targets;
}

static const Target *find(const Targets &targets, const at::Tensor &view) {
  auto found = std::ranges::find_if(
      targets, [&](const Target &t) { return t.view.is_same(view); });
  return found == targets.end() ? nullptr : &*found;
}

/// These give one value to some elements, and leave the others as they are.
static bool fills(const c10::FunctionSchema &schema,
                  c10::ArrayRef<IValue> arguments) {
  const std::string &name = schema.name();
  if (name == "aten::index_put_")
    return arguments[2].toTensor().numel() == 1 && !arguments[3].toBool();
  return factsOf(name).has(OpFact::FillsSome);
}

/// What these leave in a place does not depend on what was there, or is that,
/// or is the same for all of its elements.
static bool overwrites(const c10::FunctionSchema &schema,
                       c10::ArrayRef<IValue> arguments) {
  const std::string &name = schema.name();
  return factsOf(name).has(OpFact::FillsAlike) ||
         (name == "aten::conj_physical_" &&
          !arguments[0].toTensor().is_complex()) ||
         std::ranges::any_of(schema.arguments(),
                             [](auto &argument) { return argument.is_out(); });
}

static bool repeatsPlaces(const at::Tensor &places) {
  at::Tensor sorted = std::get<0>(at::sort(places.reshape(-1)));
  return sorted.numel() > 1 &&
         sorted.slice(0, 1).eq(sorted.slice(0, 0, -1)).any().item<bool>();
}

/// Whether some of the elements of a place may be filled and others not. What
/// other writes leave in one place is anybody's guess.
static bool fillsPlacesInPart(const c10::FunctionSchema &schema,
                              c10::ArrayRef<IValue> arguments,
                              const Targets &targets) {
  if (overwrites(schema, arguments))
    return false;
  at::NoGradGuard noGrad;
  at::AutoDispatchSkipFunctionalize below;
  bool repeats = std::ranges::any_of(
      targets, [](const Target &t) { return repeatsPlaces(t.places); });
  TORCH_CHECK(!repeats || fills(schema, arguments),
              "unsupported operation: more than one element of the "
              "written-to tensor refers to a single memory location. Please "
              "clone() the tensor before performing the operation.");
  return repeats;
}

/// The elements of a call's first argument that it gives a value: zeros and
/// ones are the same there, after it.
static at::Tensor filledBy(const c10::OperatorHandle &op,
                           torch::jit::Stack call) {
  auto filled = [&](int number) {
    torch::jit::Stack stack = call;
    stack[0] = at::full_like(call[0].toTensor(), number);
    op.callBoxed(&stack);
    return stack[0].toTensor();
  };
  return (filled(0) != 0).logical_or(filled(1) != 1);
}

/// A type of the same size that scatter() takes.
static at::ScalarType scattered(at::ScalarType type) {
  switch (type) {
  case at::kUInt16:
    return at::kShort;
  case at::kUInt32:
  case at::kComplexHalf:
    return at::kInt;
  case at::kUInt64:
    return at::kLong;
  default:
    return c10::isFloat8Type(type) ? at::kByte : type;
  }
}

/// The elements of a tensor below functionalisation, as scatter() takes them.
static at::Tensor flat(const at::Tensor &bare) {
  at::Tensor elements = at::view_copy(bare, {-1});
  at::ScalarType type = scattered(bare.scalar_type());
  return type == bare.scalar_type() ? elements : at::view_copy(elements, type);
}

/// Undefined for an undefined one.
static at::Tensor inside(const at::Tensor &tensor) {
  materialise(tensor);
  return tensor.defined() ? functional::impl::from_functional_tensor(tensor)
                          : tensor;
}

/// Gives the view, and the base under it, the values of its copy.
static void writeBack(const Target &target) {
  at::Tensor copy = inside(target.copy), filled = inside(target.filled);
  at::NoGradGuard noGrad;
  at::AutoDispatchSkipFunctionalize below;
  auto lock = lockStorages();
  const at::Tensor &base = storageOf(target.view).base();
  at::Tensor written = flat(base),
             places = target.places.reshape(-1).to(base.device());
  if (filled.defined()) {
    // The others go to a place behind the last.
    places = at::where(flat(filled), places, base.numel());
    written = at::constant_pad_nd(written, {0, 1});
  }
  written = at::scatter(written, 0, places, flat(copy));
  if (filled.defined())
    written = at::slice_copy(written, 0, 0, base.numel());
  if (written.scalar_type() != base.scalar_type())
    written = at::view_copy(written, base.scalar_type());
  writeBase(target.view, at::view_copy(written, base.sizes()));
}

bool wroteToPlaces(const c10::OperatorHandle &op, torch::jit::Stack &stack) {
  const c10::FunctionSchema &schema = op.schema();
  auto arguments = torch::jit::last(stack, schema.arguments().size());
  Targets targets = findTargets(schema, arguments);
  if (targets.empty())
    return false;
  bool inPart = fillsPlacesInPart(schema, arguments, targets);
  torch::jit::Stack call;
  {
    at::AutoDispatchBelowADInplaceOrView belowAutograd;
    for (Target &target : targets)
      target.copy = target.view.clone();
    for (const IValue &value : arguments)
      call.push_back(mapTensors(value, [&](const at::Tensor &tensor) {
        const Target *target = find(targets, tensor);
        return target ? target->copy : tensor;
      }));
    if (inPart) {
      targets[0].filled = filledBy(op, call);
      std::vector<c10::Warning> heard;
      hearOnProbes(op, replaceAll(arguments, onCpu), heard);
      std::ranges::for_each(heard, c10::warn);
    }
    op.callBoxed(&call);
  }
  for (const Target &target : targets)
    writeBack(target);
  torch::jit::drop(stack, schema.arguments().size());
  for (const IValue &value : call)
    stack.push_back(mapTensors(value, [&](const at::Tensor &tensor) {
      for (const Target &target : targets)
        if (target.copy.is_same(tensor))
          return target.view;
      return tensor;
    }));
  return true;
}

} // namespace ltc::backend
