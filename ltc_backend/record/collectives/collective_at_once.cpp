//===- collectives/collective_at_once.cpp - Called by its thread ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/collectives/collective_at_once.h"

#include "ltc_backend/graph/sync_cause.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/collectives/collective_chain.h"
#include "ltc_backend/record/collectives/collective_place.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/map_tensors.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>

namespace ltc::backend {
using at::Tensor;
using c10::IValue;
using c10d::ProcessGroup;

void computeRead(c10::ArrayRef<CallAtOnce> calls) {
  std::vector<Tensor> read;
  for (const CallAtOnce &given : calls)
    for (size_t i = 0; i < given.arguments.size(); ++i)
      if (!given.isFilled(i))
        forEachNested(given.arguments[i], [&](const Tensor &tensor) {
          if (isPlain(tensor))
            read.push_back(tensor);
        });
  computeAll(read);
}

static IValue lend(const IValue &value, size_t argument,
                   CollectiveTensors &tensors, const CallAtOnce &given) {
  if (isGroup(value))
    return groupIn(given.call.place, value.toCustomClass<ProcessGroup>());
  bool fills = given.isFilled(argument);
  bool writes = given.kind.access == Access::Update || fills;
  return mapNested(value, [&](const Tensor &tensor) {
    if (!tensor.defined() || !isFunctionalLazy(tensor))
      return tensor;
    if (!writes)
      return tensors.read(
          hasMathBits(tensor) ? tensor.resolve_conj().resolve_neg() : tensor);
    if (hasMathBits(tensor))
      raise({ErrorCode::Unsupported, Stage::Record,
             given.call.text + " would write to a view that shows conjugate "
                               "or negative values",
             given.call.op, sourceOf(given.call.meeting.source),
             "give it a tensor of their own: x.resolve_conj().resolve_neg()"});
    return fills ? tensors.fill(tensor) : tensors.update(tensor);
  });
}

torch::jit::Stack lendTo(CollectiveTensors &tensors, const CallAtOnce &given) {
  torch::jit::Stack lent;
  for (size_t i = 0; i < given.arguments.size(); ++i)
    lent.push_back(lend(given.arguments[i], i, tensors, given));
  meetOnlyMatching(given.call, given.op.schema(), lent);
  return lent;
}

/// What another rank or the network did wrong gets the name of the call; what
/// the program did stays in PyTorch's words.
void begin(const c10::OperatorHandle &op, torch::jit::Stack &arguments,
           const CollectiveCall &call) {
  at::AutoDispatchBelowADInplaceOrView belowAutograd;
  try {
    op.callBoxed(&arguments);
  } catch (const std::runtime_error &error) {
    raise(call.failure(error.what()));
  }
}

static IValue toProgram(const IValue &result,
                        const std::shared_ptr<CollectiveTensors> &tensors) {
  if (!result.isObject())
    return tensors->toLazy(result);
  auto work = result.toCustomClass<c10d::Work>();
  if (!work)
    raise({ErrorCode::Unsupported, Stage::Record,
           tensors->call.text + " is one of several calls that were begun as "
                                "one for tensors of another device",
           tensors->call.op, sourceOf(tensors->call.meeting.source),
           "begin them for the device of these tensors"});
  return c10::intrusive_ptr<c10d::Work>(
      c10::make_intrusive<CollectiveWork>(std::move(work), tensors));
}

void callAtOnce(CallAtOnce given, torch::jit::Stack &results) {
  SyncCause cause(profile::Cause::Collective, given.kind.name);
  settleRecorded();
  auto tensors = std::make_shared<CollectiveTensors>(given.call);
  computeRead(given);
  torch::jit::Stack stack = lendTo(*tensors, given);
  begin(given.op, stack, tensors->call);
  tensors->await();
  for (const IValue &result : stack)
    results.push_back(toProgram(result, tensors));
}

} // namespace ltc::backend
