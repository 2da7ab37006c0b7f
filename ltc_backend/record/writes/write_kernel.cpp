//===- writes/write_kernel.cpp - The kernels of the ops that write --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/writes/write_kernel.h"

#include "ltc_backend/record/call_reader.h"
#include "ltc_backend/record/fallback.h"
#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/record/ops/autocast.h"
#include "ltc_backend/record/stock_call.h"
#include "ltc_backend/record/views/math_bits.h"
#include "ltc_backend/record/writes/dtype_of_out.h"
#include "ltc_backend/record/writes/empty_list.h"
#include "ltc_backend/record/writes/in_place_list.h"
#include "ltc_backend/record/writes/overlap.h"
#include "ltc_backend/record/writes/write_check.h"
#include "ltc_backend/record/writes/write_value.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/lazy_tensor.h"
#include "ltc_backend/tensors/map_tensors.h"
#include "ltc_backend/tensors/schema.h"
#include "ltc_backend/tensors/wrapper.h"

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>
#include <ATen/FunctionalTensorWrapper.h>

namespace ltc::backend {
namespace functional = at::functionalization;
using c10::IValue;

/// The out= kernels that PyTorch generates, and those of copies of views, copy
/// into what resize_() gives; others lay out what they resize as a result.
static bool resizesRowMajor(const c10::OperatorHandle &op) {
  return op.hasTag(at::Tag::generated) || op.schema().name().ends_with("_copy");
}

/// In eager, what out= resizes shows other places of its storage. Here it gets
/// a value of its own, which nobody may share who has another size and which
/// may not be smaller: the storage stays as long as it is.
static void resizeShared(c10::ArrayRef<at::Tensor> outputs,
                         const CallShape &call, bool rowMajor) {
  at::AutoDispatchBelowADInplaceOrView belowAutograd;
  for (size_t i = 0; i < std::min(outputs.size(), call.results.size()); ++i) {
    const ResultType &wanted = call.results[i];
    const at::Tensor &out = outputs[i];
    if (!isFunctionalLazy(out) || out.sizes() == wanted.type.dims ||
        (isAlone(out) && wanted.type.elements() >= out.numel()))
      continue;
    out.resize_(wanted.type.dims);
    if (!rowMajor && !wanted.layout.strides.empty())
      out.as_strided_(wanted.type.dims, wanted.layout.strides);
  }
}

/// Functionalisation takes such a call for a bug of PyTorch's.
static void checkDevices(const c10::OperatorHandle &op,
                         c10::ArrayRef<IValue> arguments) {
  const auto &schema = op.schema().arguments();
  for (size_t i = 0; i < schema.size(); ++i) {
    if (!isWritten(schema[i]) || !arguments[i].isTensor())
      continue;
    const at::Tensor &written = arguments[i].toTensor();
    bool isRefusedBehind = written.defined() &&
                           written.layout() != at::kStrided &&
                           written.layout() != at::kMkldnn;
    if (!written.defined() || isRefusedBehind ||
        written.device().type() == at::kLazy)
      continue;
    for (const IValue &value : arguments)
      forEachTensor(value, [&](const at::Tensor &tensor) {
        if (tensor.defined() && tensor.device().type() == at::kLazy)
          raiseTwoDevices(c10::toString(op.operator_name()),
                          tensor.device().index(), written);
      });
  }
}

/// In TensorIterator's words; functionalisation has those of expand().
static void checkCopy(const at::Tensor &self, const at::Tensor &source) {
  TORCH_CHECK(!source.is_nested() && !source.is_mkldnn(), "copy_ of a ",
              source.is_nested() ? "nested" : "mkldnn",
              " tensor to a dense one on ", self.device());
  std::vector<int64_t> shape = at::infer_size(self.sizes(), source.sizes());
  TORCH_CHECK(self.sizes() == shape, "output with shape ", self.sizes(),
              " doesn't match the broadcast shape ", at::IntArrayRef(shape));
}

namespace {
/// The tensors that a call writes to. It gets others of the same values in
/// their place, whose insides PyTorch's kernel exchanges.
class Written {
public:
  /// `rowMajor`: what the call resizes reports no other strides.
  explicit Written(bool rowMajor) : rowMajor(rowMajor) {}

  at::Tensor substitute(const at::Tensor &tensor) {
    if (!isFunctionalLazy(tensor))
      return tensor;
    for (const auto &[known, other] : pairs)
      if (known.is_same(tensor))
        return other;
    materialise(tensor);
    at::Tensor value = sameValue(
        functional::impl::from_functional_tensor(tensor), layoutOf(tensor));
    return pairs.emplace_back(tensor, makeWrapper(value)).second;
  }

  at::Tensor original(const at::Tensor &result) const {
    for (const auto &[tensor, other] : pairs)
      if (other.is_same(result))
        return tensor;
    return result;
  }

  void write() const {
    for (const auto &[tensor, other] : pairs) {
      materialise(other);
      at::Tensor value = functional::impl::from_functional_tensor(other);
      if (other.sizes() == tensor.sizes())
        writeValue(tensor, value);
      else
        resize(tensor, value);
    }
  }

private:
  void resize(const at::Tensor &tensor, const at::Tensor &value) const {
    auto lock = lockStorages();
    if (rowMajor && functional::impl::isBaseTensor(tensor))
      setLayout(*value.unsafeGetTensorImpl(), value.sizes(), Layout());
    functional::impl::replace_(tensor, value);
    functional::impl::commit_update(tensor);
    functional::impl::sync(tensor);
  }

  bool rowMajor;
  c10::SmallVector<std::pair<at::Tensor, at::Tensor>, 2> pairs;
};

static bool takesSubclass(const IValue &value) {
  bool found = false;
  forEachTensor(value, [&](const at::Tensor &tensor) {
    found |= saysFunctionalLazy(tensor) && wrapsSubclass(tensor);
  });
  return found;
}

struct WriteKernel final : KernelOverride {
  explicit WriteKernel(const c10::OperatorHandle &op)
      : KernelOverride(op), check(op), rowMajor(resizesRowMajor(op)),
        isCopy(op.schema().name() == "aten::copy_"), dtype(op) {}
  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    if (wasNotDense(op, *stack)) [[unlikely]]
      return;
    NoAutocast noAutocast;
    const auto &schema = op.schema().arguments();
    if (resolvedMathBits(op, keys, *stack)) [[unlikely]]
      return;
    auto arguments = torch::jit::last(*stack, schema.size());
    if (std::ranges::any_of(arguments, takesSubclass))
      return stock.callBoxed(op, keys, stack);
    checkDevices(op, arguments);
    if (dtype.wasCalled(*stack))
      return;
    // Sizes of others, such as fake tensors, may be symbols.
    if (isCopy && isFunctionalLazy(arguments[0].toTensor()))
      checkCopy(arguments[0].toTensor(), arguments[1].toTensor());
    if (auto call = check(arguments))
      resizeShared(check.outputs(arguments), *call, rowMajor);
    if (wroteBesideEmptyList(op, *stack) || wroteOneByOne(op, *stack) ||
        wroteToPlaces(op, *stack))
      return;
    Written written(rowMajor);
    for (size_t i = 0; i < schema.size(); ++i)
      if (isWritten(schema[i])) {
        IValue &argument = torch::jit::peek(*stack, i, schema.size());
        argument = mapTensors(argument, [&](const at::Tensor &tensor) {
          return written.substitute(tensor);
        });
      }
    callStock(stock, op, keys, *stack);
    written.write();
    for (size_t i = 0, count = op.schema().returns().size(); i < count; ++i) {
      IValue &result = torch::jit::peek(*stack, i, count);
      result = mapTensors(result, [&](const at::Tensor &tensor) {
        return written.original(tensor);
      });
    }
  }
  WriteCheck check;
  bool rowMajor, isCopy;
  DtypeOfOut dtype;
};
} // namespace

void registerWrites(torch::Library &library) {
  forEachAtenOp([&](const c10::OperatorHandle &op, const char *name) {
    std::string_view given = name;
    // resize_ and set_ change what the tensor is, not what it holds.
    if (!given.starts_with("resize") && !given.starts_with("set_") &&
        !op.hasTag(at::Tag::inplace_view) &&
        op.hasKernelForDispatchKey(c10::DispatchKey::Functionalize) &&
        std::ranges::any_of(op.schema().arguments(), isWritten))
      implementBoxed<WriteKernel>(library, name, op);
  });
}

} // namespace ltc::backend
