//===- writes/out_twin.cpp - out= ops that lose what they should write ----===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/writes/out_twin.h"

#include "ltc/op_facts.h"
#include "ltc_backend/library.h"
#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/record/writes/write_check.h"

#include <ATen/native/Resize.h>

namespace ltc::backend {
namespace {
using c10::DispatchKey;

struct OutKernel final : KernelOverride {
  OutKernel(const c10::OperatorHandle &op, const c10::OperatorHandle &twin,
            DispatchKey key)
      : KernelOverride(op, key), twin(twin), check(op, /*warns=*/false) {}

  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    size_t inputs = twin.schema().arguments().size();
    size_t count = op.schema().arguments().size();
    auto arguments = torch::jit::last(*stack, count).vec();
    if (arguments[inputs].toTensor().device().type() != at::kLazy)
      return stock.callBoxed(op, keys, stack);
    check(arguments);
    torch::jit::Stack call(arguments.begin(), arguments.begin() + inputs);
    twin.callBoxed(&call);
    torch::jit::drop(*stack, count);
    for (size_t i = 0; i < call.size(); ++i) {
      const at::Tensor &out = arguments[inputs + i].toTensor();
      resize(op.schema().name(), out, call[i].toTensor().sizes());
      write(op.schema().name(), call[i].toTensor(), out);
      stack->emplace_back(out);
    }
  }

private:
  static void resize(const std::string &name, const at::Tensor &out,
                     c10::IntArrayRef sizes) {
    if (at::native::resize_output(out, sizes) && name == "aten::nonzero")
      out.as_strided_(sizes, {1, sizes[0]}); // as eager lays it out
  }

  /// Eager fills `out` with the number that max() and min() find, which has to
  /// fit: in 16 bits it becomes infinite.
  static void write(const std::string &name, const at::Tensor &result,
                    const at::Tensor &out) {
    if ((name == "aten::max" || name == "aten::min") &&
        !c10::isReducedFloatingType(out.scalar_type()))
      out.masked_fill_(at::ones({}, out.options().dtype(at::kBool)), result);
    else
      out.copy_(result);
  }

  c10::OperatorHandle twin;
  WriteCheck check;
};

/// An op whose overloads have twins that differ in their first arguments alone.
struct Row {
  const char *name, *outOverload, *overload;
};
constexpr Row rows[] = {
    {"linalg_matrix_rank", "out", ""},
    {"linalg_matrix_rank", "out_tol_tensor", "tol_tensor"},
    {"linalg_matrix_rank", "atol_rtol_float_out", "atol_rtol_float"},
    {"linalg_matrix_rank", "atol_rtol_tensor_out", "atol_rtol_tensor"},
    {"kron", "out", ""},
    {"max", "unary_out", ""},
    {"min", "unary_out", ""},
    {"linalg_lstsq", "out", ""},
    {"masked_select", "out", ""},
    {"nonzero", "out", ""},
    {"_native_batch_norm_legit", "out", ""},
    {"_native_batch_norm_legit", "no_stats_out", "no_stats"},
};

/// linspace and its like: what has as many elements as they make keeps its
/// shape.
struct RangeKernel final : KernelOverride {
  using KernelOverride::KernelOverride;
  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    at::Tensor out = stack->back().toTensor();
    if (out.device().type() != at::kLazy)
      return stock.callBoxed(op, keys, stack);
    at::Tensor made = at::empty({out.numel()}, out.options());
    stack->back() = made;
    stock.callBoxed(op, keys, stack);
    if (made.numel() != out.numel())
      resize(op.schema().name(), out, made.numel());
    out.copy_(made.view(out.sizes()));
    stack->back() = out;
  }

private:
  static void resize(const std::string &name, const at::Tensor &out,
                     int64_t size) {
    bool warns = name == "aten::arange" || name.starts_with("aten::fft_");
    if (warns && out.numel()) {
      TORCH_WARN("The number of elements in the out tensor of shape ",
                 out.sizes(), " is ", out.numel(),
                 " which does not match the computed number of elements ", size,
                 ". Note that this may occur as a result of rounding error. "
                 "The out tensor will be resized to a tensor of shape (",
                 size, ",).");
    }
    out.resize_({size});
  }
};
} // namespace

/// Those that have no kernel on the key are composed of one that has.
static void registerRanges() {
  torch::Library *library = makeLibrary("aten", DispatchKey::Functionalize);
  forEachAtenOp([&](const c10::OperatorHandle &op, const char *name) {
    const auto &arguments = op.schema().arguments();
    if (!arguments.empty() && arguments.back().is_out() &&
        factsOf(op.schema().name()).has(OpFact::MakesRange) &&
        op.hasKernelForDispatchKey(DispatchKey::Functionalize))
      implementBoxed<RangeKernel>(*library, name, op);
  });
}

void registerOutTwins() {
  registerRanges();
  // The composite kernels stand on the autograd key, below which is the other.
  for (DispatchKey key :
       {DispatchKey::AutogradLazy, DispatchKey::Functionalize}) {
    torch::Library *library = makeLibrary("aten", key);
    for (const Row &row : rows) {
      c10::OperatorHandle op = atenOp(row.name, row.outOverload);
      if (key == DispatchKey::AutogradLazy &&
          !op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd))
        continue;
      std::string name = std::string(row.name) + "." + row.outOverload;
      implementBoxed<OutKernel>(*library, name.c_str(), op,
                                atenOp(row.name, row.overload), key);
    }
  }
}

} // namespace ltc::backend
