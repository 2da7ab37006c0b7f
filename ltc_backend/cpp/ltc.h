//===- cpp/ltc.h - The lazy device for C++ programs on libtorch -*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a C++ program includes; docs/cpp.md shows how. C++17, and names as
// libtorch has them. Whatever fails throws c10::Error. Any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#ifndef LTC_API
#define LTC_API __attribute__((visibility("default")))
#endif

namespace torch::nn {
class Module;
}
namespace torch::optim {
class Optimizer;
}

namespace ltc {

/// Starts the lazy device, after setting what is named: docs/settings.md lists
/// the settings, and each has an environment variable, too. Called again, it
/// only sets. The device ends at exit, which waits for what is queued.
LTC_API void initialize(
    const std::vector<std::pair<std::string, std::string>> &settings = {});

/// The lazy device of that number; starts it if nobody has.
LTC_API c10::Device device(int ordinal = 0);

/// Moves a module's parameters, buffers and gradients to a lazy device or back,
/// where Module::to() throws. PyTorch has no way to put a lazy tensor behind a
/// handle, so each handle gets another: those in the module, its children and
/// libtorch's own modules, in `optimizers`, with their state, and in `handles`,
/// which are what modules of your own keep beside what they have registered.
/// Tensors that were shared stay shared. If there is a handle elsewhere it
/// throws, with the tensor's name, and moves nothing.
LTC_API void to(torch::nn::Module &module, c10::Device device,
                const std::vector<torch::optim::Optimizer *> &optimizers = {},
                const std::vector<at::Tensor *> &handles = {});

/// Ends a step: makes one graph of all that this thread recorded for tensors
/// that are alive, and queues it. Call it after optimizer.step(). Waits until
/// the graph has run if `wait`. A lazy device without an index is this thread's
/// current.
LTC_API void mark_step(bool wait = false, c10::Device device = c10::kLazy);

/// Ends a step and waits until all that is queued has run. Throws the first
/// error that nobody has seen.
LTC_API void synchronize(c10::Device device = c10::kLazy);

/// Counters of every stage, "stage.noun" or "stage.noun.detail".
LTC_API std::map<std::string, int64_t> metrics();

/// Why each of the last thousand graphs was compiled, as text.
LTC_API std::string explain();

/// Seeds the random numbers of lazy ops; the same as torch::manual_seed().
LTC_API void manual_seed(uint64_t seed);

/// Bytes of the device's memory: in tensors, the most so far, and taken from
/// the system.
LTC_API size_t memory_allocated(c10::Device device = c10::kLazy);
LTC_API size_t max_memory_allocated(c10::Device device = c10::kLazy);
LTC_API size_t memory_reserved(c10::Device device = c10::kLazy);
LTC_API void reset_peak_memory_stats(c10::Device device = c10::kLazy);

} // namespace ltc
