//===- host_calls.h - Library calls that a device leaves --------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "device/device.h"
#include "ltc/kernels.h"
#include "ltc/metrics.h"

#include <map>

namespace ltc::runtime {

/// A program whose device leaves some library calls to the host, for one set of
/// values of its symbols. The device runs the steps between them; for each the
/// host copies what its operands lie in, runs its own kernel, and copies back.
/// Memory that the host reaches is not copied. One run at a time.
class HostCalls {
public:
  /// `isOnHost`: by number of the call. Finds the kernels.
  static Result<std::unique_ptr<HostCalls>>
  make(std::shared_ptr<Device> device, const Artifact &artifact,
       const std::vector<bool> &isOnHost, std::vector<int64_t> symbols);

  /// Runs all steps, done on return. `staging` is for the copies.
  std::optional<Fault> run(ltc_program *program, const ltc_launch &whole,
                           HostMemory &staging);

private:
  /// A range of bytes of an operand or of the arena.
  struct Block {
    uint32_t base, index; ///< LTC_INPUT, LTC_RESULT or LTC_ARENA
    size_t begin, end;    ///< in its buffer
    bool isWhole = false; ///< every byte of it is a result's
    bool isRead = false, isWritten = false;
    size_t place = 0; ///< in the staging memory
  };
  /// One operand or result: sizes, then strides, in `numbers`.
  struct View {
    ValueType type;
    int64_t scalar = 0; ///< its bits, or the input that has them
    bool isInput = false;
    uint32_t block = 0;
    size_t offset = 0; ///< in the block
    std::vector<int64_t> numbers;
  };
  struct Call {
    uint32_t step, number;
    Kernel *kernel;
    size_t operands;
    std::vector<View> views;
    std::vector<Block> blocks;
    Counter *counter;
    size_t bytes = 0; ///< of the staging memory
  };

  HostCalls(std::shared_ptr<Device> device, const Artifact &artifact,
            std::vector<int64_t> symbols)
      : device(std::move(device)), artifact(artifact),
        symbols(std::move(symbols)) {}

  std::optional<int64_t> valueOf(int64_t number) const;
  /// Where parts of the arena begin; false if it is impossible.
  bool placeArena();
  Result<Kernel *> kernelOf(const Graph &call);
  Result<Call> read(uint32_t step);
  bool readView(View &view, const ltc_word *&word, bool isResult,
                std::vector<Block> &blocks);
  /// Makes one of those that overlap, so that a kernel sees its operands lie as
  /// on the device.
  static void join(Call &call);

  ltc_buffer *bufferOf(const Block &block, const ltc_launch &whole) const;
  std::optional<Fault> runSteps(ltc_program *program, ltc_launch part,
                                uint32_t begin, uint32_t end);
  /// Waits for what is queued.
  std::optional<Fault> settle();
  /// Copies what it reads to `memory`, and fills `data` with where each block
  /// lies. What is queued is over on return.
  std::optional<Fault> fetch(const Call &call, const ltc_launch &whole,
                             char *memory, std::vector<char *> &data);
  /// Copies what it wrote to the device.
  std::optional<Fault> deliver(const Call &call, const ltc_launch &whole,
                               const std::vector<char *> &data);
  static std::vector<KernelView> viewsOf(const Call &call,
                                         const ltc_launch &whole,
                                         const std::vector<char *> &data);
  std::optional<Fault> runCall(Call &call, const ltc_launch &whole,
                               HostMemory &staging);

  const std::shared_ptr<Device> device;
  const Artifact &artifact; ///< the program's, which outlives this
  const std::vector<int64_t> symbols;
  std::vector<int64_t> parts; ///< where those of the arena begin
  std::map<Hash128, std::unique_ptr<Kernel>> kernels;
  std::vector<Call> calls; ///< in the order of their steps
};

} // namespace ltc::runtime
