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
#include "ltc_backend/record/map_tensors.h"
#include "ltc_backend/record/over_stock.h"
#include "ltc_backend/record/recorder.h"

namespace ltc::backend {
using c10::DispatchKey;
using torch::CppFunction;

/// A tensor of the CPU among the arguments that is not dense, and beside which
/// a lazy one stands: its words, or none.
static std::string foundBeside(const c10::OperatorHandle &op,
                               const torch::jit::Stack &stack) {
  std::string notDense, lazy;
  size_t count = op.schema().arguments().size();
  for (const c10::IValue &value : torch::jit::last(stack, count))
    forEachTensor(value, [&](const at::Tensor &tensor) {
      if (!tensor.defined())
        return;
      if (tensor.device().is_lazy())
        lazy = tensor.device().str();
      else if (tensor.layout() != at::kStrided || tensor.is_nested() ||
               tensor.is_quantized())
        notDense = tensor.device().str();
    });
  return notDense.empty() || lazy.empty()
             ? ""
             : ", and found was one on " + notDense + " beside one on " + lazy;
}

static void refuse(NotDense what, const c10::OperatorHandle &op,
                   const torch::jit::Stack &stack) {
  static const struct {
    const char *name, *hint;
  } kinds[] = {
      {"sparse", "x.cpu() before it, or the dense form of what makes it "
                 "sparse, such as sparse=False in nn.Embedding"},
      {"nested", "pad on the CPU: torch.nested.to_padded_tensor"},
      {"quantized", "x.cpu() before it, or fake_quantize_per_tensor_affine"}};
  const auto &kind = kinds[size_t(what)];
  raise({ErrorCode::Unsupported, Stage::Record,
         std::string("there are no ") + kind.name +
             " tensors on a lazy device" + foundBeside(op, stack),
         c10::toString(op.operator_name()), sourceOf(currentSource()),
         kind.hint});
}

template <NotDense What> static CppFunction refusal() {
  constexpr auto kernel = [](const c10::OperatorHandle &op,
                             torch::jit::Stack *stack) {
    refuse(What, op, *stack);
  };
  return CppFunction::makeFromBoxedFunction<+kernel>();
}

/// Its meta kernel knows no sparse result.
static void recordDenseBackward(const c10::OperatorHandle &op,
                                torch::jit::Stack *stack) {
  size_t arguments = op.schema().arguments().size();
  if (torch::jit::peek(*stack, /*sparse*/ 9, arguments).toBool())
    refuse(NotDense::Sparse, op, *stack);
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
      refuse(NotDense::Nested, op, *stack);
    stock.callBoxed(op, keys, stack);
  }
};

/// Of a nested tensor of the CPU and a lazy one: PyTorch's formula, which such
/// calls reach before any kernel of ours, asks a nested tensor for its sizes.
struct ProductOfNested final : OverStock {
  explicit ProductOfNested(const c10::OperatorHandle &op)
      : OverStock(op, DispatchKey::AutogradNestedTensor) {}

  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    if (!foundBeside(op, *stack).empty())
      refuse(NotDense::Nested, op, *stack);
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
  for (const char *name : {"linear", "matmul"})
    implementBoxed<ProductOfNested>(
        *makeLibrary("aten", DispatchKey::AutogradNestedTensor), name,
        atenOp(name));
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
