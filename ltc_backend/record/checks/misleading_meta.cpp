//===- checks/misleading_meta.cpp - Where meta kernels err ----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/checks/misleading_meta.h"

#include <ATen/ATen.h>
#include <ATen/native/ConvUtils.h>

#include <cmath>
#include <set>

namespace ltc::backend {
using c10::IValue;

static bool isListed(const OpInfo &info) {
  static const auto *names = new std::set<std::string>{
      "aten::_batch_norm_no_update",
      "aten::_batch_norm_with_update_functional",
      "aten::_compute_linear_combination",
      "aten::_dirichlet_grad",
      "aten::_embedding_bag",
      "aten::_embedding_bag_forward_only",
      "aten::_fake_quantize_learnable_per_channel_affine",
      "aten::_fake_quantize_learnable_per_channel_affine_backward",
      "aten::_fake_quantize_learnable_per_tensor_affine",
      "aten::_fake_quantize_learnable_per_tensor_affine_backward",
      "aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
      "aten::dequantize.self",
      "aten::fake_quantize_per_channel_affine_cachemask",
      "aten::fake_quantize_per_tensor_affine_cachemask",
      "aten::_grouped_mm",
      "aten::_histogramdd_bin_edges",
      "aten::_histogramdd_from_bin_cts",
      "aten::_masked_softmax",
      "aten::_masked_softmax_backward",
      "aten::_native_batch_norm_legit",
      "aten::_native_batch_norm_legit.no_stats",
      "aten::_native_batch_norm_legit_functional",
      "aten::_native_batch_norm_legit_no_training",
      "aten::_native_multi_head_attention",
      "aten::_sample_dirichlet",
      "aten::_standard_gamma_grad",
      "aten::_transform_bias_rescale_qkv",
      "aten::addr",
      "aten::binary_cross_entropy",
      "aten::binary_cross_entropy_backward",
      "aten::binomial",
      "aten::fractional_max_pool3d_backward",
      "aten::geqrf",
      "aten::glu_backward_jvp",
      "aten::glu_jvp",
      "aten::histogram.bin_ct",
      "aten::huber_loss",
      "aten::ldexp.Tensor",
      "aten::multi_margin_loss",
      "aten::multi_margin_loss_backward",
      "aten::multilabel_margin_loss_backward",
      "aten::multilabel_margin_loss_forward",
      "aten::native_batch_norm",
      "aten::native_group_norm",
      "aten::native_layer_norm",
      "aten::nonzero_static",
      "aten::pixel_shuffle",
      "aten::pixel_unshuffle",
      "aten::soft_margin_loss"};
  return names->count(info.name);
}

/// Powers of bools: meta kernels make integers of them, as of any number.
static bool isPowerOfBool(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  return info.name == "aten::pow.Tensor_Scalar" && arguments[1].isBool() &&
         arguments[0].toTensor().scalar_type() == at::kBool;
}

/// Over no dimension it is the sum of all, as that of sum().
static bool isSumOverNone(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  return info.name == "aten::nansum" && arguments[1].isIntList() &&
         arguments[1].toIntVector().empty();
}

/// Where eager counts steps in doubles, or has no kernel for the dtype.
static bool countsUnlikeMeta(const OpInfo &info,
                             c10::ArrayRef<IValue> arguments) {
  bool isRange = info.name.starts_with("aten::arange") ||
                 info.name.starts_with("aten::range");
  if (!isRange && !info.name.starts_with("aten::linspace") &&
      !info.name.starts_with("aten::logspace"))
    return false;
  constexpr double exact = 1LL << 31;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (info.arguments[i].name == "dtype" && arguments[i].isInt()) {
      auto dtype = at::ScalarType(arguments[i].toInt());
      if (dtype == at::kBool || at::isComplexType(dtype))
        return true;
    }
    if (isRange && arguments[i].isScalar() && !arguments[i].isBool() &&
        !(std::abs(arguments[i].toScalar().toDouble()) < exact))
      return true;
  }
  return false;
}

/// Eager draws no integers by these.
static bool drawsIntegers(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  const std::string &name = info.handle.schema().name();
  if (name != "aten::rand" && name != "aten::randn")
    return false;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (info.arguments[i].name == "dtype" && arguments[i].isInt())
      return at::isIntegralType(at::ScalarType(arguments[i].toInt()),
                                /*includeBool=*/true);
  return false;
}

bool hasMisleadingMeta(const OpInfo &info, c10::ArrayRef<IValue> arguments) {
  return isListed(info) || isPowerOfBool(info, arguments) ||
         isSumOverNone(info, arguments) || countsUnlikeMeta(info, arguments) ||
         drawsIntegers(info, arguments);
}

bool hasMisleadingStrides(const OpInfo &info) {
  static const auto *names = new std::set<std::string>{
      "aten::_batch_norm_with_update_functional_backward",
      "aten::_fft_c2r",
      "aten::_fft_r2c",
      "aten::angle",
      "aten::batch_norm_backward",
      "aten::channel_shuffle",
      "aten::copysign.Tensor",
      "aten::div.Tensor_mode",
      "aten::floor_divide",
      "aten::glu_backward",
      "aten::hardswish_backward",
      "aten::hardtanh_backward",
      "aten::heaviside",
      "aten::huber_loss_backward",
      "aten::linalg_householder_product",
      "aten::log_sigmoid_forward",
      "aten::logaddexp",
      "aten::logaddexp2",
      "aten::logical_and",
      "aten::logical_or",
      "aten::logical_xor",
      "aten::masked_scatter",
      "aten::max_unpool2d",
      "aten::max_unpool3d",
      "aten::mse_loss_backward",
      "aten::native_batch_norm_backward",
      "aten::native_channel_shuffle",
      "aten::native_dropout_backward",
      "aten::native_layer_norm_backward",
      "aten::nll_loss2d_backward",
      "aten::nll_loss_backward",
      "aten::ormqr",
      "aten::pow.Scalar",
      "aten::reflection_pad2d",
      "aten::reflection_pad2d_backward",
      "aten::reflection_pad3d",
      "aten::reflection_pad3d_backward",
      "aten::replication_pad1d",
      "aten::replication_pad2d",
      "aten::replication_pad2d_backward",
      "aten::replication_pad3d",
      "aten::replication_pad3d_backward",
      "aten::smooth_l1_loss_backward"};
  return names->count(info.name);
}

/// What the CPU's convolution, or its gradients, of arguments from `input` on
/// are laid out as. It chooses a kernel by all of them.
static at::MemoryFormat formatOfConvolution(c10::ArrayRef<IValue> arguments,
                                            size_t input) {
  auto onCpu = [&](size_t i) { // with memory that nobody touches
    const at::Tensor &like = arguments[i].toTensor();
    return at::empty_strided(like.sizes(), like.strides(), like.scalar_type());
  };
  auto sizes = [&](size_t i) {
    std::vector<c10::SymInt> sizes;
    for (int64_t size : arguments[input + i].toIntVector())
      sizes.emplace_back(size);
    return sizes;
  };
  at::Tensor self = onCpu(input), weight = onCpu(input + 1);
  auto kernel = at::native::select_conv_backend(
      self, weight, std::nullopt, sizes(3), sizes(4), sizes(5),
      arguments[input + 6].toBool(), sizes(7), arguments[input + 8].toInt(),
      at::OptionalSymIntArrayRef());
  return at::native::_determine_backend_memory_format(self, weight, kernel);
}

/// The meta kernel's, and that of contiguous(), is any that fits the sizes.
static at::Tensor madeAs(const at::Tensor &result, at::MemoryFormat format) {
  return at::empty(result.sizes(), result.options().memory_format(format));
}

static void layOutAsColumns(IValue &matrix) {
  matrix = matrix.toTensor().mT().contiguous().mT();
}

void correctResults(const OpInfo &info, c10::ArrayRef<IValue> arguments,
                    torch::jit::Stack &results) {
  // LAPACK's matrices are columns. Without vectors there is no matrix.
  if (info.name == "aten::_linalg_svd" && results[2].toTensor().dim() > 1)
    layOutAsColumns(results[2]);
  if (info.name == "aten::linalg_eig")
    layOutAsColumns(results[1]);
  if (info.name == "aten::isin.Scalar_Tensor") // whose kernel resizes it
    results[0] = results[0].toTensor().new_empty({});
  if (info.name == "aten::normal.Tensor_Tensor")
    results[0] = results[0].toTensor().to(arguments[0].toTensor().dtype());
  bool isBackward = info.name.ends_with("_backward");
  size_t input = isBackward;
  bool isGroup = info.name.starts_with("aten::native_group_norm");
  if (!isGroup && info.name != "aten::convolution" &&
      info.name != "aten::convolution_backward")
    return;
  const at::Tensor &self = arguments[input].toTensor();
  auto format = self.dim() < 4 ? at::MemoryFormat::Contiguous
                : isGroup      ? self.suggest_memory_format()
                               : formatOfConvolution(arguments, input);
  for (IValue &value : results) {
    const at::Tensor &result = value.toTensor();
    if (!result.defined() || result.dim() != self.dim())
      continue;
    value = isGroup ? result.contiguous(format) : madeAs(result, format);
  }
}

} // namespace ltc::backend
