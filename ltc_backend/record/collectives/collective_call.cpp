//===- collectives/collective_call.cpp - One call of a collective ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/collectives/collective_call.h"

#include "ltc_backend/convert.h"
#include "ltc_backend/current_source.h"
#include "ltc_backend/record/collectives/collective_place.h"
#include "ltc_backend/record/collectives/collective_watch.h"
#include "ltc_backend/record/collectives/gloo_tags.h"
#include "ltc_backend/tensors/map_tensors.h"

#include "ltc/hash.h"

#include <ATen/core/Tensor.h>

namespace ltc::backend {
using at::Tensor;
using c10::IValue;
using c10d::ProcessGroup;

Error CollectiveCall::failure(std::string_view what) const {
  auto cause = group ? group->causeOf(meeting, what)
                     : CollectiveGroup::Cause{
                           std::string(what.substr(0, what.find('\n')))};
  return {
      ErrorCode::DeviceFailed,
      Stage::Execute,
      text + " failed: " + cause.text,
      op,
      sourceOf(meeting.source),
      cause.differs
          ? "look above these lines for a branch on the rank or on data, or "
            "a loop of another length, by which the ranks part"
          : "look for the first error among the ranks: one may have ended, "
            "or be late. init_process_group(timeout=...) says how long to "
            "wait for one"};
}

bool isGroup(const IValue &value) {
  return value.isObject() &&
         value.type() ==
             c10::getCustomClassType<c10::intrusive_ptr<ProcessGroup>>();
}

static bool isReduceOp(const IValue &value) {
  return value.isObject() &&
         value.type() ==
             c10::getCustomClassType<c10::intrusive_ptr<c10d::ReduceOp>>();
}

static std::string nameOf(const c10d::ReduceOp &op) {
  constexpr const char *kNames[] = {"sum", "avg",  "product", "min",
                                    "max", "band", "bor",     "bxor"};
  auto kind = static_cast<size_t>(op.op_);
  return kind < std::size(kNames) ? kNames[kind] : "premul_sum";
}

/// "f32[4], f32[2], ...": long lists are of equal tensors.
static std::string typesOf(c10::ArrayRef<IValue> arguments) {
  constexpr int kNamed = 3;
  std::string text;
  int count = 0;
  for (const IValue &value : arguments)
    forEachNested(value, [&](const Tensor &tensor) {
      if (!tensor.defined() || ++count > kNamed)
        return;
      auto dtype = toDType(tensor.scalar_type()).value_or(DType::U8);
      text += (text.empty() ? "" : ", ") +
              TensorType{dtype, tensor.sizes().vec()}.str();
    });
  return text + (count > kNamed ? ", ..." : "");
}

/// " f32 4 f32 2": what all ranks have alike of the tensors.
static std::string matchOf(Alike alike, c10::ArrayRef<IValue> arguments) {
  std::string text;
  forEachNested(
      arguments[alike == Alike::Second ? 1 : 0], [&](const Tensor &tensor) {
        text += std::string(" ") + c10::toString(tensor.scalar_type());
        if (alike != Alike::None)
          text += " " + std::to_string(tensor.numel());
      });
  return text;
}

static std::optional<int64_t> find(const char *name,
                                   const c10::FunctionSchema &schema,
                                   c10::ArrayRef<IValue> arguments) {
  if (auto index = schema.argumentIndexWithName(name))
    return arguments[*index].toInt();
  return std::nullopt;
}

/// ", sum, root 1"
static std::string optionsOf(const c10::FunctionSchema &schema,
                             c10::ArrayRef<IValue> arguments) {
  std::string text;
  for (const IValue &value : arguments)
    if (isReduceOp(value))
      text += ", " + nameOf(*value.toCustomClass<c10d::ReduceOp>());
  if (auto root = find("root_rank", schema, arguments))
    text += ", root " + std::to_string(*root);
  return text;
}

/// Where the call meets others.
static void place(CollectiveCall &call, const ProcessGroup &group,
                  const c10::FunctionSchema &schema,
                  c10::ArrayRef<IValue> arguments) {
  if (!call.isMessage)
    return call.group->place(call.meeting);
  auto tag = find("tag", schema, arguments);
  if (auto to = find("dst", schema, arguments))
    call.group->place(call.meeting, group.getRank(), *to, *tag);
  else if (auto from = find("src", schema, arguments))
    call.group->place(call.meeting, *from, group.getRank(), *tag);
}

CollectiveCall describe(const Collective &collective,
                        const c10::FunctionSchema &schema,
                        c10::ArrayRef<IValue> arguments) {
  std::string types = typesOf(arguments), name = collective.name;
  CollectiveCall call;
  call.text = name + "(" + types + ")";
  call.op = std::string("c10d::") + collective.op;
  call.meeting.call = name + "(" + types + optionsOf(schema, arguments) + ")";
  call.meeting.source = currentSource();
  call.isMessage = schema.argumentIndexWithName("tag").has_value();
  call.meeting.match = matchOf(collective.alike, arguments);
  if (!call.isMessage)
    call.meeting.match =
        name + call.meeting.match + optionsOf(schema, arguments);
  for (const IValue &value : arguments)
    if (isGroup(value)) {
      auto group = value.toCustomClass<ProcessGroup>();
      call.text += " on rank " + std::to_string(group->getRank()) + " of " +
                   std::to_string(group->getSize());
      call.place = placeOf(*group);
      call.group = watchedGroup(*group);
      if (call.group)
        place(call, *group, schema, arguments);
    }
  return call;
}

void meetOnlyMatching(const CollectiveCall &call,
                      const c10::FunctionSchema &schema,
                      std::vector<IValue> &arguments) {
  if (!call.group)
    return;
  // With the number: skips add up, and two calls in another order would end at
  // one tag.
  uint64_t hash =
      Hasher().add(call.meeting.match).add(call.meeting.number).finish().low;
  if (auto index = schema.argumentIndexWithName("tag"))
    arguments[*index] = messageTag(arguments[*index].toInt(), hash);
  else
    call.group->skipTags(hash);
}

} // namespace ltc::backend
