//===- checks/only_dense.cpp - Tensors that a device has none of ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/checks/only_dense.h"

#include "ltc_backend/library.h"
#include "ltc_backend/not_dense.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/over_stock.h"
#include "ltc_backend/record/recorder.h"

namespace ltc::backend {
using c10::DispatchKey;
using torch::CppFunction;

static void refuse(NotDense what, const c10::OperatorHandle &op) {
  static const struct {
    const char *name, *hint;
  } kinds[] = {
      {"sparse", "x.cpu() before it, or the dense form of what makes it "
                 "sparse, such as sparse=False in nn.Embedding"},
      {"nested", "pad on the CPU: torch.nested.to_padded_tensor"},
      {"quantized", "x.cpu() before it, or fake_quantize_per_tensor_affine"}};
  const auto &kind = kinds[size_t(what)];
  raise({ErrorCode::Unsupported, Stage::Record,
         std::string("there are no ") + kind.name + " tensors on a lazy device",
         c10::toString(op.operator_name()), sourceOf(currentSource()),
         kind.hint});
}

template <NotDense What> static CppFunction refusal() {
  constexpr auto kernel = [](const c10::OperatorHandle &op,
                             torch::jit::Stack *) { refuse(What, op); };
  return CppFunction::makeFromBoxedFunction<+kernel>();
}

/// Its meta kernel knows no sparse result.
static void recordDenseBackward(const c10::OperatorHandle &op,
                                torch::jit::Stack *stack) {
  size_t arguments = op.schema().arguments().size();
  if (torch::jit::peek(*stack, /*sparse*/ 9, arguments).toBool())
    refuse(NotDense::Sparse, op);
  record(opInfo(op), *stack);
}

namespace {
/// Of a nested tensor of the CPU: PyTorch's kernel asserts that it knows the
/// device that the like is to be on.
struct EmptyLikeNested final : OverStock {
  explicit EmptyLikeNested(const c10::OperatorHandle &op)
      : OverStock(op, DispatchKey::NestedTensorCPU) {}

  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    const c10::IValue &device = torch::jit::peek(*stack, 3, 6);
    if (device.isDevice() && device.toDevice().is_lazy())
      refuse(NotDense::Nested, op);
    stock.callBoxed(op, keys, stack);
  }
};
} // namespace

void registerRefusals() {
  ltc_set_refusal(refuse);
  auto fallBack = [](DispatchKey key, CppFunction kernel) {
    makeLibrary("_", key)->fallback(std::move(kernel));
  };
  for (DispatchKey key : {DispatchKey::SparseLazy, DispatchKey::SparseCsrLazy})
    fallBack(key, refusal<NotDense::Sparse>());
  fallBack(DispatchKey::NestedTensorLazy, refusal<NotDense::Nested>());
  implementBoxed<EmptyLikeNested>(
      *makeLibrary("aten", DispatchKey::NestedTensorCPU), "empty_like",
      atenOp("empty_like"));
  fallBack(DispatchKey::QuantizedLazy, refusal<NotDense::Quantized>());
  torch::Library *aten = makeLibrary("aten", DispatchKey::Lazy);
  for (const char *name :
       {"quantize_per_tensor", "quantize_per_tensor.tensor_qparams",
        "quantize_per_tensor.tensors", "quantize_per_tensor_dynamic",
        "quantize_per_channel"})
    aten->impl(name, refusal<NotDense::Quantized>());
  aten->impl("_embedding_bag_backward",
             CppFunction::makeFromBoxedFunction<&recordDenseBackward>());
  // torch.smm of a sparse CPU tensor and a lazy one, which is only functional.
  makeLibrary("aten", DispatchKey::Functionalize)
      ->impl("sspaddmm.out", refusal<NotDense::Sparse>());
}

} // namespace ltc::backend
