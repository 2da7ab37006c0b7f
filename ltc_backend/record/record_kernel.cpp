//===- record/record_kernel.cpp - The kernels on the Lazy key -------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/record_kernel.h"

#include "ltc_backend/record/checks/linalg_check.h"
#include "ltc_backend/record/creation.h"
#include "ltc_backend/record/direct.h"
#include "ltc_backend/record/dispatch_mode.h"
#include "ltc_backend/record/immediate_call.h"
#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/record/ops/eager_random.h"
#include "ltc_backend/record/recorder.h"
#include "ltc_backend/record/unboxed.h"
#include "ltc_backend/record/writes/bare_write.h"
#include "ltc_backend/tensors/schema.h"
#include "ltc_backend/tensors/wrapper.h"

namespace ltc::backend {

static bool takesTensors(c10::ArrayRef<c10::IValue> arguments) {
  return std::ranges::any_of(arguments, [](const c10::IValue &value) {
    return value.isTensor() || value.isTensorList() ||
           value.isOptionalTensorList();
  });
}

void recordCall(const OpInfo &info, torch::jit::Stack &stack) {
  auto arguments = torch::jit::last(stack, info.arguments.size());
  if (isCreationTold() && !takesTensors(arguments)) [[unlikely]]
    tellCreation();
  if (info.fallbackReason.empty()) {
    if (info.random && drawEagerly(info, stack))
      return;
    if (checksErrors(info, arguments))
      return recordChecked(info, stack);
  }
  record(info, stack);
}

void RecordKernel::operator()(const c10::OperatorHandle &op,
                              c10::DispatchKeySet, torch::jit::Stack *stack) {
  if (isCalledByHandler())
    return callFunctionalised(op, stack);
  recordCall(info, *stack);
}

void registerRecordKernel(torch::Library &library, const char *name,
                          const OpInfo &info) {
  auto registerFor = [&]<typename... Args>(Takes<Args...>) {
    auto kernel = [&info](Parameter<Args>... arguments) {
      if (isOrdinary(info) && !isCalledByHandler()) {
        tellCreation();
        std::array<at::Tensor, 1> made;
        if (!runAtOnce<1, Args...>(info, made, arguments...)) {
          CallReader call(info, CallReader::Makes(), arguments...);
          made[0] = recordFactory(call);
        }
        if (made[0].defined())
          return isWrappedHere() ? makeNewWrapper(made[0]) : made[0];
      }
      torch::jit::Stack stack{c10::IValue(arguments)...};
      RecordKernel{info}(info.handle, {}, &stack);
      return std::move(stack.back()).toTensor();
    };
    implement(library, name, kernel);
  };
  if (!visitFactory(info.handle.schema(), registerFor))
    implementBoxed<RecordKernel>(library, name, info);
}

void recordAnyOther(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  const c10::FunctionSchema &schema = op.schema();
  if (isCalledByHandler())
    return callFunctionalised(op, stack);
  if (schema.is_mutable() && schema.name().starts_with("aten::"))
    return writeBare(op, *stack);
  if (!hasAliases(schema))
    return recordCall(opInfo(op), *stack);
  auto arguments = torch::jit::last(*stack, schema.arguments().size()).vec();
  recordCall(opInfo(op), *stack);
  noteBareView(op, arguments,
               torch::jit::last(*stack, schema.returns().size()));
}

} // namespace ltc::backend
