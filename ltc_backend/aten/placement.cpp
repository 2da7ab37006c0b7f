//===- placement.cpp - Lets ATen allocate where a result belongs ----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "placement.h"

#include "../convert.h"
#include "tensor_slot.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <torch/library.h>

#include <algorithm>
#include <ranges>

namespace ltc::backend {

static constexpr auto kKey = c10::DispatchKey::TESTING_ONLY_GenericMode;
static thread_local Placement *inForce = nullptr;
static bool installed = false;

/// The memory of a result for a plain tensor of its device; undefined if none
/// is.
static at::Tensor resultFor(at::IntArrayRef size,
                            std::optional<at::ScalarType> dtype,
                            std::optional<at::Layout> layout,
                            std::optional<at::Device> device,
                            std::optional<bool> pinMemory) {
  Placement *placement = Placement::current();
  bool plain = layout.value_or(at::kStrided) == at::kStrided && placement &&
               placement->isOn(device.value_or(at::kCPU)) &&
               !pinMemory.value_or(false);
  if (!plain)
    return {};
  return placement->take(size,
                         dtype.value_or(at::get_default_dtype_as_scalartype()));
}

static at::Tensor emptyOrResult(c10::SymIntArrayRef size,
                                std::optional<at::ScalarType> dtype,
                                std::optional<at::Layout> layout,
                                std::optional<at::Device> device,
                                std::optional<bool> pinMemory,
                                std::optional<at::MemoryFormat> format) {
  auto sizes = c10::asIntArrayRefSlowOpt(size);
  if (sizes && format.value_or(at::MemoryFormat::Contiguous) ==
                   at::MemoryFormat::Contiguous)
    if (at::Tensor result = resultFor(*sizes, dtype, layout, device, pinMemory);
        result.defined())
      return result;
  c10::impl::ExcludeDispatchKeyGuard below(kKey);
  return at::empty_symint(size, dtype, layout, device, pinMemory, format);
}

/// What clone() asks for.
static at::Tensor emptyStridedOrResult(c10::SymIntArrayRef size,
                                       c10::SymIntArrayRef stride,
                                       std::optional<at::ScalarType> dtype,
                                       std::optional<at::Layout> layout,
                                       std::optional<at::Device> device,
                                       std::optional<bool> pinMemory) {
  auto sizes = c10::asIntArrayRefSlowOpt(size);
  auto strides = c10::asIntArrayRefSlowOpt(stride);
  if (sizes && strides && *strides == c10::contiguous_strides(*sizes))
    if (at::Tensor result = resultFor(*sizes, dtype, layout, device, pinMemory);
        result.defined())
      return result;
  c10::impl::ExcludeDispatchKeyGuard below(kKey);
  return at::empty_strided_symint(size, stride, dtype, layout, device,
                                  pinMemory);
}

void installPlacement() {
  // Live for the process: kernels may run until the very end.
  static auto &all =
      *new torch::Library(torch::Library::IMPL, "_", kKey, __FILE__, __LINE__);
  static auto &aten = *new torch::Library(torch::Library::IMPL, "aten", kKey,
                                          __FILE__, __LINE__);
  if (installed)
    return;
  all.fallback(torch::CppFunction::makeFallthrough());
  aten.impl("empty.memory_format", emptyOrResult);
  aten.impl("empty_strided", emptyStridedOrResult);
  installed = true;
}

Placement::Placement(std::span<const KernelView> results, at::Device device)
    : results(results), device(device), outer(inForce) {
  if (!installed)
    return;
  key.emplace(kKey);
  inForce = this;
}

Placement::~Placement() { inForce = outer; }

Placement *Placement::current() { return inForce; }

static bool isDense(const KernelView &view) {
  int64_t stride = 1;
  for (uint32_t i = view.rank; i-- > 0;) {
    if (view.strides[i] != stride && view.sizes[i] != 1)
      return false;
    stride *= view.sizes[i];
  }
  return stride > 0;
}

/// Whether they differ at most by dimensions of one element.
static bool isSameButOnes(at::IntArrayRef a, at::IntArrayRef b) {
  auto isNotOne = [](int64_t size) { return size != 1; };
  return std::ranges::equal(a | std::views::filter(isNotOne),
                            b | std::views::filter(isNotOne));
}

at::Tensor Placement::take(at::IntArrayRef sizes, at::ScalarType dtype) {
  at::Tensor exact =
      takeIf(dtype, [&](at::IntArrayRef wanted) { return sizes == wanted; });
  if (exact.defined())
    return exact;
  at::Tensor similar = takeIf(dtype, [&](at::IntArrayRef wanted) {
    return isSameButOnes(sizes, wanted);
  });
  if (similar.defined())
    similar.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return similar;
}

template <typename Fits>
at::Tensor Placement::takeIf(at::ScalarType dtype, const Fits &fits) {
  for (size_t i = 0; i < results.size() && i < 64; ++i) {
    const KernelView &view = results[i];
    if (taken >> i & 1 || dtype != toScalarType(view.dtype) ||
        !fits({view.sizes, view.rank}) || !isDense(view))
      continue;
    taken |= uint64_t(1) << i;
    return borrow(view, device);
  }
  return {};
}

} // namespace ltc::backend
