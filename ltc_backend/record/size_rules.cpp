//===- record/size_rules.cpp - Result shapes by formulas ------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/size_rules.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>

#include <map>

namespace ltc::backend {
using at::Tensor;
using c10::IValue;

namespace {

using Arguments = c10::ArrayRef<IValue>;
using Results = std::optional<torch::jit::Stack>;
using Sizes = std::vector<int64_t>;

Tensor like(const Tensor &tensor, at::IntArrayRef sizes) {
  return at::detail::empty_meta(sizes, tensor.scalar_type());
}
Tensor like(const Tensor &tensor) { return like(tensor, tensor.sizes()); }

/// The arguments of a convolution from its input on.
struct Convolution {
  explicit Convolution(Arguments arguments)
      : input(arguments[0].toTensor()), weight(arguments[1].toTensor()),
        stride(arguments[3].toIntVector()), padding(arguments[4].toIntVector()),
        dilation(arguments[5].toIntVector()),
        isTransposed(arguments[6].toBool()),
        outputPadding(arguments[7].toIntVector()),
        groups(arguments[8].toInt()) {}

  /// Of the result; nullopt where the kernel may refuse the arguments.
  std::optional<Sizes> sizes() const {
    size_t places = size_t(std::max<int64_t>(input.dim() - 2, 0));
    if (places < 1 || places > 3 || weight.dim() != input.dim() || groups < 1 ||
        input.scalar_type() != weight.scalar_type() || input.numel() == 0 ||
        weight.numel() == 0)
      return std::nullopt;
    for (const Sizes *each : {&stride, &padding, &dilation, &outputPadding})
      if (each->size() != places)
        return std::nullopt;
    int64_t channels = input.size(1), made = weight.size(0);
    if (isTransposed ? channels != made || made % groups
                     : channels != weight.size(1) * groups || made % groups)
      return std::nullopt;
    Sizes sizes{input.size(0), isTransposed ? weight.size(1) * groups : made};
    for (size_t i = 0; i < places; ++i) {
      if (stride[i] < 1 || dilation[i] < 1 || padding[i] < 0 ||
          outputPadding[i] < 0 || (!isTransposed && outputPadding[i]) ||
          (outputPadding[i] &&
           outputPadding[i] >= std::max(stride[i], dilation[i])))
        return std::nullopt;
      int64_t reach = dilation[i] * (weight.size(i + 2) - 1) + 1;
      int64_t room = input.size(i + 2) + 2 * padding[i] - reach;
      if (!isTransposed && room < 0)
        return std::nullopt;
      sizes.push_back(isTransposed
                          ? (input.size(i + 2) - 1) * stride[i] -
                                2 * padding[i] + reach + outputPadding[i]
                          : room / stride[i] + 1);
      if (sizes.back() < 1)
        return std::nullopt;
    }
    return sizes;
  }

  const Tensor &input, &weight;
  Sizes stride, padding, dilation;
  bool isTransposed;
  Sizes outputPadding;
  int64_t groups;
};

Results convolution(Arguments arguments) {
  Convolution call(arguments);
  auto sizes = call.sizes();
  if (!sizes)
    return std::nullopt;
  if (arguments[2].isTensor() && arguments[2].toTensor().defined()) {
    const Tensor &bias = arguments[2].toTensor();
    if (bias.dim() != 1 || bias.size(0) != (*sizes)[1] ||
        bias.scalar_type() != call.input.scalar_type())
      return std::nullopt;
  }
  return torch::jit::Stack{like(call.input, *sizes)};
}

Results convolutionBackward(Arguments arguments) {
  const Tensor &grad = arguments[0].toTensor();
  Convolution call(arguments.slice(1));
  auto sizes = call.sizes();
  if (!sizes || grad.sizes() != *sizes ||
      grad.scalar_type() != call.input.scalar_type())
    return std::nullopt;
  return torch::jit::Stack{like(call.input), like(call.weight),
                           like(grad, (*sizes)[1])};
}

Results adaptiveAveragePool2d(Arguments arguments) {
  const Tensor &self = arguments[0].toTensor();
  Sizes sizes = self.sizes().vec(), wanted = arguments[1].toIntVector();
  if (sizes.size() < 3 || sizes.size() > 4 || wanted.size() != 2 ||
      std::min(wanted[0], wanted[1]) < 1 || self.numel() == 0)
    return std::nullopt;
  std::ranges::copy(wanted, sizes.end() - 2);
  auto options = self.options().device(at::kMeta);
  return torch::jit::Stack{
      at::empty(sizes, options.memory_format(self.suggest_memory_format()))};
}

Results embeddingBackward(Arguments arguments) {
  const Tensor &grad = arguments[0].toTensor(),
               &indices = arguments[1].toTensor();
  Sizes sizes = indices.sizes().vec();
  sizes.push_back(grad.dim() ? grad.sizes().back() : 0);
  int64_t rows = arguments[2].toInt();
  if (grad.sizes() != sizes || rows < 1 ||
      (indices.scalar_type() != at::kLong && indices.scalar_type() != at::kInt))
    return std::nullopt;
  return torch::jit::Stack{like(grad, {rows, sizes.back()})};
}

Results groupNormBackward(Arguments arguments) {
  const Tensor &grad = arguments[0].toTensor(),
               &input = arguments[1].toTensor();
  int64_t samples = arguments[5].toInt(), channels = arguments[6].toInt(),
          groups = arguments[8].toInt();
  bool isPlain = input.dim() >= 2 && grad.sizes() == input.sizes() &&
                 input.size(0) == samples && input.size(1) == channels &&
                 input.numel() == samples * channels * arguments[7].toInt() &&
                 groups > 0 && channels % groups == 0 && input.numel() > 0;
  for (size_t i = 2; i <= 4 && isPlain; ++i)
    if (arguments[i].isTensor() && arguments[i].toTensor().defined()) {
      const Tensor &each = arguments[i].toTensor();
      isPlain = each.scalar_type() == input.scalar_type() &&
                each.numel() == (i == 4 ? channels : samples * groups);
    }
  if (!isPlain || grad.scalar_type() != input.scalar_type())
    return std::nullopt;
  return torch::jit::Stack{like(input), like(input, channels),
                           like(input, channels)};
}

Results histogram(Arguments arguments) {
  int64_t bins = arguments[1].toInt();
  if (bins < 1)
    return std::nullopt;
  return torch::jit::Stack{like(arguments[0].toTensor(), bins)};
}

/// (data, reduce, lengths, indices, offsets, …); the last dimension of lengths
/// or offsets is the one of data that is reduced.
Results segmentReduce(Arguments arguments) {
  const Tensor &data = arguments[0].toTensor();
  const bool byLengths = arguments[2].isTensor();
  if (byLengths == arguments[4].isTensor())
    return std::nullopt;
  Sizes sizes = arguments[byLengths ? 2 : 4].toTensor().sizes().vec();
  if (sizes.empty() || int64_t(sizes.size()) > data.dim() ||
      (!byLengths && sizes.back() < 1))
    return std::nullopt;
  at::IntArrayRef kept = data.sizes().slice(sizes.size());
  sizes.back() -= !byLengths;
  sizes.insert(sizes.end(), kept.begin(), kept.end());
  return torch::jit::Stack{like(data, sizes)};
}

/// (dense of batch x length x …, offsets, total length)
Results paddedToJagged(Arguments arguments) {
  const Tensor &dense = arguments[0].toTensor();
  if (!arguments[2].isInt() || dense.dim() < 2 ||
      arguments[1].toTensorList().size() != 1)
    return std::nullopt;
  Sizes sizes{arguments[2].toInt()};
  at::IntArrayRef kept = dense.sizes().slice(2);
  sizes.insert(sizes.end(), kept.begin(), kept.end());
  return torch::jit::Stack{like(dense, sizes)};
}

/// (values of length x …, offsets, longest length, padding)
Results jaggedToPadded(Arguments arguments) {
  const Tensor &values = arguments[0].toTensor();
  auto offsets = arguments[1].toTensorList();
  auto longest = arguments[2].toIntVector();
  if (offsets.size() != 1 || longest.size() != 1 || values.dim() < 1)
    return std::nullopt;
  Sizes sizes{offsets.get(0).numel() - 1, longest[0]};
  at::IntArrayRef kept = values.sizes().slice(1);
  sizes.insert(sizes.end(), kept.begin(), kept.end());
  return torch::jit::Stack{like(values, sizes)};
}

using Rule = Results (*)(Arguments);
} // namespace

Results inferBySizeRule(const OpInfo &info, Arguments arguments) {
  static const auto *rules = new std::map<std::string_view, Rule>{
      {"aten::_adaptive_avg_pool2d", adaptiveAveragePool2d},
      {"aten::convolution", convolution},
      {"aten::convolution_backward", convolutionBackward},
      {"aten::embedding_dense_backward", embeddingBackward},
      {"aten::histc", histogram},
      {"aten::native_group_norm_backward", groupNormBackward},
      {"aten::segment_reduce", segmentReduce},
      {"aten::_jagged_to_padded_dense_forward", jaggedToPadded},
      {"aten::_padded_dense_to_jagged_forward", paddedToJagged},
  };
  auto found = rules->find(info.name);
  return found == rules->end() ? std::nullopt : found->second(arguments);
}

} // namespace ltc::backend
