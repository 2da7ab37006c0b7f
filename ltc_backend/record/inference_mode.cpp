//===- record/inference_mode.cpp - Ops in inference mode --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/inference_mode.h"

#include "ltc_backend/library.h"
#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/record/stock_call.h"
#include "ltc_backend/record/unboxed.h"
#include "ltc_backend/record/views/direct_view.h"
#include "ltc_backend/record/views/math_bits.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/map_tensors.h"
#include "ltc_backend/tensors/wrapper.h"

#include <c10/util/accumulate.h>

namespace ltc::backend {
using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::OperatorHandle;

namespace {
class CompositeKernel final : public KernelOverride {
public:
  explicit CompositeKernel(const OperatorHandle &op)
      : KernelOverride(op), op(op), parts(kernelOf(op, DispatchKey::IPU)) {}

  void operator()(const OperatorHandle &, DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    kernelFor(keys).callBoxed(op, keys, stack);
  }

  template <typename... Args>
  at::Tensor unboxed(DispatchKeySet keys, Args... arguments) const {
    return kernelFor(keys).call<at::Tensor, Args...>(op, keys, arguments...);
  }

private:
  const c10::KernelFunction &kernelFor(DispatchKeySet keys) const {
    return keys.has(DispatchKey::Lazy) ? parts : stock;
  }

  OperatorHandle op;
  c10::KernelFunction parts;
};

struct InferenceViewKernel final : KernelOverride {
  explicit InferenceViewKernel(const OperatorHandle &op)
      : KernelOverride(op), arguments(op.schema().arguments().size()),
        goesByMode(op.schema().overload_name() == "dtype") {}

  void operator()(const OperatorHandle &op, DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    at::Tensor self = torch::jit::peek(*stack, 0, arguments).toTensor();
    // PyTorch's views do not sync what they are taken of.
    materialise(self);
    callStock(stock, op, keys, *stack);
    if (!isFunctionalLazy(self))
      return;
    // And lose the bits of that, and its mode.
    forEachTensor(stack->back(), [&](const at::Tensor &view) {
      if (hasMathBits(self)) [[unlikely]]
        copyMathBits(self, view);
      if (!goesByMode)
        shareInference(self, view);
    });
  }

private:
  size_t arguments;
  bool goesByMode; ///< in eager, as views of another dtype do
};
} // namespace

static bool isView(const c10::FunctionSchema &schema) {
  if (schema.is_mutable() || schema.arguments().empty())
    return false;
  // To PyTorch's functionalisation it is one, and its schema does not say so.
  if (schema.name() == "aten::_unsafe_view")
    return true;
  const c10::Argument &self = schema.arguments()[0];
  return self.alias_info() && self.type()->kind() == c10::TypeKind::TensorType;
}

/// New memory beside a tensor, or on another device, where functionalisation
/// would wrap it all the same.
static bool isEmptyLike(std::string_view name) {
  return name == "empty_like" || name == "new_empty" ||
         name == "new_empty_strided";
}

static bool isComposite(const OperatorHandle &op) {
  return op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd) &&
         !op.hasKernelForDispatchKey(DispatchKey::Lazy);
}

static void registerComposite(torch::Library &library, const char *name,
                              const OperatorHandle &op) {
  auto registerFor = [&]<typename... Args>(Takes<Args...>) {
    auto kernel = std::make_shared<CompositeKernel>(op);
    implement(library, name,
              [kernel](DispatchKeySet keys, Parameter<Args>... args) {
                return kernel->unboxed<Parameter<Args>...>(keys, args...);
              });
  };
  if (op.schema().is_mutable() || !visitComposite(op.schema(), registerFor))
    implementBoxed<CompositeKernel>(library, name, op);
}

/// These two are mostly a view, which is taken without asking for the parts.
static bool isReshaping(std::string_view name) {
  return name == "reshape" || name == "flatten.using_ints";
}

/// The sizes that flatten() gives; empty where it gives the tensor itself, or
/// an error.
static c10::DimVector flattened(at::IntArrayRef sizes, int64_t start,
                                int64_t end) {
  auto rank = int64_t(sizes.size());
  start += start < 0 ? rank : 0;
  end += end < 0 ? rank : 0;
  c10::DimVector result;
  if (start < 0 || start >= end || end >= rank)
    return result;
  auto first = sizes.begin() + start, last = sizes.begin() + end + 1;
  result.append(sizes.begin(), first);
  result.push_back(c10::multiply_integers(first, last));
  result.append(last, sizes.end());
  return result;
}

static void registerReshaping(torch::Library &library) {
  using Sizes = c10::SymIntArrayRef;
  auto reshape = std::make_shared<CompositeKernel>(atenOp("reshape"));
  implement(
      library, "reshape",
      [reshape](DispatchKeySet keys, const at::Tensor &self, Sizes sizes) {
        at::Tensor view = takeViewAs(self, sizes);
        return view.defined() ? view
                              : reshape->unboxed<const at::Tensor &, Sizes>(
                                    keys, self, sizes);
      });
  auto flatten =
      std::make_shared<CompositeKernel>(atenOp("flatten", "using_ints"));
  implement(library, "flatten.using_ints",
            [flatten](DispatchKeySet keys, const at::Tensor &self,
                      int64_t start, int64_t end) {
              at::Tensor view;
              if (auto sizes = flattened(self.sizes(), start, end);
                  !sizes.empty())
                view = takeViewAs(self, c10::fromIntArrayRefSlow(sizes));
              if (view.defined())
                return view;
              return flatten->unboxed<const at::Tensor &, int64_t, int64_t>(
                  keys, self, start, end);
            });
}

/// Whether `self.data = from` can be: for dense devices, neither bits nor the
/// keys that tensors of inference mode lack make a difference.
static bool isOfOneKind(const at::Tensor &self, const at::Tensor &from) {
  constexpr DispatchKeySet passing =
      kMathBits | c10::autograd_dispatch_keyset_with_ADInplaceOrView;
  return self.unsafeGetTensorImpl()->has_compatible_shallow_copy_type(
      (from.key_set() - passing) | (self.key_set() & passing));
}

void registerForInferenceMode(torch::Library &library) {
  // A composite op.
  const char *asked = "_has_compatible_shallow_copy_type";
  makeLibrary("aten", DispatchKey::AutogradLazy)->impl(asked, isOfOneKind);
  library.impl(asked, isOfOneKind);
  forEachAtenOp([&](const OperatorHandle &op, const char *name) {
    bool isFunctionalised =
        op.hasKernelForDispatchKey(DispatchKey::Functionalize);
    if (isReshaping(name))
      return;
    if ((isComposite(op) || isEmptyLike(name)) && !isFunctionalised)
      registerComposite(library, name, op);
    else if (isView(op.schema()) && isFunctionalised && !isComposite(op))
      implementBoxed<InferenceViewKernel>(library, name, op);
  });
  registerReshaping(library);
}

} // namespace ltc::backend
