//===- host/not_dense_kernels.cpp - Kernels of tensors not dense ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch has ops of such tensors by the key of a device; those that another
// device has are made on the host. A call with a dense lazy tensor too comes by
// Functionalize first, and must not be unwrapped: what it gives may be sparse.
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/host/not_dense_kernels.h"

#include "ltc_backend/not_dense.h"
#include "ltc_backend/record/fallback.h"
#include "ltc_backend/record/host/host_call.h"
#include "ltc_backend/record/host/sparse.h"
#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/record/stock_call.h"

namespace ltc::backend {
using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::KernelFunction;
using c10::OperatorHandle;
using torch::CppFunction;

/// A tensor of the CPU among the arguments that is nested, and beside which a
/// lazy one stands: its words, or none.
static std::string foundBeside(const OperatorHandle &op,
                               const torch::jit::Stack &stack) {
  std::string nested, lazy;
  size_t count = op.schema().arguments().size();
  for (const c10::IValue &value : torch::jit::last(stack, count))
    forEachTensor(value, [&](const at::Tensor &tensor) {
      if (!tensor.defined())
        return;
      if (tensor.device().is_lazy())
        lazy = tensor.device().str();
      else if (tensor.is_nested())
        nested = tensor.device().str();
    });
  return nested.empty() || lazy.empty()
             ? ""
             : ", and found was one on " + nested + " beside one on " + lazy;
}

static void refuseNestedCall(const OperatorHandle &op,
                             torch::jit::Stack *stack) {
  refuseNested(op, foundBeside(op, *stack));
}

namespace {
/// Of a nested tensor of the CPU: PyTorch's kernel asserts that it knows the
/// device that the like is to be on.
struct EmptyLikeNested final : KernelOverride {
  explicit EmptyLikeNested(const OperatorHandle &op)
      : KernelOverride(op, DispatchKey::NestedTensorCPU) {}

  void operator()(const OperatorHandle &op, DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    const c10::IValue &device = torch::jit::peek(*stack, 3, 6);
    if (device.isDevice() && device.toDevice().is_lazy())
      refuseNestedCall(op, stack);
    stock.callBoxed(op, keys, stack);
  }
};

/// Of a nested tensor of the CPU and a lazy one: PyTorch's formula, which such
/// calls reach before any kernel of ours, asks a nested tensor for its sizes.
struct ProductOfNested final : KernelOverride {
  explicit ProductOfNested(const OperatorHandle &op)
      : KernelOverride(op, DispatchKey::AutogradNestedTensor) {}

  void operator()(const OperatorHandle &op, DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    if (!foundBeside(op, *stack).empty())
      refuseNestedCall(op, stack);
    stock.callBoxed(op, keys, stack);
  }
};

/// On Functionalize: of an op that makes a sparse or quantized tensor of dense
/// ones, if there is a flag only where that is set.
struct MakerKernel final : KernelOverride {
  explicit MakerKernel(const OperatorHandle &op,
                       std::optional<size_t> flag = std::nullopt)
      : KernelOverride(op), flag(flag) {}
  void operator()(const OperatorHandle &op, DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    size_t count = op.schema().arguments().size();
    if (keys.has_backend(c10::BackendComponent::LazyBit) &&
        (!flag || torch::jit::peek(*stack, *flag, count).toBool()))
      return callNotDense(op, stack);
    stock.callBoxed(op, keys, stack);
  }

private:
  std::optional<size_t> flag;
};
} // namespace

static KernelFunction hostKernel() {
  return KernelFunction::makeFromBoxedFunction<&callNotDense>();
}

static const KernelFunction &functionalizing() {
  static const auto *stock = new KernelFunction(
      kernelOf(atenOp("sspaddmm"), DispatchKey::Functionalize));
  return *stock;
}

/// In place of PyTorch's for all ops that have no kernel on Functionalize.
static void functionalize(const OperatorHandle &op, DispatchKeySet keys,
                          torch::jit::Stack *stack) {
  callStock(functionalizing(), op, keys, *stack);
}

static void registerNested() {
  makeLibrary("_", DispatchKey::NestedTensorLazy)
      ->fallback(CppFunction::makeFromBoxedFunction<&refuseNestedCall>());
  implementBoxed<EmptyLikeNested>(
      *makeLibrary("aten", DispatchKey::NestedTensorCPU), "empty_like",
      atenOp("empty_like"));
  for (const char *name : {"linear", "matmul"})
    implementBoxed<ProductOfNested>(
        *makeLibrary("aten", DispatchKey::AutogradNestedTensor), name,
        atenOp(name));
}

static void callFirst(NotDense what, const OperatorHandle &op,
                      torch::jit::Stack *stack) {
  what == NotDense::Nested ? refuseNestedCall(op, stack)
                           : callNotDense(op, stack);
}

/// One kernel of PyTorch's for all devices, which is none for this one.
static bool asksForDevice(std::string_view name) {
  return name == "_to_copy" || name == "copy_" || name == "zeros" ||
         name == "zeros_like";
}

/// An op that PyTorch composes of others for a device without a kernel is
/// otherwise composed for ours too, where the CPU has one.
static void registerOnHost(DispatchKey cpu, DispatchKey lazy) {
  makeLibrary("_", lazy)->fallback(
      CppFunction::makeFromBoxedFunction<&callNotDense>());
  torch::Library &aten = *makeLibrary("aten", lazy);
  forEachAtenOp([&](const OperatorHandle &op, const char *name) {
    if (op.hasKernelForDispatchKey(cpu) || asksForDevice(name))
      addKernel(aten, name, hostKernel());
  });
}

void registerNotDense() {
  functionalizing(); // before ours stands in front of it
  replaceFallback(DispatchKey::Functionalize,
                  KernelFunction::makeFromBoxedFunction<&functionalize>());
  registerNested();
  registerOnHost(DispatchKey::SparseCPU, DispatchKey::SparseLazy);
  registerOnHost(DispatchKey::SparseCsrCPU, DispatchKey::SparseCsrLazy);
  registerOnHost(DispatchKey::QuantizedCPU, DispatchKey::QuantizedLazy);
  registerMembers();
  torch::Library &aten = *makeLibrary("aten", DispatchKey::Functionalize);
  forEachAtenOp([&](const OperatorHandle &op, const char *name) {
    std::string_view given = name;
    if (given.starts_with("_to_sparse") || given == "_spdiags" ||
        given.starts_with("quantize_per_") || given.starts_with("_make_per_") ||
        given == "_empty_per_channel_affine_quantized")
      if (!op.schema().is_mutable())
        implementBoxed<MakerKernel>(aten, name, op);
  });
  implementBoxed<MakerKernel>(aten, "_embedding_bag_backward",
                              atenOp("_embedding_bag_backward"), /*sparse*/ 9);
  ltc_set_not_dense(callFirst);
}

} // namespace ltc::backend
