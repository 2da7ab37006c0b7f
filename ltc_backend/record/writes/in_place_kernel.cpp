//===- writes/in_place_kernel.cpp - In-place ops, with eager's checks -----===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/writes/in_place_kernel.h"

#include "ltc_backend/record/direct.h"
#include "ltc_backend/record/fallback.h"
#include "ltc_backend/record/immediate_call.h"
#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/record/no_grad.h"
#include "ltc_backend/record/ops/autocast.h"
#include "ltc_backend/record/unboxed.h"
#include "ltc_backend/record/views/math_bits.h"
#include "ltc_backend/record/writes/in_place_list.h"
#include "ltc_backend/record/writes/lost_gradient.h"
#include "ltc_backend/record/writes/overlap.h"
#include "ltc_backend/record/writes/write_check.h"
#include "ltc_backend/record/writes/write_value.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/map_tensors.h"
#include "ltc_backend/tensors/wrapper.h"

#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/polygamma.h>
#include <c10/core/ScalarType.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace ltc::backend {
namespace {
namespace functional = at::functionalization::impl;
using c10::DispatchKey;
using c10::IValue;

/// The tensor inside a functional wrapper, with all updates of its base.
at::Tensor inner(const at::Tensor &tensor) {
  if (!tensor.defined() || !functional::isFunctionalTensor(tensor))
    return tensor;
  return functional::from_functional_tensor(materialised(tensor));
}

/// In the words of TensorIterator, which has these two checks for eager.
void checkFits(const at::Tensor &self, const at::Tensor &result) {
  TORCH_CHECK(self.sizes() == result.sizes(), "output with shape ",
              self.sizes(), " doesn't match the broadcast shape ",
              result.sizes());
  TORCH_CHECK(c10::canCast(result.scalar_type(), self.scalar_type()),
              "result type ", result.scalar_type(),
              " can't be cast to the desired output type ", self.scalar_type());
}

/// Which eager's kernels want for no reason of TensorIterator's: of abs(), and
/// where a call names a dtype.
void checkType(const c10::FunctionSchema &twin,
               c10::ArrayRef<c10::IValue> arguments, const at::Tensor &result) {
  const at::Tensor &self = arguments[0].toTensor();
  TORCH_CHECK(twin.name() != "aten::abs" || !self.is_complex(),
              "In-place abs is not supported for complex tensors.");
  auto dtype = twin.argumentIndexWithName("dtype");
  TORCH_CHECK(!dtype || arguments[*dtype].isNone() ||
                  self.dtype() == result.dtype(),
              "Bad in-place call: input tensor dtype ", self.dtype(),
              " and output tensor dtype ", result.dtype(), " should match");
}

/// Eager gives a number without dimensions its running sum or product as it is.
bool isOwnSum(const c10::FunctionSchema &twin, const at::Tensor &self) {
  return self.dim() == 0 &&
         (twin.name() == "aten::cumsum" || twin.name() == "aten::cumprod");
}

class InPlaceKernel final : public KernelOverride {
public:
  InPlaceKernel(const c10::OperatorHandle &op, const c10::OperatorHandle &twin)
      : KernelOverride(op), handle(op), twin(twin), info(opInfo(twin)),
        arguments(twin.schema().arguments().size()), check(op) {}

  void operator()(const c10::OperatorHandle &, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    auto values = torch::jit::last(*stack, arguments);
    beforeWrite(values[0].toTensor());
    if (isOwn(values[0].toTensor()) && isOrdinary(info)) {
      CallReader call(info, values);
      if (updateDirectly(values[0].toTensor(), call))
        return torch::jit::drop(*stack, arguments - 1);
    }
    replace(keys, stack);
  }

  template <typename... Args>
  at::Tensor &unboxed(c10::DispatchKeySet keys, at::Tensor &self,
                      const Args &...rest) {
    beforeWrite(self);
    if (isOwn(self) && wroteAtOnce(self, rest...))
      return self;
    if (isOwn(self) && isOrdinary(info)) {
      CallReader call(info, self, rest...);
      if (updateDirectly(self, call))
        return self;
    }
    torch::jit::Stack stack{IValue(self), IValue(rest)...};
    replace(keys, &stack);
    return self;
  }

private:
  static bool isOwn(const at::Tensor &self) {
    return isFunctionalLazy(self) && isAlone(self);
  }

  /// What fits in no other way goes on, to be refused in eager's words.
  template <typename... Args>
  bool wroteAtOnce(const at::Tensor &self, const Args &...rest) {
    std::array<at::Tensor, 1> made;
    return runAtOnce<1, at::Tensor, Args...>(info, made, self, rest...) &&
           made[0].sizes() == self.sizes() && takeValue(self, made[0]);
  }

  /// As functionalisation does it, but for where the new value goes.
  void replace(c10::DispatchKeySet keys, torch::jit::Stack *stack) {
    if (wasNotDense(handle, *stack)) [[unlikely]]
      return;
    at::Tensor self = torch::jit::peek(*stack, 0, arguments).toTensor();
    if (!isFunctionalLazy(self))
      return stock.callBoxed(handle, keys, stack);
    if (resolvedMathBits(handle, keys, *stack)) [[unlikely]]
      return;

    NoAutocast noAutocast;
    bool isView = !functional::unsafeGetFunctionalWrapper(self)->isBaseTensor();
    check(torch::jit::last(*stack, arguments), isView);
    if (isView && wroteToPlaces(handle, *stack)) [[unlikely]]
      return;
    torch::jit::Stack call;
    call.reserve(arguments);
    for (const IValue &value : torch::jit::last(*stack, arguments))
      call.push_back(mapTensors(value, inner));
    try {
      at::AutoDispatchSkipFunctionalize below;
      twin.callBoxed(&call);
      checkType(twin.schema(), torch::jit::last(*stack, arguments),
                call[0].toTensor());
      if (!isOwnSum(twin.schema(), self))
        checkFits(self, call[0].toTensor());
    } catch (const c10::Error &) {
      // The kernel that writes may have words of its own; of zeros for a mask
      // they are others.
      if (info.name != "aten::index_put")
        check.ask(torch::jit::last(*stack, arguments));
      throw;
    }
    // A view is taken again when it is read, if ever.
    writeValue(self, call[0].toTensor());
    torch::jit::drop(*stack, arguments - 1);
  }

  c10::OperatorHandle handle, twin;
  const OpInfo &info; ///< of the twin
  size_t arguments;
  WriteCheck check;
};

/// The same arguments, and nothing is written.
bool isTwin(const c10::FunctionSchema &twin, const c10::FunctionSchema &op) {
  if (twin.arguments().size() != op.arguments().size() ||
      twin.returns().size() != 1 ||
      *twin.returns()[0].type() != *op.arguments()[0].type())
    return false;
  for (size_t i = 0; i < op.arguments().size(); ++i) {
    const c10::Argument &argument = twin.arguments()[i];
    if (argument.name() != op.arguments()[i].name() || argument.alias_info() ||
        *argument.type() != *op.arguments()[i].type())
      return false;
  }
  return true;
}

/// aten::add.Tensor for aten::add_.Tensor, aten::pow.Tensor_Scalar for
/// aten::pow_.Scalar, aten::__lshift__.Scalar for aten::__ilshift__.Scalar.
std::optional<c10::OperatorHandle>
functionalTwin(const c10::OperatorHandle &op) {
  const c10::FunctionSchema &schema = op.schema();
  std::string name = schema.name();
  if (name.starts_with("aten::__i"))
    name.erase(name.find('i'), 1);
  else if (name.ends_with('_'))
    name.pop_back();
  const std::string &overload = schema.overload_name();
  for (const std::string &other :
       {overload, "Tensor_" + overload, std::string(), std::string("Tensor")})
    for (const char *suffix : {"", "_functional"}) // normal_'s
      if (auto twin =
              c10::Dispatcher::singleton().findSchema({name + suffix, other}))
        if (isTwin(twin->schema(), schema))
          return twin;
  return std::nullopt;
}

/// Self, a tensor or a list of them, and nothing else is written, and keeps its
/// place in memory.
bool writesSelfOnly(const c10::OperatorHandle &op) {
  const auto &arguments = op.schema().arguments();
  if (op.hasTag(at::Tag::inplace_view) || arguments.empty())
    return false;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (bool(arguments[i].alias_info()) != (i == 0))
      return false;
  bool isTensor = arguments[0].type()->kind() == c10::TypeKind::TensorType;
  return op.schema().returns().size() == size_t(isTensor) &&
         arguments[0].alias_info()->isWrite();
}

} // namespace

/// The one in-place op that PyTorch functionalises nowhere.
static at::Tensor &polygammaInPlace(at::Tensor &self, int64_t n) {
  at::Tensor result = at::polygamma(n, self);
  checkFits(self, result);
  return self.copy_(result);
}

static void registerInPlaceOp(torch::Library &library, const char *name,
                              const c10::OperatorHandle &op,
                              const c10::OperatorHandle &twin) {
  if (op.schema().returns().empty())
    return registerInPlaceList(library, name, op, twin);
  auto registerFor = [&]<typename... Rest>(Takes<at::Tensor, Rest...>) {
    auto kernel = std::make_shared<InPlaceKernel>(op, twin);
    implement(library, name,
              [kernel](c10::DispatchKeySet keys, at::Tensor &self,
                       Parameter<Rest>... rest) -> at::Tensor & {
                return kernel->unboxed(keys, self, rest...);
              });
    registerNoGrad<at::Tensor &, at::Tensor &, Parameter<Rest>...>(name, op);
  };
  if (!visitArguments(op.schema(), registerFor))
    implementBoxed<InPlaceKernel>(library, name, op, twin);
}

void registerInPlaceOps(torch::Library &library) {
  library.impl("polygamma_", polygammaInPlace);
  forEachAtenOp([&](const c10::OperatorHandle &op, const char *name) {
    std::string_view given = name;
    // copy_ casts and broadcasts by itself, resize_ and set_ may change all.
    if (given == "copy_" || given.starts_with("resize") ||
        given.starts_with("set_") ||
        !op.hasKernelForDispatchKey(DispatchKey::Functionalize) ||
        !writesSelfOnly(op))
      return;
    if (auto twin = functionalTwin(op))
      registerInPlaceOp(library, name, op, *twin);
  });
}

} // namespace ltc::backend
