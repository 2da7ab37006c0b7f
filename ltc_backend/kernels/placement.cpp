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
#include <torch/library.h>

namespace ltc::backend {

static constexpr auto kKey = c10::DispatchKey::TESTING_ONLY_GenericMode;
static thread_local Placement *inForce = nullptr;
static bool installed = false;

static at::Tensor emptyOrResult(c10::SymIntArrayRef size,
                                std::optional<at::ScalarType> dtype,
                                std::optional<at::Layout> layout,
                                std::optional<at::Device> device,
                                std::optional<bool> pinMemory,
                                std::optional<at::MemoryFormat> format) {
  bool plain = layout.value_or(at::kStrided) == at::kStrided &&
               device.value_or(at::kCPU).is_cpu() &&
               !pinMemory.value_or(false) &&
               format.value_or(at::MemoryFormat::Contiguous) ==
                   at::MemoryFormat::Contiguous;
  auto sizes = c10::asIntArrayRefSlowOpt(size);
  if (Placement *placement = Placement::current(); placement && plain && sizes)
    if (at::Tensor result = placement->take(
            *sizes, dtype.value_or(at::get_default_dtype_as_scalartype()));
        result.defined())
      return result;
  c10::impl::ExcludeDispatchKeyGuard below(kKey);
  return at::empty_symint(size, dtype, layout, device, pinMemory, format);
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
  installed = true;
}

Placement::Placement(std::span<const KernelView> results)
    : results(results), outer(inForce) {
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

at::Tensor Placement::take(at::IntArrayRef sizes, at::ScalarType dtype) {
  for (size_t i = 0; i < results.size() && i < 64; ++i) {
    const KernelView &view = results[i];
    if (taken >> i & 1 || dtype != toScalarType(view.dtype) ||
        sizes != at::IntArrayRef(view.sizes, view.rank) || !isDense(view))
      continue;
    taken |= uint64_t(1) << i;
    return borrow(view);
  }
  return {};
}

} // namespace ltc::backend
