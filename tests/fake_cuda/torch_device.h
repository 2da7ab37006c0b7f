//===- torch_device.h - PyTorch's CUDA, where it has none -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "fake_gpu.h"

#include <ATen/core/Generator.h>
#include <c10/core/Stream.h>

#include <functional>

namespace fake_cuda {

/// The stream that PyTorch means: its own, or another's by its handle.
CUstream streamOf(c10::Stream stream);

/// Has the device's current stream do that in its turn, or, while it captures,
/// whenever that is launched. Otherwise it is done when this returns.
void enqueue(c10::Device device, std::function<void()> work);
/// Whether the device's current stream captures.
bool isCapturing(c10::Device device);
/// As what waits for the current stream does; refused while that captures.
void await(c10::Device device);

/// Where memory of a GPU really is. Throws where none is.
void *hostAddress(const void *address, size_t bytes);

/// A GPU's, which draws the numbers of one of the CPU.
struct Generator final : c10::GeneratorImpl {
  Generator(c10::DeviceIndex index, at::Generator drawn)
      : GeneratorImpl({c10::kCUDA, std::max<c10::DeviceIndex>(index, 0)},
                      c10::DispatchKeySet(c10::DispatchKey::CUDA)),
        cpu(std::move(drawn)) {}

  static c10::DeviceType device_type() { return c10::kCUDA; }
  void set_current_seed(uint64_t seed) override { cpu.set_current_seed(seed); }
  void set_offset(uint64_t offset) override { cpu.set_offset(offset); }
  uint64_t get_offset() const override { return cpu.get_offset(); }
  uint64_t current_seed() const override { return cpu.current_seed(); }
  uint64_t seed() override { return cpu.seed(); }
  void set_state(const c10::TensorImpl &state) override {
    cpu.unsafeGetGeneratorImpl()->set_state(state);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return cpu.unsafeGetGeneratorImpl()->get_state();
  }
  Generator *clone_impl() const override {
    return new Generator(device().index(), cpu.clone());
  }

  at::Generator cpu;
};

} // namespace fake_cuda
