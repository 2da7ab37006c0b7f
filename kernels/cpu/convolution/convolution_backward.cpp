//===- convolution_backward.cpp - Gradients of convolutions ---------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each of the three gradients goes its own way; those that another library is
// faster for are one call of that, which asks for no others.
//
//===----------------------------------------------------------------------===//
#include "convolution/dense_copy.h"
#include "convolution/geometry.h"
#include "convolution/grouped.h"
#include "convolution/patch_convolution.h"
#include "convolution/patch_input_grad.h"
#include "convolution/patch_weight_grad.h"
#include "lent.h"
#include "rows.h"

#include "ltc/optimizations.h"
#include "ltc/settings.h"

namespace ltc::kernels {
namespace {

/// Who computes a gradient.
enum class Way { None, Others, Winograd, Own };

bool isOurs(Way way) { return way == Way::Winograd || way == Way::Own; }

/// What one run computes from.
struct Gradients {
  TensorView grad, input, weight;
  std::optional<Window> window;
};

class ConvolutionBackward final : public OwnKernel {
public:
  explicit ConvolutionBackward(const Graph &call)
      : ConvolutionBackward(call, Arguments(call)) {}

  bool run(Views operands, Views results) override {
    Gradients of{
        grad.in(operands), input.in(operands), weight.in(operands), {}};
    if (allowed.im2col)
      of.window = geometry.window(of.weight);
    std::array ways = {wayOfInput(of), wayOfWeight(of)};
    if ((!isOurs(ways[0]) && !isOurs(ways[1])) || of.grad.dtype != DType::F32 ||
        !areDense(std::array{of.input, of.weight}) || !areDense(results))
      return false;
    // As from a network that has its channels last in between.
    DenseCopy dense(of.grad);
    std::vector<TensorView> given(operands.begin(), operands.end());
    given[grad.number] = of.grad = dense.view();
    TensorView each[3];
    for (size_t i = 0, next = 0; i < 3; ++i)
      if (wanted[i])
        each[i] = results[next++];
    if ((ways[0] == Way::Winograd &&
         !winogradInputGrad(of.grad, of.weight, geometry.padding[0],
                            each[0])) ||
        (ways[0] == Way::Own && !ownInputGrad(of, each[0])) ||
        (ways[1] == Way::Winograd &&
         !winogradWeightGrad(of.grad, of.input, geometry.padding[0],
                             each[1])) ||
        (ways[1] == Way::Own && !ownWeightGrad(of, each[1])))
      return false;
    for (size_t i = 0; i < ways.size(); ++i)
      if (ways[i] == Way::Others && !runOther(i, given, each[i]))
        return false;
    return !wanted[2] || runOther(2, {&of.grad, 1}, each[2]);
  }

private:
  ConvolutionBackward(const Graph &call, const Arguments &of)
      : call(call), grad(of.tensor("grad_output")), input(of.tensor("input")),
        weight(of.tensor("weight")), wanted(of.flags("output_mask")),
        geometry(of), allowed(*Optimizations::without(settings().without)) {}

  Way way(bool isWanted, Winograd which, const Gradients &of, bool own) const {
    if (!isWanted)
      return Way::None;
    if (allowed.winograd && geometry.pays(which, of.input, of.weight))
      return Way::Winograd;
    return own ? Way::Own : Way::Others;
  }

  bool isOfPoints(const Gradients &of) const {
    return of.window->isPointwise() &&
           pointwisePays(of.grad.shape(), of.weight.size(1));
  }

  Way wayOfInput(const Gradients &of) const {
    Sizes images = of.input.shape(), kernels = of.weight.shape(),
          output = of.grad.shape();
    const auto &window = of.window;
    bool own =
        window &&
        ((geometry.isPlain() &&
          (isOfPoints(of) || patchInputGradPays(images, output, *window))) ||
         (geometry.isGrouped() &&
          groupedPays(images, kernels, geometry.groups, *window)) ||
         (geometry.isTurned() && patchesPay(output, kernels, images, *window)));
    return way(wanted[0], Winograd::InputGrad, of, own);
  }

  Way wayOfWeight(const Gradients &of) const {
    Sizes images = of.input.shape(), kernels = of.weight.shape(),
          output = of.grad.shape();
    const auto &window = of.window;
    bool own =
        window &&
        ((geometry.isPlain() &&
          patchWeightGradPays(images, kernels, output, *window)) ||
         (geometry.isGrouped() &&
          groupedWeightGradPays(images, kernels, geometry.groups, *window)) ||
         (geometry.isTurned() &&
          patchWeightGradPays(output, kernels, images, *window)));
    return way(wanted[1], Winograd::WeightGrad, of, own);
  }

  bool ownInputGrad(const Gradients &of, const TensorView &to) const {
    if (geometry.isGrouped())
      return groupedInputGrad(of.grad, of.weight, geometry.groups, *of.window,
                              to);
    if (geometry.isTurned())
      return patchConvolution(of.grad, of.weight, {}, *of.window, to);
    if (isOfPoints(of))
      pointwiseInputGrad(of.grad, of.weight, to);
    else
      patchInputGrad(of.grad, of.weight, {}, *of.window, to);
    return true;
  }

  bool ownWeightGrad(const Gradients &of, const TensorView &to) const {
    if (geometry.isGrouped())
      return groupedWeightGrad(of.grad, of.input, geometry.groups, *of.window,
                               to);
    return geometry.isTurned()
               ? patchWeightGrad(of.input, of.grad, *of.window, to)
               : patchWeightGrad(of.grad, of.input, *of.window, to);
  }

  bool runOther(size_t which, Views operands, const TensorView &to) {
    std::unique_ptr<Kernel> &other = others[which];
    if (!other && lent().others) {
      auto found = lent().others(which == 2 ? sumOfGrad() : onlyFor(which));
      if (found)
        other = std::move(*found);
    }
    return other && other->run(operands, {&to, 1});
  }

  /// The same call with one result.
  Graph onlyFor(size_t which) const {
    Graph only = call;
    Node &node = only.nodes[0];
    bool isSecond = which == 1 && wanted[0];
    node.results = {node.results[isSecond ? 1 : 0]};
    std::vector<bool> mask(wanted.size());
    mask[which] = true;
    for (Argument &argument : node.arguments)
      if (argument.name == "output_mask")
        argument.value = Attribute(mask);
    only.outputs = {{ValueId(only.inputs.size()), {}}};
    return only;
  }

  /// Of each kernel's gradients, which the bias has.
  Graph sumOfGrad() const {
    Graph sum;
    sum.inputs = {call.inputs[grad.number]};
    const TensorType &type = sum.inputs[0].tensor;
    std::vector<int64_t> others{0};
    for (size_t dim = 2; dim < type.dims.size(); ++dim)
      others.push_back(int64_t(dim));
    sum.nodes = {{"aten::sum.dim_IntList",
                  {{"self", ValueId(0)}, {"dim", Attribute(others)}},
                  {{type.dtype, {type.dims[1]}}}}};
    sum.outputs = {{1, {}}};
    return sum;
  }

  const Graph call;
  const Operand grad, input, weight;
  const std::vector<bool> wanted;
  const Geometry geometry;
  const Optimizations allowed;
  std::array<std::unique_ptr<Kernel>, 3> others;
};

} // namespace

std::unique_ptr<OwnKernel> bindConvolutionBackward(const Graph &call) {
  size_t wanted =
      std::ranges::count(Arguments(call).flags("output_mask"), true);
  if (call.nodes[0].results.size() != wanted)
    return nullptr;
  return std::make_unique<ConvolutionBackward>(call);
}

} // namespace ltc::kernels
