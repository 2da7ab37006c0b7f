//===- register.cpp - Every recorded op, found by walking the schemas -----===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/register.h"

#include "ltc_backend/backend.h"
#include "ltc_backend/library.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/checks/checked_value.h"
#include "ltc_backend/record/checks/linalg_check.h"
#include "ltc_backend/record/direct.h"
#include "ltc_backend/record/direct_transfer.h"
#include "ltc_backend/record/dispatch_mode.h"
#include "ltc_backend/record/host/not_dense_kernels.h"
#include "ltc_backend/record/inference_mode.h"
#include "ltc_backend/record/lazy_tensor.h"
#include "ltc_backend/record/ops/attention.h"
#include "ltc_backend/record/ops/autocast.h"
#include "ltc_backend/record/ops/batch_norm.h"
#include "ltc_backend/record/ops/ctc_loss.h"
#include "ltc_backend/record/ops/custom_op.h"
#include "ltc_backend/record/ops/det.h"
#include "ltc_backend/record/ops/fake_quantize.h"
#include "ltc_backend/record/ops/fused_step.h"
#include "ltc_backend/record/ops/group_norm.h"
#include "ltc_backend/record/ops/gru.h"
#include "ltc_backend/record/ops/linalg_values.h"
#include "ltc_backend/record/ops/linear_combination.h"
#include "ltc_backend/record/ops/lstm.h"
#include "ltc_backend/record/ops/mixed_list.h"
#include "ltc_backend/record/ops/optimizer_state.h"
#include "ltc_backend/record/ops/packed_sequence.h"
#include "ltc_backend/record/ops/rnn.h"
#include "ltc_backend/record/over_stock.h"
#include "ltc_backend/record/questions.h"
#include "ltc_backend/record/recorder.h"
#include "ltc_backend/record/schema.h"
#include "ltc_backend/record/transfer.h"
#include "ltc_backend/record/views/direct_view.h"
#include "ltc_backend/record/views/math_bits.h"
#include "ltc_backend/record/views/show_in_place.h"
#include "ltc_backend/record/views/storage_view.h"
#include "ltc_backend/record/views/strided_view.h"
#include "ltc_backend/record/wrapper.h"
#include "ltc_backend/record/writes/bare_write.h"
#include "ltc_backend/record/writes/in_place.h"
#include "ltc_backend/record/writes/out_twin.h"
#include "ltc_backend/record/writes/write_kernel.h"

#include <ATen/FunctionalTensorWrapper.h>

namespace ltc::backend {
using c10::DispatchKey;
using torch::CppFunction;

static bool isRecorded(const c10::OperatorHandle &op) {
  // silu_backward and mish_backward have a kernel of the CPU's beside that.
  bool isComposite =
      op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd) &&
      !op.hasKernelForDispatchKey(DispatchKey::CPU);
  if (isComposite || op.hasKernelForDispatchKey(DispatchKey::Lazy) ||
      factsOf(c10::toString(op.operator_name())).has(OpFact::NotRecorded))
    return false;
  if (hasAliases(op.schema()))
    return false; // views and writers: functionalisation rewrites them
  return op.hasKernelForDispatchKey(DispatchKey::CPU) ||
         op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd) ||
         op.hasKernelForDispatchKey(
             DispatchKey::CompositeExplicitAutogradNonFunctional);
}

static void registerRecorder(torch::Library &library,
                             torch::Library &functionalize) {
  forEachAtenOp([&](const c10::OperatorHandle &op, const char *name) {
    if (!isRecorded(op))
      return;
    registerRecordKernel(library, name, opInfo(op));
    // Copies of views are laid out in another way than their meta kernels say.
    if (op.hasKernelForDispatchKey(DispatchKey::Functionalize) ||
        op.schema().name().ends_with("_copy"))
      return;
    // To a device without a kernel, what is composite too is nothing else.
    bool overAutograd =
        !returnsConjugates(name) &&
        !op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd);
    registerDirectKernel(functionalize, name, opInfo(op), overAutograd);
    if (std::string_view(name).starts_with("_foreach_"))
      registerMixedList(functionalize, name, op);
  });
}

static void recordAnyOther(const c10::OperatorHandle &op,
                           torch::jit::Stack *stack) {
  const c10::FunctionSchema &schema = op.schema();
  if (isCalledByHandler())
    return callFunctionalised(op, stack);
  if (schema.is_mutable() && schema.name().starts_with("aten::"))
    return writeBare(op, *stack);
  if (!hasAliases(schema))
    return record(opInfo(op), *stack);
  auto arguments = torch::jit::last(*stack, schema.arguments().size()).vec();
  record(opInfo(op), *stack);
  noteBareView(op, arguments,
               torch::jit::last(*stack, schema.returns().size()));
}

namespace {
struct Silence final : c10::WarningHandler {
  void process(const c10::Warning &) override {}
};
} // namespace

void keepKernel(const std::string &op, const std::string &overload) {
  static auto *kept = new std::vector<c10::KernelFunction>;
  kept->push_back(kernelOf(c10::Dispatcher::singleton().findSchemaOrThrow(
                               op.c_str(), overload.c_str()),
                           DispatchKey::Lazy));
}

void registerKernels(const std::function<void()> &dropFallback) {
  torch::Library *aten = makeLibrary("aten", DispatchKey::Lazy);
  torch::Library *functionalize =
      makeLibrary("aten", DispatchKey::Functionalize);
  // PyTorch warns about any second kernel for an op; ours hand on to the first,
  // so there is nothing to tell the user.
  Silence silence;
  c10::WarningUtils::WarningHandlerGuard quiet(&silence);
  registerTransfers(*aten);
  registerQuestions(*aten);
  registerLinalgCheck(*aten);
  registerCtcLoss(*aten);
  registerCheckedValues(*aten, *functionalize);
  registerGroupNorm(*functionalize);
  registerLinalgValues(*functionalize);
  registerAttention();
  registerLstm();
  registerGru();
  registerPackedSequence();
  registerRnn();
  registerDet();
  registerFakeQuantize();
  aten->impl("native_batch_norm",
             CppFunction::makeFromBoxedFunction<&batchNorm>());
  registerWrappers(*functionalize);
  registerDirectBatchNorm(*functionalize);
  registerNotDense();
  registerRecorder(*aten, *functionalize);
  registerOptimizerState(*functionalize);
  // A key has one fallback at a time. By now, no op that can be the first on
  // the device in another thread is without a kernel of its own.
  if (dropFallback) {
    keepKernel("aten::resize_", ""); // which has no other
    dropFallback();
  }
  makeLibrary("_", DispatchKey::Lazy)
      ->fallback(CppFunction::makeFromBoxedFunction<&recordAnyOther>());

  registerWrites(*functionalize);
  registerLinearCombination(*functionalize);
  registerInPlaceOps(*functionalize);
  registerFusedSteps(*functionalize);
  registerStridedViews(*functionalize);
  registerForInferenceMode(*functionalize);
  registerForDispatchModes();
  registerDirectViews(*functionalize);
  registerSetStorage(*functionalize);
  registerShowInPlace(*functionalize);
  registerAutocast();
  registerOutTwins();
  registerMathBits(*functionalize);
  registerDirectTransfers(*functionalize);
  watchCustomOps();
  forgetAtenOps();
}

} // namespace ltc::backend
