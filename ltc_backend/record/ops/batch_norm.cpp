//===- ops/batch_norm.cpp - The one op that writes without saying so ------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// native_batch_norm updates its running statistics in place although its schema
// calls them read-only, so functionalisation cannot see it. It is recorded as
// the functional form, and the statistics are given their new values.
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/batch_norm.h"

#include "ltc_backend/record/direct.h"
#include "ltc_backend/record/direct_kernel.h"
#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/record/recorder.h"
#include "ltc_backend/record/unboxed.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/lazy_tensor.h"
#include "ltc_backend/torch_private.h"

#include <ATen/ATen.h>

namespace ltc::backend {
using at::Tensor;
using MaybeTensor = std::optional<at::Tensor>;

static const OpInfo &functionalForm() {
  static const OpInfo &info =
      opInfo("aten::_native_batch_norm_legit_functional", "");
  return info;
}

static void batchNorm(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  auto arguments = torch::jit::last(*stack, 8);
  auto optional = [&](size_t i) {
    return arguments[i].isTensor() ? arguments[i].toTensor() : at::Tensor();
  };
  at::Tensor runningMean = optional(3), runningVar = optional(4);
  bool updates =
      arguments[5].toBool() && runningMean.defined() && runningVar.defined();
  if (!updates)
    return record(opInfo(op), *stack);
  record(functionalForm(), *stack);
  for (at::Tensor *running : {&runningVar, &runningMean}) {
    at::Tensor updated = torch::jit::pop(*stack).toTensor();
    assign(tensorData(*running), operandOf(tensorData(updated)));
  }
}

void registerBatchNorm(torch::Library &library) {
  library.impl("native_batch_norm",
               torch::CppFunction::makeFromBoxedFunction<&batchNorm>());
}

static bool isUpdated(const MaybeTensor &running) {
  return running && running->defined() && isFunctionalLazy(*running);
}

void registerDirectBatchNorm(torch::Library &library) {
  c10::OperatorHandle op = atenOp("native_batch_norm");
  // Finds only what is no training: no other call is recorded by that name.
  registerDirectKernel(library, "native_batch_norm", opInfo(op),
                       /*overAutograd=*/true);
  c10::KernelFunction stock = kernelOf(op, c10::DispatchKey::Functionalize);
  auto kernel = [op, stock](c10::DispatchKeySet keys, const Tensor &input,
                            const MaybeTensor &weight, const MaybeTensor &bias,
                            const MaybeTensor &mean, const MaybeTensor &var,
                            bool training, double momentum, double eps) {
    bool updates = training && keys.has(c10::DispatchKey::Lazy) &&
                   isUpdated(mean) && isUpdated(var);
    if (updates && !(isAlone(*mean) && isAlone(*var))) {
      // Others show the statistics too.
      auto [y, saved, inverse, newMean, newVar] =
          at::_native_batch_norm_legit_functional(
              input, weight, bias, *mean, *var, training, momentum, eps);
      Tensor(*mean).copy_(newMean);
      Tensor(*var).copy_(newVar);
      return std::make_tuple(y, saved, inverse);
    }
    if (updates && isOrdinary(functionalForm())) {
      CallReader call(functionalForm(), input, weight, bias, mean, var,
                      training, momentum, eps);
      std::array<Tensor, 3> results;
      if (recordDirectly(call, results, {&*var, &*mean}))
        return asResult(std::move(results));
    }
    return stock.call<Result<3>, const Tensor &, const MaybeTensor &,
                      const MaybeTensor &, const MaybeTensor &,
                      const MaybeTensor &, bool, double, double>(
        op, keys, input, weight, bias, mean, var, training, momentum, eps);
  };
  library.impl("native_batch_norm", torch::CppFunction(kernel));
}

} // namespace ltc::backend
