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
#include <memory>
#include <string>
#include <utility>
#include <vector>

#ifndef LTC_API
#define LTC_API __attribute__((visibility("default")))
#endif

namespace torch::nn {
class Module;
} // namespace torch::nn
namespace torch::optim {
class Optimizer;
} // namespace torch::optim
namespace torch::serialize {
class InputArchive;
class OutputArchive;
} // namespace torch::serialize

namespace ltc {
class CompileWatch;

/// All of the interface of libtorch_ltc.so.0.1; no names of other libraries.
inline namespace v0 {

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

namespace detail {
/// As torch::save() and torch::load() do, whose operators for tensors only
/// namespace torch finds.
template <typename Archive, typename Value>
void write(Archive &archive, const Value &value) {
  archive << value;
}
template <typename Archive>
void write(Archive &archive, const at::Tensor &tensor) {
  archive.write("0", tensor);
}
template <typename Archive>
void write(Archive &archive, const std::vector<at::Tensor> &tensors) {
  for (size_t i = 0; i < tensors.size(); ++i)
    archive.write(std::to_string(i), tensors[i]);
}
template <typename Archive, typename Value>
void read(Archive &archive, Value &value) {
  archive >> value;
}
template <typename Archive> void read(Archive &archive, at::Tensor &tensor) {
  archive.read("0", tensor);
}
template <typename Archive>
void read(Archive &archive, std::vector<at::Tensor> &tensors) {
  at::Tensor tensor;
  for (size_t i = 0; archive.try_read(std::to_string(i), tensor); ++i) {
    tensors.push_back(std::move(tensor));
    tensor = at::Tensor();
  }
}
/// Throws if a module's parameters are not where they are loaded to.
LTC_API void require_device(const at::Tensor &parameter, c10::Device device);
template <typename Value>
auto check(const Value &value, c10::Device device, int)
    -> decltype(value->parameters(), void()) {
  for (const at::Tensor &parameter : value->parameters())
    require_device(parameter, device);
}
template <typename Value> void check(const Value &, c10::Device, long) {}
} // namespace detail

/// Moves all tensors of an archive that has been read, or is to be written.
/// Those that share memory still do.
LTC_API void to(torch::serialize::InputArchive &archive, c10::Device device);
LTC_API void to(torch::serialize::OutputArchive &archive, c10::Device device);

/// torch::save(), which writes lazy tensors, too, but not so that everybody can
/// read them: files of this one are as if all were on the CPU. Of a module, an
/// optimizer, a tensor or a vector of tensors; to a file by its name, or to a
/// stream. Include <torch/torch.h> for it.
template <typename Value, typename Target,
          typename Archive = torch::serialize::OutputArchive>
void save(const Value &value, Target &&target) {
  Archive archive;
  detail::write(archive, value);
  to(archive, c10::Device(c10::kCPU));
  archive.save_to(std::forward<Target>(target));
}

/// torch::load(), which knows no lazy device, onto one: the module must be
/// there, and is what the optimizer is for; tensors are made there. From what
/// torch::save() or ltc::save() wrote.
template <typename Value, typename From,
          typename Archive = torch::serialize::InputArchive>
void load(Value &value, From &&from, c10::Device device = c10::kLazy) {
  detail::check(value, device, 0);
  Archive archive;
  archive.load_from(std::forward<From>(from), c10::Device(c10::kCPU));
  to(archive, device);
  detail::read(archive, value);
}

/// Ends a step: makes one graph of all that this thread recorded for tensors
/// that are alive, and queues it. Waits until the graph has run if `wait`. A
/// lazy device without an index is this thread's current. A step also ends by
/// itself, unless the setting auto_step is off: where a thread that has updated
/// parameters with gradients (as optimizer.step() does, in no-grad mode) goes
/// on to something that may be differentiated.
LTC_API void mark_step(bool wait = false, c10::Device device = c10::kLazy);

/// Ends a step and waits until all that is queued has run. Throws the first
/// error that nobody has seen.
LTC_API void synchronize(c10::Device device = c10::kLazy);

/// Says that a dimension will have other sizes: the first graph that reads this
/// value of the tensor is compiled for all of them. mark_static() says that
/// each size is worth a graph of its own.
LTC_API void mark_dynamic(const at::Tensor &tensor, int64_t dim);
LTC_API void mark_static(const at::Tensor &tensor, int64_t dim);

/// What this thread records from now on comes from this line, until it names
/// another: errors, explain() and dumps say so, also of the gradients. Costs a
/// few nanoseconds. Python programs name their lines themselves. The setting
/// source_backtrace finds lines that nobody names, by debug information.
#define LTC_SOURCE_HERE()                                                      \
  do {                                                                         \
    static const std::uint32_t ltc_source_here =                               \
        ::ltc::source_id(__FILE__, __LINE__, __func__);                        \
    ::ltc::set_source(ltc_source_here);                                        \
  } while (false)
LTC_API std::uint32_t source_id(const char *file, std::uint32_t line,
                                const char *function);
LTC_API void set_source(std::uint32_t id);

/// While it lives, its thread may compile so many graphs. One more throws, at
/// the sync that needed it, which has its values then; the error says why it
/// was compiled. Graphs that come from disk count too if `loads`.
class LTC_API CompileGuard {
public:
  explicit CompileGuard(size_t allowed = 0, bool loads = false);
  ~CompileGuard();
  CompileGuard(const CompileGuard &) = delete;
  CompileGuard &operator=(const CompileGuard &) = delete;
  /// How many there were.
  size_t compiled() const;

private:
  std::unique_ptr<CompileWatch> watch;
};

/// Begins a profile of all steps; throws if one is on. profile_stop() waits
/// until what is queued has run, and writes profile.json and trace.json, which
/// docs/profiling.md explains, into a directory. The setting `profile` names
/// one for the whole program.
LTC_API void profile_start();
LTC_API void profile_stop(const std::string &directory);

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

} // namespace v0
} // namespace ltc
