//===- convolution.cpp - Convolutions of our own --------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "convolution/geometry.h"
#include "convolution/grouped.h"
#include "convolution/patch_convolution.h"
#include "convolution/patch_input_grad.h"
#include "convolution/plain_convolution.h"
#include "convolution/unfolded_convolution.h"
#include "rows.h"

#include "ltc/optimizations.h"
#include "ltc/settings.h"

namespace ltc::kernels {
namespace {

/// Where there is a faster one than oneDNN's among those that are allowed.
class Convolution final : public OwnKernel {
public:
  explicit Convolution(const Arguments &of)
      : input(of.tensor("input")), weight(of.tensor("weight")),
        bias(of.tensor("bias")), geometry(of),
        allowed(*Optimizations::without(settings().without)) {}

  bool run(Views operands, Views results) override {
    TensorView from = input.in(operands), by = weight.in(operands),
               added = bias.in(operands), to = results[0];
    if (!areDense(std::array{from, by, added, to}))
      return false;
    if (allowed.winograd && geometry.pays(Winograd::Convolution, from, by))
      return winogradConvolution(from, by, added, geometry.padding[0], to);
    auto window = allowed.im2col ? geometry.window(by) : std::nullopt;
    return window && byPatches(from, by, added, *window, to);
  }

  Result<bool> runPlainly(Views operands, Views results) override {
    TensorView from = input.in(operands), by = weight.in(operands),
               added = bias.in(operands);
    return patchesPlainly(from, by, added, results[0]) ||
           unfoldedConvolution(from, by, added, geometry, results[0]) ||
           plainConvolution(from, by, added, geometry, results[0]);
  }

private:
  /// Where it is not the fastest kernel that there might be, either.
  bool patchesPlainly(const TensorView &from, const TensorView &by,
                      const TensorView &added, const TensorView &to) const {
    auto window = geometry.window(by);
    return window && geometry.isPlain() &&
           areDense(std::array{from, by, added, to}) &&
           patchesCan(by.shape(), to.shape(), *window) &&
           patchConvolution(from, by, added, *window, to);
  }

  bool byPatches(const TensorView &from, const TensorView &by,
                 const TensorView &added, const Window &window,
                 const TensorView &to) const {
    if (geometry.isGrouped())
      return groupedPays(from.shape(), by.shape(), geometry.groups, window) &&
             groupedConvolution(from, by, added, geometry.groups, window, to);
    if (geometry.isTurned() &&
        patchInputGradPays(to.shape(), from.shape(), window)) {
      patchInputGrad(from, by, added, window, to);
      return true;
    }
    return geometry.isPlain() &&
           patchesPay(from.shape(), by.shape(), to.shape(), window) &&
           patchConvolution(from, by, added, window, to);
  }

  const Operand input, weight, bias;
  const Geometry geometry;
  const Optimizations allowed;
};

} // namespace

std::unique_ptr<OwnKernel> bindConvolution(const Graph &call) {
  return bindAs<Convolution>(call);
}

} // namespace ltc::kernels
