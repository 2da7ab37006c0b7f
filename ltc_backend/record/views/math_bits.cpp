//===- views/math_bits.cpp - Conjugates and negatives ---------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/views/math_bits.h"

#include "ltc_backend/backend.h"
#include "ltc_backend/record/direct.h"
#include "ltc_backend/record/map_tensors.h"
#include "ltc_backend/record/over_stock.h"
#include "ltc_backend/record/untracked.h"
#include "ltc_backend/record/views/layout.h"
#include "ltc_backend/record/wrapper.h"
#include "ltc_backend/record/writes/write_check.h"

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
  for (const c10::IValue &value :
       torch::jit::last(stack, op.schema().arguments().size()))
    forEachTensor(value, [&](const Tensor &t) { any |= hasMathBits(t); });
  if (any) [[unlikely]]
    Resolve().fallback_impl(op, keys, &stack);
  return any;
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
struct FlipKernel final : OverStock {
  FlipKernel(const c10::OperatorHandle &op, DispatchKey bit)
      : OverStock(op), bit(bit) {}
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

struct CopyKernel final : OverStock {
  explicit CopyKernel(const c10::OperatorHandle &op)
      : OverStock(op), check(op) {}
  void operator()(const c10::OperatorHandle &op, DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    c10::IValue *arguments = &torch::jit::peek(*stack, 0, 3);
    Tensor self = arguments[0].toTensor(), source = arguments[1].toTensor();
    if (isFunctionalLazy(self) && (hasMathBits(self) || hasMathBits(source)))
      check(torch::jit::last(*stack, 3));
    if (isFunctionalLazy(source) && hasMathBits(source))
      arguments[1] = source = source.clone();
    // Functionalisation knows no tensor that is not lazy here.
    if (self.device().type() != at::kLazy &&
        source.device().type() == at::kLazy) {
      self.copy_(toCpu(source));
      return torch::jit::drop(*stack, 2);
    }
    bool resolves = isFunctionalLazy(self) && hasMathBits(self);
    if (resolves) {
      arguments[0] = withoutBits(self);
      arguments[1] = applyBits(source.to(self.options()), self);
    }
    stock.callBoxed(op, keys, stack);
    if (resolves)
      stack->back() = std::move(self);
  }

private:
  WriteCheck check;
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

struct ConjugateKernel final : OverStock {
  ConjugateKernel(const c10::OperatorHandle &op, const ConjugateRow &row)
      : OverStock(op), row(row) {}
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
    return isFunctionalLazy(self) && !hasMathBits(self) && isOrdinary(info);
  };
  auto clone = [](const Tensor &self, Format format) {
    return makeWrapper(sameValue(settled(self), layoutOfCopy(self, format)));
  };
  auto stock = std::make_shared<OverStock>(op);
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

  registerUntrackedOp<const Tensor &, Format>(
      "clone", op, [=](const Tensor &self, Format format) {
        return isDirect(self) ? clone(self, format) : Tensor();
      });
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
  implementBoxed<CopyKernel>(library, "copy_", atenOp("copy_"));
}

} // namespace ltc::backend
