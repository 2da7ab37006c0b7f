//===- writes/out_twin.cpp - out= ops that lose what they should write ----===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/writes/out_twin.h"

#include "ltc_backend/library.h"
#include "ltc_backend/record/over_stock.h"
#include "ltc_backend/record/writes/write_check.h"

#include <ATen/native/Resize.h>

namespace ltc::backend {
namespace {
using c10::DispatchKey;

struct OutKernel final : OverStock {
  OutKernel(const c10::OperatorHandle &op, const c10::OperatorHandle &twin,
            DispatchKey key)
      : OverStock(op, key), twin(twin), check(op, /*warns=*/false) {}

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
      at::native::resize_output(out, call[i].toTensor().sizes());
      out.copy_(call[i].toTensor());
      stack->emplace_back(out);
    }
  }

private:
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
    {"linalg_lstsq", "out", ""},
    {"masked_select", "out", ""},
    {"nonzero", "out", ""},
    {"_native_batch_norm_legit", "out", ""},
    {"_native_batch_norm_legit", "no_stats_out", "no_stats"},
};
} // namespace

void registerOutTwins() {
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
