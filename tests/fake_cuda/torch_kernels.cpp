//===- torch_kernels.cpp - ATen's CUDA kernels, where it has none ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each op of the key CUDA waits for the current stream and runs the CPU's
// kernel on the same memory, by the addresses that it has in the host.
// Composite ops come apart before that, as they do with the real ones.
//
//===----------------------------------------------------------------------===//
#include "torch_device.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/library.h>

namespace fake_cuda {

namespace {

using at::Tensor, c10::IValue;
using Stack = std::vector<IValue>;

/// What the ops of a stream did; by name, for tests.
std::map<std::string, int> calls;
std::mutex callsMutex;

bool isThere(const Tensor &tensor) {
  return tensor.defined() && tensor.is_cuda();
}

/// The same memory as the CPU sees it.
Tensor here(const Tensor &there) {
  if (!isThere(there))
    return there;
  if (there.numel() == 0) // and may be resized
    return at::empty_strided(there.sizes(), there.strides(),
                             there.options().device(at::kCPU));
  size_t bytes = at::detail::computeStorageNbytes(
      there.sizes(), there.strides(), there.itemsize());
  Tensor cpu = at::from_blob(
      hostAddress(there.const_data_ptr(), bytes), there.sizes(),
      there.strides(), at::TensorOptions(there.scalar_type()).device(at::kCPU));
  if (there.unsafeGetTensorImpl()->is_wrapped_number())
    cpu.unsafeGetTensorImpl()->set_wrapped_number(true);
  return cpu;
}

/// A new tensor there with these values.
Tensor there(const Tensor &cpu, at::Device device) {
  Tensor made = at::empty_strided(cpu.sizes(), cpu.strides(),
                                  cpu.options().device(device));
  here(made).copy_(cpu);
  return made;
}

template <typename F> IValue mapTensors(const IValue &value, const F &f) {
  if (value.isTensor())
    return f(value.toTensor());
  if (value.isTensorList()) {
    c10::List<Tensor> list;
    for (const Tensor &each : value.toTensorVector())
      list.push_back(f(each));
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<Tensor>> list;
    for (const std::optional<Tensor> each : value.toOptionalTensorList())
      list.push_back(each ? std::optional(f(*each)) : std::nullopt);
    return list;
  }
  return value;
}

at::Device deviceOf(const Stack &arguments) {
  at::Device found = c10::impl::VirtualGuardImpl(c10::kCUDA).getDevice();
  for (const IValue &argument : arguments)
    mapTensors(argument, [&](const Tensor &tensor) {
      if (isThere(tensor))
        found = tensor.device();
      return tensor;
    });
  return found;
}

/// As a kernel queued in the current stream finds memory.
void await(at::Device device) {
  c10::impl::VirtualGuardImpl guard(c10::kCUDA);
  guard.synchronizeStream(guard.getStream(device));
}

IValue argumentHere(const IValue &argument) {
  if (argument.isDevice())
    return at::Device(argument.toDevice().is_cuda() ? at::kCPU
                                                    : argument.toDevice());
  if (argument.isGenerator())
    return static_cast<Generator *>(
               argument.toGenerator().unsafeGetGeneratorImpl())
        ->cpu;
  return mapTensors(argument, here);
}

/// While it lives, the CPU's default generator is this device's.
struct DrawsOf {
  explicit DrawsOf(at::Device device)
      : theirs(at::globalContext().defaultGenerator(device)) {
    cpu.set_state(theirs.get_state());
  }
  ~DrawsOf() {
    theirs.set_state(cpu.get_state());
    cpu.set_state(before.get_state());
  }
  at::Generator theirs, cpu = at::detail::getDefaultCPUGenerator();
  at::Generator before = cpu.clone();
};

/// A result is new, an argument that was written to, or resized by that.
Tensor result(const Tensor &cpu, const Stack &given, const Stack &lent,
              at::Device device) {
  if (!cpu.defined())
    return cpu;
  for (size_t i = 0; i < given.size(); ++i)
    if (lent[i].isTensor() && lent[i].toTensor().is_same(cpu)) {
      Tensor own = given[i].toTensor();
      if (own.sizes() != cpu.sizes()) {
        own.set_(there(cpu.contiguous(), device));
      }
      return own;
    }
  return there(cpu, device);
}

void run(const c10::OperatorHandle &op, Stack *stack) {
  const c10::FunctionSchema &schema = op.schema();
  size_t count = schema.arguments().size();
  Stack given(stack->end() - ptrdiff_t(count), stack->end());
  stack->resize(stack->size() - count);
  at::Device device = deviceOf(given);
  await(device);
  Stack lent;
  for (const IValue &argument : given)
    lent.push_back(argumentHere(argument));
  {
    std::lock_guard lock(callsMutex);
    ++calls[schema.name()];
  }
  Stack inside = lent;
  {
    std::optional<DrawsOf> draws;
    if (op.hasTag(at::Tag::nondeterministic_seeded))
      draws.emplace(device);
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &inside);
  }
  for (const IValue &value : inside)
    stack->push_back(mapTensors(value, [&](const Tensor &cpu) {
      return result(cpu, given, lent, device);
    }));
}

Tensor empty(at::IntArrayRef sizes, std::optional<at::ScalarType> type,
             std::optional<at::Layout>, std::optional<at::Device> device,
             std::optional<bool>, std::optional<at::MemoryFormat> format) {
  c10::OptionalDeviceGuard guard(device);
  return at::detail::empty_generic(
      sizes, c10::GetAllocator(c10::kCUDA),
      c10::DispatchKeySet(c10::DispatchKey::CUDA),
      type.value_or(at::get_default_dtype_as_scalartype()), format);
}

Tensor emptyStrided(at::IntArrayRef sizes, at::IntArrayRef strides,
                    std::optional<at::ScalarType> type,
                    std::optional<at::Layout>, std::optional<at::Device> device,
                    std::optional<bool>) {
  c10::OptionalDeviceGuard guard(device);
  return at::detail::empty_strided_generic(
      sizes, strides, c10::GetAllocator(c10::kCUDA),
      c10::DispatchKeySet(c10::DispatchKey::CUDA),
      type.value_or(at::get_default_dtype_as_scalartype()));
}

Tensor &copy(Tensor &to, const Tensor &from, bool) {
  TORCH_CHECK(to.device().type() != c10::kLazy, "not to lazy");
  if (from.device().type() == c10::kLazy)
    return to.copy_(from.cpu());
  for (const Tensor *each : {static_cast<const Tensor *>(&to), &from})
    if (isThere(*each))
      await(each->device());
  here(to).copy_(here(from));
  return to;
}

const Tensor &resize(const Tensor &self, at::IntArrayRef sizes,
                     std::optional<at::MemoryFormat>) {
  if (self.sizes() == sizes)
    return self;
  Tensor made = at::empty(sizes, self.options());
  if (self.nbytes() < made.nbytes())
    self.storage().set_data_ptr(
        made.storage().unsafeGetStorageImpl()->set_data_ptr(at::DataPtr()));
  self.storage().set_nbytes(std::max(self.storage().nbytes(), made.nbytes()));
  self.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return self;
}

Tensor &setTensor(Tensor &self, const Tensor &source) {
  auto *impl = self.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(source.storage());
  impl->set_storage_offset(source.storage_offset());
  impl->set_sizes_and_strides(source.sizes(), source.strides());
  return self;
}

constexpr int64_t kAlignment = 32; // of an attention's sums

std::tuple<Tensor, Tensor, Tensor, Tensor>
attention(const Tensor &q, const Tensor &k, const Tensor &v,
          const std::optional<Tensor> &mask, bool, double, bool isCausal,
          std::optional<double> scale) {
  await(q.device());
  TORCH_CHECK(!mask || mask->stride(2) % 16 == 0 || mask->stride(2) == 0,
              "attn_bias is not correctly aligned");
  auto [out, sums] = at::_scaled_dot_product_flash_attention_for_cpu(
      here(q), here(k), here(v), 0.0, isCausal,
      mask ? std::optional(here(*mask)) : std::nullopt, scale);
  int64_t more = (kAlignment - q.size(2) % kAlignment) % kAlignment;
  Tensor unused = at::empty({}, at::kLong);
  return {there(out, q.device()),
          there(at::constant_pad_nd(sums, {0, more}), q.device()), unused,
          unused};
}

std::tuple<Tensor, Tensor, Tensor, Tensor>
attentionBackward(const Tensor &gradient, const Tensor &q, const Tensor &k,
                  const Tensor &v, const Tensor &mask, const Tensor &out,
                  const Tensor &sums, const Tensor &, const Tensor &, double,
                  std::array<bool, 4>, bool isCausal,
                  std::optional<double> scale) {
  await(q.device());
  TORCH_CHECK(sums.size(2) % kAlignment == 0, "the sums are not padded");
  auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      here(gradient), here(q), here(k), here(v), here(out),
      here(sums).slice(2, 0, q.size(2)).contiguous(), 0.0, isCausal,
      mask.defined() ? std::optional(here(mask)) : std::nullopt, scale);
  return {there(dq, q.device()), there(dk, q.device()), there(dv, q.device()),
          Tensor()};
}

void refuse(const c10::OperatorHandle &op, Stack *) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, op.schema().name(),
                              " is not for the backend CUDA");
}

} // namespace

TORCH_LIBRARY_IMPL(_, CUDA, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&run>());
}

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  library.impl("empty.memory_format", empty);
  library.impl("empty_strided", emptyStrided);
  library.impl("copy_", copy);
  library.impl("resize_", resize);
  library.impl("set_.source_Tensor", setTensor);
  library.impl("as_strided", [](const Tensor &self, at::IntArrayRef sizes,
                                at::IntArrayRef strides,
                                std::optional<int64_t> offset) {
    return at::native::as_strided_tensorimpl(self, sizes, strides, offset);
  });
  library.impl("view", [](const Tensor &self, at::IntArrayRef sizes) {
    return at::native::view(self, sizes);
  });
  library.impl("_reshape_alias", [](const Tensor &self, at::IntArrayRef sizes,
                                    at::IntArrayRef strides) {
    return at::native::_reshape_alias(self, sizes, strides);
  });
  library.impl("_scaled_dot_product_efficient_attention", attention);
  library.impl("_scaled_dot_product_efficient_attention_backward",
               attentionBackward);
  // CUDA has none of these.
  for (const char *name :
       {"_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_flash_attention_for_cpu_backward"})
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&refuse>());
}

/// How often the kernels of an op ran, by its name ("aten::mm"); "" is all.
TORCH_LIBRARY(fake_cuda, library) {
  library.def("calls(str name) -> int", [](const std::string &name) {
    std::lock_guard lock(callsMutex);
    int64_t sum = 0;
    for (const auto &[op, count] : calls)
      sum += name.empty() || op == name ? count : 0;
    return sum;
  });
}

} // namespace fake_cuda
