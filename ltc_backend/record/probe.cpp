//===- record/probe.cpp - Tensors that a CPU kernel is asked with ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/probe.h"

#include "ltc_backend/tensors/layout.h"
#include "ltc_backend/tensors/map_tensors.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/OpMathType.h>

namespace ltc::backend {

const ProbeMaker onMeta = {c10::kMeta, metaLike};
const ProbeMaker onMetaRowMajor = {
    c10::kMeta, [](const at::Tensor &like) -> at::Tensor {
      return at::detail::empty_meta(like.sizes(), like.scalar_type());
    }};
static at::Tensor zerosLike(const at::Tensor &like, at::ScalarType type) {
  return at::empty_strided(like.sizes(), like.strides(), type).zero_();
}
const ProbeMaker onCpu = {c10::kCPU, [](const at::Tensor &like) {
                            return zerosLike(like, like.scalar_type());
                          }};
const ProbeMaker onCpuRowMajor = {c10::kCPU, [](const at::Tensor &like) {
                                    return at::zeros(like.sizes(),
                                                     like.scalar_type());
                                  }};
const ProbeMaker onCpuFloat = {c10::kCPU, [](const at::Tensor &like) {
                                 return zerosLike(like, at::kFloat);
                               }};
const ProbeMaker onCpuWide = {c10::kCPU, [](const at::Tensor &like) {
                                return zerosLike(
                                    like, at::toOpMathType(like.scalar_type()));
                              }};
const ProbeMaker onCpuOnes = {
    c10::kCPU, [](const at::Tensor &like) {
      return at::empty_strided(like.sizes(), like.strides(), like.scalar_type())
          .fill_(1);
    }};
const ProbeMaker onCpuRising = {
    c10::kCPU, [](const at::Tensor &like) {
      return at::arange(like.numel(), like.scalar_type()).view(like.sizes());
    }};
const ProbeMaker onCpuFullRank = {c10::kCPU, [](const at::Tensor &like) {
                                    at::Tensor made = onCpu.make(like);
                                    if (made.dim() >= 2)
                                      made.diagonal(0, -2, -1).fill_(1);
                                    return made;
                                  }};
const ProbeMaker onCpuFlat = {
    c10::kCPU, [](const at::Tensor &like) {
      return at::zeros({}, like.scalar_type()).expand(like.sizes());
    }};
std::vector<int64_t> smallSizes(at::IntArrayRef sizes) {
  std::vector<int64_t> small = sizes.vec();
  for (int64_t &size : small)
    size = std::min<int64_t>(size, 2);
  return small;
}
const ProbeMaker onCpuSmall = {
    c10::kCPU, [](const at::Tensor &like) {
      return at::zeros({}, like.scalar_type()).expand(smallSizes(like.sizes()));
    }};

static at::Tensor replace(const at::Tensor &tensor, const ProbeMaker &by) {
  if (!tensor.defined() || tensor.unsafeGetTensorImpl()->is_wrapped_number())
    return tensor;
  return by.make(tensor);
}

static c10::IValue replace(const c10::IValue &value, const ProbeMaker &by) {
  if (value.isDevice())
    return c10::Device(by.device);
  if (value.isGenerator())
    return c10::IValue();
  return mapTensors(
      value, [&](const at::Tensor &tensor) { return replace(tensor, by); });
}

std::vector<c10::IValue> replaceAll(c10::ArrayRef<c10::IValue> arguments,
                                    const ProbeMaker &by) {
  std::vector<c10::IValue> replaced;
  for (const c10::IValue &value : arguments)
    replaced.push_back(replace(value, by));
  return replaced;
}

/// The elements from the first to behind the last.
static int64_t extent(const at::Tensor &tensor) {
  if (tensor.numel() == 0)
    return 0;
  int64_t last = 0;
  for (int64_t dim = 0; dim < tensor.dim(); ++dim)
    last += (tensor.size(dim) - 1) * tensor.stride(dim);
  return last + 1;
}

static const c10::StorageImpl *storageImplOf(const at::Tensor &tensor) {
  if (!tensor.defined() || tensor.device().type() != at::kLazy ||
      !at::functionalization::impl::isFunctionalTensor(tensor))
    return nullptr;
  return tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
}

Span spanOf(const at::Tensor &tensor) {
  const c10::StorageImpl *storage = storageImplOf(tensor);
  if (!storage)
    return {};
  int64_t bytes = int64_t(tensor.itemsize());
  int64_t begin = tensor.storage_offset();
  return {storage, begin * bytes, (begin + extent(tensor)) * bytes};
}

bool hasStrideZero(const at::Tensor &tensor) {
  at::IntArrayRef sizes = tensor.sizes(), strides = tensor.strides();
  for (size_t dim = 0; dim < sizes.size(); ++dim)
    if (strides[dim] == 0 && sizes[dim] > 1)
      return tensor.numel() > 0;
  return false;
}

void SharedMemory::reserve(const at::Tensor &tensor) {
  // Also for every element: some kernels write as if strides were none.
  Span span = spanOf(tensor);
  int64_t dense = span.begin + tensor.numel() * int64_t(tensor.itemsize());
  int64_t &needed = bytes[span.storage];
  needed = std::max({needed, span.end, dense});
}

at::Tensor SharedMemory::operator()(const at::Tensor &tensor) {
  if (!tensor.defined() || tensor.device().type() != at::kLazy)
    return tensor;
  const c10::StorageImpl *storage = storageImplOf(tensor);
  auto reserved = bytes.find(storage);
  if (!storage || reserved == bytes.end())
    return at::empty_strided(tensor.sizes(), tensor.strides(),
                             tensor.scalar_type())
        .fill_(fill);
  auto [found, isNew] = memory.try_emplace(storage);
  if (isNew)
    found->second = at::zeros({reserved->second}, at::kByte).storage();
  auto place = [&](int64_t offset, at::IntArrayRef sizes,
                   at::IntArrayRef strides) {
    return at::empty({0}, tensor.scalar_type())
        .set_(found->second, offset, sizes, strides);
  };
  place(0, {reserved->second / int64_t(tensor.itemsize())}, {1}).fill_(fill);
  return place(tensor.storage_offset(), tensor.sizes(), tensor.strides());
}

} // namespace ltc::backend
