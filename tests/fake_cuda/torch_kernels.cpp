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

#include <set>

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

/// What PyTorch's kernels wait for the stream with, where ours may not.
bool waitsForStream(const std::string &op) {
  static const std::set<std::string> all = {
      "aten::_local_scalar_dense", "aten::equal",         "aten::histc",
      "aten::linalg_eig",          "aten::masked_select", "aten::nonzero"};
  return all.contains(op);
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

/// By the CPU's kernel.
Stack runHere(const c10::OperatorHandle &op, Stack lent, at::Device device) {
  std::optional<DrawsOf> draws;
  if (op.hasTag(at::Tag::nondeterministic_seeded))
    draws.emplace(device);
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &lent);
  std::lock_guard lock(callsMutex);
  ++calls[op.schema().name()];
  return lent;
}

std::vector<Tensor> tensorsOf(const Stack &values) {
  std::vector<Tensor> all;
  for (const IValue &value : values)
    mapTensors(value, [&](const Tensor &tensor) {
      all.push_back(tensor);
      return tensor;
    });
  return all;
}

/// What results will be like, on copies, since nothing may be done yet.
Stack trial(const c10::OperatorHandle &op, const Stack &lent) {
  Stack copies;
  for (const IValue &argument : lent)
    copies.push_back(mapTensors(argument, [](const Tensor &tensor) {
      return tensor.defined() ? tensor.clone() : tensor;
    }));
  Stack stack = copies;
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);
  // What was returned of the arguments is the arguments again.
  for (IValue &value : stack)
    for (size_t i = 0; i < copies.size(); ++i)
      if (value.isTensor() && copies[i].isTensor() &&
          value.toTensor().is_same(copies[i].toTensor()))
        value = lent[i];
  return stack;
}

/// Results of a call that is done later, and then into their memory.
Stack capture(const c10::OperatorHandle &op, const Stack &given,
              const Stack &lent, at::Device device) {
  TORCH_CHECK(!op.hasTag(at::Tag::nondeterministic_seeded),
              "a generator is not captured");
  Stack results;
  for (const IValue &value : trial(op, lent))
    results.push_back(mapTensors(value, [&](const Tensor &cpu) {
      if (!cpu.defined())
        return cpu;
      for (size_t i = 0; i < given.size(); ++i)
        if (lent[i].isTensor() && lent[i].toTensor().is_same(cpu))
          return given[i].toTensor();
      return at::empty_strided(cpu.sizes(), cpu.strides(),
                               cpu.options().device(device));
    }));
  std::vector<Tensor> targets;
  for (const Tensor &tensor : tensorsOf(results))
    targets.push_back(here(tensor));
  enqueue(device, [=] {
    std::vector<Tensor> made = tensorsOf(runHere(op, lent, device));
    for (size_t i = 0; i < made.size(); ++i)
      if (made[i].defined() && made[i].numel() &&
          made[i].const_data_ptr() != targets[i].const_data_ptr())
        targets[i].copy_(made[i]);
  });
  return results;
}

void run(const c10::OperatorHandle &op, Stack *stack) {
  const c10::FunctionSchema &schema = op.schema();
  size_t count = schema.arguments().size();
  Stack given(stack->end() - ptrdiff_t(count), stack->end());
  stack->resize(stack->size() - count);
  at::Device device = deviceOf(given);
  bool isCaptured = isCapturing(device);
  if (!isCaptured || waitsForStream(schema.name()))
    await(device);
  Stack lent;
  for (const IValue &argument : given)
    lent.push_back(argumentHere(argument));
  if (isCaptured) {
    Stack results = capture(op, given, lent, device);
    stack->insert(stack->end(), results.begin(), results.end());
    return;
  }
  for (const IValue &value : runHere(op, lent, device))
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
  if (isThere(to) && isThere(from)) {
    enqueue(to.device(),
            [to = here(to), from = here(from)] { to.copy_(from); });
    return to;
  }
  await(isThere(to) ? to.device() : from.device());
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

/// The device's tensors with what `compute` makes of others.
template <typename F>
std::vector<Tensor> produce(at::Device device, const F &compute) {
  std::vector<Tensor> made, targets;
  if (!isCapturing(device))
    await(device);
  std::vector<Tensor> first = compute();
  for (const Tensor &cpu : first) {
    made.push_back(at::empty_strided(cpu.sizes(), cpu.strides(),
                                     cpu.options().device(device)));
    targets.push_back(here(made.back()));
  }
  auto fill = [targets](const std::vector<Tensor> &values) {
    for (size_t i = 0; i < values.size(); ++i)
      targets[i].copy_(values[i]);
  };
  if (isCapturing(device))
    enqueue(device, [=] { fill(compute()); });
  else
    fill(first);
  return made;
}

constexpr int64_t kAlignment = 32; // of an attention's sums

std::tuple<Tensor, Tensor, Tensor, Tensor>
attention(const Tensor &q, const Tensor &k, const Tensor &v,
          const std::optional<Tensor> &mask, bool, double, bool isCausal,
          std::optional<double> scale) {
  TORCH_CHECK(!mask || mask->stride(2) % 16 == 0 || mask->stride(2) == 0,
              "attn_bias is not correctly aligned");
  auto hereMask = mask ? std::optional(here(*mask)) : std::nullopt;
  std::vector<Tensor> made =
      produce(q.device(), [=, q = here(q), k = here(k), v = here(v)] {
        auto [out, sums] = at::_scaled_dot_product_flash_attention_for_cpu(
            q, k, v, 0.0, isCausal, hereMask, scale);
        int64_t more = (kAlignment - q.size(2) % kAlignment) % kAlignment;
        return std::vector<Tensor>{out, at::constant_pad_nd(sums, {0, more})};
      });
  Tensor unused = at::empty({}, at::kLong);
  return {made[0], made[1], unused, unused};
}

std::tuple<Tensor, Tensor, Tensor, Tensor>
attentionBackward(const Tensor &gradient, const Tensor &q, const Tensor &k,
                  const Tensor &v, const Tensor &mask, const Tensor &out,
                  const Tensor &sums, const Tensor &, const Tensor &, double,
                  std::array<bool, 4>, bool isCausal,
                  std::optional<double> scale) {
  TORCH_CHECK(sums.size(2) % kAlignment == 0, "the sums are not padded");
  auto hereMask = mask.defined() ? std::optional(here(mask)) : std::nullopt;
  std::vector<Tensor> made = produce(
      q.device(), [=, gradient = here(gradient), q = here(q), k = here(k),
                   v = here(v), out = here(out), sums = here(sums)] {
        auto [dq, dk, dv] =
            at::_scaled_dot_product_flash_attention_for_cpu_backward(
                gradient, q, k, v, out,
                sums.slice(2, 0, q.size(2)).contiguous(), 0.0, isCausal,
                hereMask, scale);
        return std::vector<Tensor>{dq, dk, dv};
      });
  return {made[0], made[1], made[2], Tensor()};
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
TORCH_LIBRARY_FRAGMENT(fake_cuda, library) {
  library.def("calls(str name) -> int", [](const std::string &name) {
    std::lock_guard lock(callsMutex);
    int64_t sum = 0;
    for (const auto &[op, count] : calls)
      sum += name.empty() || op == name ? count : 0;
    return sum;
  });
}

} // namespace fake_cuda
