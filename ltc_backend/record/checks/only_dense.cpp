//===- checks/only_dense.cpp - Tensors that a device has none of ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/checks/only_dense.h"

#include "ltc_backend/library.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/recorder.h"

namespace ltc::backend {
using c10::DispatchKey;
using torch::CppFunction;

[[noreturn]] static void refuse(const char *kind, const c10::OperatorHandle &op,
                                const char *hint) {
  raise({ErrorCode::Unsupported, Stage::Record,
         std::string("there are no ") + kind + " tensors on a lazy device",
         c10::toString(op.operator_name()), sourceOf(currentSource()), hint});
}

static void refuseSparse(const c10::OperatorHandle &op, torch::jit::Stack *) {
  refuse("sparse", op,
         "x.cpu() before it, or the dense form of what makes it sparse, such "
         "as sparse=False in nn.Embedding");
}

static void refuseNested(const c10::OperatorHandle &op, torch::jit::Stack *) {
  refuse("nested", op, "pad on the CPU: torch.nested.to_padded_tensor");
}

static void refuseQuantized(const c10::OperatorHandle &op,
                            torch::jit::Stack *) {
  refuse("quantized", op,
         "x.cpu() before it, or fake_quantize_per_tensor_affine");
}

/// Its meta kernel knows no sparse result.
static void recordDenseBackward(const c10::OperatorHandle &op,
                                torch::jit::Stack *stack) {
  size_t arguments = op.schema().arguments().size();
  if (torch::jit::peek(*stack, /*sparse*/ 9, arguments).toBool())
    refuseSparse(op, stack);
  record(opInfo(op), *stack);
}

void registerRefusals() {
  auto fallBack = [](DispatchKey key, CppFunction kernel) {
    makeLibrary("_", key)->fallback(std::move(kernel));
  };
  for (DispatchKey key : {DispatchKey::SparseLazy, DispatchKey::SparseCsrLazy})
    fallBack(key, CppFunction::makeFromBoxedFunction<&refuseSparse>());
  fallBack(DispatchKey::NestedTensorLazy,
           CppFunction::makeFromBoxedFunction<&refuseNested>());
  fallBack(DispatchKey::QuantizedLazy,
           CppFunction::makeFromBoxedFunction<&refuseQuantized>());
  // A composite kernel stands before the fallback, and gives back a CPU tensor.
  makeLibrary("aten", DispatchKey::QuantizedLazy)
      ->impl("_to_copy",
             CppFunction::makeFromBoxedFunction<&refuseQuantized>());
  torch::Library *aten = makeLibrary("aten", DispatchKey::Lazy);
  for (const char *name :
       {"quantize_per_tensor", "quantize_per_tensor.tensor_qparams",
        "quantize_per_tensor.tensors", "quantize_per_tensor_dynamic",
        "quantize_per_channel"})
    aten->impl(name, CppFunction::makeFromBoxedFunction<&refuseQuantized>());
  aten->impl("_embedding_bag_backward",
             CppFunction::makeFromBoxedFunction<&recordDenseBackward>());
  // torch.smm of a sparse CPU tensor and a lazy one, which is only functional.
  makeLibrary("aten", DispatchKey::Functionalize)
      ->impl("sspaddmm.out",
             CppFunction::makeFromBoxedFunction<&refuseSparse>());
}

} // namespace ltc::backend
