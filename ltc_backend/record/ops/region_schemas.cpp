//===- ops/region_schemas.cpp - Ops that run graphs of their own ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/region_schemas.h"

#include "ltc/region_ops.h"
#include "ltc_backend/convert.h"
#include "ltc_backend/raise.h"
#include "ltc_backend/record/ops/layer_op.h"

#include <ATen/ops/empty.h>

namespace ltc::backend {

/// Tensors like the results of the last argument, a graph.
static void emptyResults(const c10::OperatorHandle &op,
                         torch::jit::Stack *stack) {
  Graph region = valueOrRaise(Graph::parse(stack->back().toStringRef()));
  c10::List<at::Tensor> results;
  for (const GraphOutput &output : region.outputs) {
    TensorType type = region.typeOf(output.value).tensor;
    results.push_back(at::empty(type.dims, at::TensorOptions(at::kMeta).dtype(
                                               toScalarType(type.dtype))));
  }
  torch::jit::drop(*stack, op.schema().arguments().size());
  stack->emplace_back(std::move(results));
}

void registerControlFlow() {
  static torch::Library *meta = makeLibrary("ltc", c10::DispatchKey::Meta);
  auto tensor = c10::TensorType::get();
  auto tensors = c10::ListType::create(tensor);
  auto numbers = c10::ListType::create(c10::NumberType::get());
  auto text = c10::StringType::get();
  auto define = [&](std::string_view op, const c10::Argument &first,
                    const char *one, const char *other) {
    for (const char *overload : {"", "seeded"}) {
      c10::OperatorName name(std::string(op), overload);
      const std::vector<at::Tag> tags(*overload ? 1 : 0,
                                      at::Tag::nondeterministic_seeded);
      layerOps().def(c10::FunctionSchema(name.name, overload,
                                         {first,
                                          {"operands", tensors},
                                          {"numbers", numbers},
                                          {one, text},
                                          {other, text}},
                                         {{"", tensors}}),
                     tags);
      meta->impl(c10::toString(name).c_str(),
                 torch::CppFunction::makeFromBoxedFunction<&emptyResults>());
    }
  };
  define(kCond, {"predicate", tensor}, "then", "otherwise");
  define(kWhileLoop, {"carried", tensors}, "condition", "body");
}

} // namespace ltc::backend
