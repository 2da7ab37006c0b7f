//===- ops/shard.cpp - Where devices have a tensor's parts ----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/shard.h"

#include "ltc_backend/library.h"
#include "ltc_backend/record/recorder.h"
#include "ltc_backend/tensors/op_info.h"

#include <ATen/ATen.h>

namespace ltc::backend {

static at::Tensor shard(const at::Tensor &self, at::IntArrayRef grid,
                        at::IntArrayRef splits) {
  TORCH_CHECK_VALUE(grid.size() == splits.size(), "shard: a grid of ",
                    grid.size(), " axes, and ", splits.size(), " splits");
  for (int64_t split : splits)
    TORCH_CHECK_VALUE(split >= -1 && split < self.dim(), "shard: a tensor of ",
                      self.dim(), " dimensions has none of number ", split);
  return self.clone();
}

static void recordShard(const c10::OperatorHandle &, torch::jit::Stack *stack) {
  static const OpInfo &op = opInfo("torch_ltc::shard", "");
  record(op, *stack);
}

void registerShard() {
  c10::TypePtr integers = c10::ListType::ofInts();
  defineOwnOp("shard",
              {{"self", c10::TensorType::get()},
               {"grid", integers},
               {"splits", integers}},
              /*results=*/1);
  ownLibrary().impl(
      "shard",
      torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, shard));
  ownLibrary().impl(
      "shard", torch::dispatch(
                   c10::DispatchKey::Lazy,
                   torch::CppFunction::makeFromBoxedFunction<recordShard>()));
}

} // namespace ltc::backend
