//===- register.cpp - Every recorded op, found by walking the schemas -----===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/register.h"

#include "ltc_backend/library.h"
#include "ltc_backend/record/checks/checked_value.h"
#include "ltc_backend/record/checks/linalg_check.h"
#include "ltc_backend/record/collectives/collective.h"
#include "ltc_backend/record/direct_kernel.h"
#include "ltc_backend/record/direct_transfer.h"
#include "ltc_backend/record/dispatch_mode.h"
#include "ltc_backend/record/host/not_dense_kernels.h"
#include "ltc_backend/record/inference_mode.h"
#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/record/meta_kernel.h"
#include "ltc_backend/record/ops/attention_op.h"
#include "ltc_backend/record/ops/autocast.h"
#include "ltc_backend/record/ops/batch_norm.h"
#include "ltc_backend/record/ops/ctc_loss.h"
#include "ltc_backend/record/ops/custom_op.h"
#include "ltc_backend/record/ops/det.h"
#include "ltc_backend/record/ops/fake_quantize.h"
#include "ltc_backend/record/ops/fused_step.h"
#include "ltc_backend/record/ops/group_norm.h"
#include "ltc_backend/record/ops/gru_op.h"
#include "ltc_backend/record/ops/host_layer.h"
#include "ltc_backend/record/ops/linalg_values.h"
#include "ltc_backend/record/ops/linear_combination.h"
#include "ltc_backend/record/ops/lstm_op.h"
#include "ltc_backend/record/ops/mixed_list.h"
#include "ltc_backend/record/ops/packed_sequence.h"
#include "ltc_backend/record/ops/region_schemas.h"
#include "ltc_backend/record/ops/rnn_op.h"
#include "ltc_backend/record/ops/shard.h"
#include "ltc_backend/record/ops/zeros_like.h"
#include "ltc_backend/record/predicates.h"
#include "ltc_backend/record/record_kernel.h"
#include "ltc_backend/record/stock_call.h"
#include "ltc_backend/record/transfer.h"
#include "ltc_backend/record/views/direct_view.h"
#include "ltc_backend/record/views/math_bits.h"
#include "ltc_backend/record/views/show_in_place.h"
#include "ltc_backend/record/views/storage_view.h"
#include "ltc_backend/record/views/strided_view.h"
#include "ltc_backend/record/writes/in_place_kernel.h"
#include "ltc_backend/record/writes/out_twin.h"
#include "ltc_backend/record/writes/write_kernel.h"
#include "ltc_backend/tensors/schema.h"

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

/// Ops with kernels of their own, which come before those of all ops.
static void registerOwnKernels(torch::Library &lazy,
                               torch::Library &functionalize) {
  registerTransfers(lazy);
  registerPredicates(lazy);
  registerLinalgCheck(lazy);
  registerCtcLoss(lazy);
  registerShard();
  registerBatchNorm(lazy);
  registerCheckedValues(lazy, functionalize);
  registerGroupNorm(functionalize);
  registerLinalgValues(functionalize);
  registerAttention();
  registerHostLayers();
  registerLstm();
  registerGru();
  registerPackedSequence();
  registerRnn();
  registerDet();
  registerFakeQuantize();
  registerControlFlow();
}

/// What a call meets on the Functionalize key, from the last line up: an op's
/// kernel stands before those that it had, and hands on to the next one what it
/// has nothing to do for.
static void registerSteps(torch::Library &functionalize) {
  // At last PyTorch's kernel, which writes to tensors that stand for the
  // user's, or a known call recorded in its place.
  registerWrites(functionalize);
  registerLinearCombination(functionalize);
  registerInPlaceOps(functionalize);
  registerFusedSteps(functionalize);
  // Views: of strides, in the mode of what they show, taken without PyTorch's.
  registerStridedViews(functionalize);
  registerForInferenceMode(functionalize);
  registerDirectViews(functionalize);
  // What shows other memory from now on, with arguments that are up to date.
  registerSetStorage(functionalize);
  registerShowInPlace(functionalize);
  // First of all, the bits of conjugates and negatives, and copies.
  registerMathBits(functionalize);
  registerDirectTransfers(functionalize);
}

void registerKernels(const std::function<void()> &dropFallback) {
  torch::Library *lazy = makeLibrary("aten", DispatchKey::Lazy);
  torch::Library *functionalize =
      makeLibrary("aten", DispatchKey::Functionalize);
  // PyTorch warns about any second kernel for an op; ours hand on to the first,
  // so there is nothing to tell the user.
  Silence silence;
  c10::WarningUtils::WarningHandlerGuard quiet(&silence);
  registerMetaKernels();
  registerOwnKernels(*lazy, *functionalize);
  registerForDispatchModes(*lazy);
  // All that has a kernel on the Lazy key by now, and then all that is
  // recorded.
  registerWrappers(*functionalize);
  registerDirectBatchNorm(*functionalize);
  registerNotDense();
  registerRecorder(*lazy, *functionalize);
  registerOptimizerState(*functionalize);
  // A key has one fallback at a time. By now, no op that can be the first on
  // the device in another thread is without a kernel of its own.
  if (dropFallback) {
    keepKernel("aten::resize_", ""); // which has no other
    dropFallback();
  }
  makeLibrary("_", DispatchKey::Lazy)
      ->fallback(CppFunction::makeFromBoxedFunction<&recordAnyOther>());

  registerSteps(*functionalize);
  registerAutocast();
  registerOutTwins();
  registerCollectives();
  watchCustomOps();
  forgetAtenOps();
}

} // namespace ltc::backend
