//===- views/math_bits.cpp - Conjugates and negatives ---------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/views/math_bits.h"

#include "ltc_backend/graph/reads/read.h"
#include "ltc_backend/record/direct.h"
#include "ltc_backend/record/direct_transfer.h"
#include "ltc_backend/record/kernel_override.h"
#include "ltc_backend/record/no_grad.h"
#include "ltc_backend/record/writes/write_check.h"
#include "ltc_backend/tensors/functional.h"
#include "ltc_backend/tensors/layout.h"
#include "ltc_backend/tensors/lazy_tensor.h"
#include "ltc_backend/tensors/map_tensors.h"
#include "ltc_backend/tensors/wrapper.h"

#include <ATen/ATen.h>
#include <ATen/native/MathBitsFallback.h>

namespace ltc::backend {
using at::Tensor;
using c10::DispatchKey;
using c10::DispatchKeySet;

static void setMathBits(const Tensor &tensor, bool conj, bool neg) {
  tensor._set_conj(conj);
  tensor._set_neg(neg);
}

void copyMathBits(const Tensor &from, const Tensor &to) {
  setMathBits(to, from.is_conj(), from.is_neg());
}

namespace {
struct Resolve final : at::native::MathOpFallback {
  /// Of the two keys, Functionalize stands behind the one of conjugates.
  Resolve() : MathOpFallback(DispatchKey::Conjugate, "conjugate or negative") {}
  bool is_bit_set(const Tensor &tensor) override { return hasMathBits(tensor); }
};
} // namespace

bool resolvedMathBits(const c10::OperatorHandle &op, DispatchKeySet keys,
                      torch::jit::Stack &stack) {
  bool any = false;
  auto arguments = torch::jit::last(stack, op.schema().arguments().size());
  for (const c10::IValue &value : arguments)
    forEachTensor(value, [&](const Tensor &t) { any |= hasMathBits(t); });
  // Others are what torch.compile traces, whose copy_() would come here again.
  if (!any || !hasFunctionalLazy(arguments)) [[likely]]
    return false;
  Resolve().fallback_impl(op, keys, &stack);
  return true;
}

/// The memory under a tensor that has bits.
static Tensor withoutBits(const Tensor &self) {
  Tensor plain = shareStorage(self);
  setMathBits(plain, false, false);
  return plain;
}

/// Of a tensor without bits what one with those of `like` shows, or the other
/// way round.
static Tensor applyBits(Tensor value, const Tensor &like) {
  if (like.is_conj())
    value = at::_conj_physical(value);
  return like.is_neg() ? at::neg(value) : value;
}

namespace {
/// _conj or _neg_view: the same memory with this bit turned over.
struct FlipKernel final : KernelOverride {
  FlipKernel(const c10::OperatorHandle &op, DispatchKey bit)
      : KernelOverride(op), bit(bit) {}
  void operator()(const c10::OperatorHandle &op, DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    Tensor self = stack->back().toTensor();
    if (!isFunctionalLazy(self))
      return stock.callBoxed(op, keys, stack);
    Tensor view = shareStorage(self);
    setMathBits(view, self.is_conj() != (bit == DispatchKey::Conjugate),
                self.is_neg() != (bit == DispatchKey::Negative));
    stack->back() = std::move(view);
  }

private:
  DispatchKey bit;
};

/// An op whose first result eager's kernel conjugates at the end.
struct ConjugateRow {
  const char *name;
  bool (*isConjugate)(c10::ArrayRef<c10::IValue> arguments);
};
constexpr ConjugateRow conjugateRows[] = {
    {"dot",
     [](c10::ArrayRef<c10::IValue> arguments) {
       return arguments[0].toTensor().is_conj() &&
              arguments[1].toTensor().is_conj();
     }},
    {"vdot",
     [](c10::ArrayRef<c10::IValue> arguments) {
       return !arguments[0].toTensor().is_conj() &&
              arguments[1].toTensor().is_conj();
     }},
    // A * X = B is solved, for X * A = B with the adjoints of all.
    {"linalg_lu_solve",
     [](c10::ArrayRef<c10::IValue> arguments) {
       return arguments[2].toTensor().is_complex() && !arguments[3].toBool();
     }},
    {"_linalg_solve_ex",
     [](c10::ArrayRef<c10::IValue> arguments) {
       return arguments[1].toTensor().is_complex() && !arguments[2].toBool();
     }},
};

struct ConjugateKernel final : KernelOverride {
  ConjugateKernel(const c10::OperatorHandle &op, const ConjugateRow &row)
      : KernelOverride(op), row(row) {}
  void operator()(const c10::OperatorHandle &op, DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    bool shows = row.isConjugate(
        torch::jit::last(*stack, op.schema().arguments().size()));
    stock.callBoxed(op, keys, stack);
    if (!shows)
      return;
    c10::IValue &first =
        torch::jit::peek(*stack, 0, op.schema().returns().size());
    first = at::_conj(at::_conj_physical(first.toTensor()));
  }

private:
  const ConjugateRow &row;
};
} // namespace

/// A copy is another name for the value, and nothing below is asked for it.
static void registerClone(torch::Library &library) {
  using Format = std::optional<at::MemoryFormat>;
  c10::OperatorHandle op = atenOp("clone");
  const OpInfo &info = opInfo(op);
  auto isDirect = [&info](const Tensor &self) {
    return isPlain(self) && isOrdinary(info);
  };
  auto clone = [](const Tensor &self, Format format) {
    return makeWrapper(
        sameValue(materialised(self), layoutOfCopy(self, format)));
  };
  auto stock = std::make_shared<KernelOverride>(op);
  auto kernel = [=](DispatchKeySet keys, const Tensor &self, Format format) {
    auto copy = [&](const Tensor &plain) {
      if (isDirect(plain))
        return clone(plain, format);
      return stock->stock.call<Tensor, const Tensor &, Format>(op, keys, plain,
                                                               format);
    };
    if (isFunctionalLazy(self) && hasMathBits(self))
      return applyBits(copy(withoutBits(self)), self);
    return copy(self);
  };
  implement(library, "clone", kernel);

  registerNoGradOp<const Tensor &, Format>(
      "clone", op, [=](const Tensor &self, Format format) {
        return isDirect(self) ? clone(self, format) : Tensor();
      });
}

namespace {
/// copy_ with resolved bits, as PyTorch's kernel does it.
struct CopyKernel : KernelOverride {
  explicit CopyKernel(const c10::OperatorHandle &op)
      : KernelOverride(op), op(op), check(op) {}

  void operator()(DispatchKeySet keys, Tensor &self, const Tensor &source,
                  bool nonBlocking) const {
    const bool isOurs = isFunctionalLazy(self);
    if (isOurs && (hasMathBits(self) || hasMathBits(source)))
      check(std::array<c10::IValue, 3>{self, source, nonBlocking});
    Tensor value = source;
    if (isFunctionalLazy(source) && hasMathBits(source))
      value = source.clone();
    // Functionalisation knows no tensor that is not lazy here.
    if (!self.is_lazy() && value.is_lazy())
      return void(self.copy_(toCpu(value)));
    Tensor plain = self;
    if (isOurs && hasMathBits(self)) {
      plain = withoutBits(self);
      value = applyBits(value.to(self.options()), self);
    }
    stock.call<Tensor &, Tensor &, const Tensor &, bool>(op, keys, plain, value,
                                                         nonBlocking);
  }

private:
  c10::OperatorHandle op;
  WriteCheck check;
};
} // namespace

static void registerCopy(torch::Library &library) {
  c10::OperatorHandle op = atenOp("copy_");
  auto kernel = std::make_shared<CopyKernel>(op);
  implement(library, "copy_",
            [kernel](DispatchKeySet keys, Tensor &self, const Tensor &source,
                     bool nonBlocking) -> Tensor & {
              if (!wroteCopy(self, source))
                (*kernel)(keys, self, source, nonBlocking);
              return self;
            });
  registerNoGrad<Tensor &, Tensor &, const Tensor &, bool>("copy_", op);
}

bool returnsConjugates(const std::string &name) {
  return std::ranges::any_of(
      conjugateRows, [&](const ConjugateRow &row) { return name == row.name; });
}

void registerMathBits(torch::Library &library) {
  for (const ConjugateRow &row : conjugateRows)
    implementBoxed<ConjugateKernel>(library, row.name, atenOp(row.name), row);
  implementBoxed<FlipKernel>(library, "_conj", atenOp("_conj"),
                             DispatchKey::Conjugate);
  implementBoxed<FlipKernel>(library, "_neg_view", atenOp("_neg_view"),
                             DispatchKey::Negative);
  registerClone(library);
  registerCopy(library);
}

} // namespace ltc::backend
