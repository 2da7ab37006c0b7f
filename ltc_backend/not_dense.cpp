//===- not_dense.cpp - Keys of tensors that are not dense -----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library of its own, which `import torch` loads in a third of a millisecond:
// a program's first tensor on a lazy device may be sparse, nested or quantized,
// and Python's torch.library does not know the names of these keys. Only ops
// that make such a tensor of none, or of the CPU's, have a kernel here: a
// fallback, which is for all ops, takes five milliseconds to register.
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/not_dense.h"

#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <atomic>

namespace ltc::backend {
using c10::OperatorHandle;
using torch::CppFunction;
using torch::jit::Stack;

static std::atomic<CallNotDense> callNow;

template <NotDense What>
static void call(const OperatorHandle &op, Stack *stack) {
  if (!callNow)
    at::empty({0}, c10::kLazy);
  callNow.load()(What, op, stack);
}

template <NotDense What>
static void implement(torch::Library &library, const char *op) {
  library.impl(op, CppFunction::makeFromBoxedFunction<&call<What>>());
}

TORCH_LIBRARY_IMPL(aten, SparseLazy, library) {
  implement<NotDense::Sparse>(library, "empty.memory_format");
  implement<NotDense::Sparse>(library, "_sparse_coo_tensor_with_dims");
  implement<NotDense::Sparse>(library, "_to_copy");
}

TORCH_LIBRARY_IMPL(aten, SparseCsrLazy, library) {
  implement<NotDense::Sparse>(library, "empty.memory_format");
  implement<NotDense::Sparse>(library, "_sparse_compressed_tensor_with_dims");
  implement<NotDense::Sparse>(library, "_to_copy");
}

TORCH_LIBRARY_IMPL(aten, NestedTensorLazy, library) {
  implement<NotDense::Nested>(library, "_to_copy");
}

TORCH_LIBRARY_IMPL(aten, QuantizedLazy, library) {
  for (const char *op : {"_to_copy", "_empty_affine_quantized",
                         "_empty_per_channel_affine_quantized",
                         "empty_quantized", "empty.memory_format"})
    implement<NotDense::Quantized>(library, op);
}

} // namespace ltc::backend

extern "C" void ltc_set_not_dense(ltc::backend::CallNotDense call) {
  ltc::backend::callNow = call;
}
