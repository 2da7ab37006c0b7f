//===- record/probe.h - Tensors that a CPU kernel is asked with -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>
#include <functional>
#include <map>

namespace ltc::backend {

/// Tensors that a kernel may be asked about a call with.
struct ProbeMaker {
  c10::DeviceType device;
  std::function<at::Tensor(const at::Tensor &like)> make;
};
extern const ProbeMaker onMeta, onMetaRowMajor;
extern const ProbeMaker onCpu;         ///< zeros with the strides of the tensor
extern const ProbeMaker onCpuRowMajor; ///< zeros
extern const ProbeMaker onCpuOnes;     ///< ones, laid out the same
extern const ProbeMaker onCpuRising;   ///< 0, 1, 2, ...
extern const ProbeMaker onCpuFullRank; ///< zeros, ones on the diagonal
extern const ProbeMaker onCpuFloat;    ///< of float
extern const ProbeMaker onCpuWide; ///< of float where there are narrower ones
/// One element of memory, whatever the size.
extern const ProbeMaker onCpuFlat;
/// Two elements along each dimension at most: broadcast and multiplied as these
/// would be, but no work.
extern const ProbeMaker onCpuSmall;
std::vector<int64_t> smallSizes(at::IntArrayRef sizes);

/// The arguments with others for all tensors but wrapped numbers, whose value
/// and weak dtype meta kernels read.
std::vector<c10::IValue> replaceAll(c10::ArrayRef<c10::IValue> arguments,
                                    const ProbeMaker &by);

/// The bytes that a tensor spans in its storage. Tensors of one storage that
/// span common bytes may have elements in common.
struct Span {
  const c10::StorageImpl *storage = nullptr; ///< null: memory of its own
  int64_t begin = 0, end = 0;

  bool meets(const Span &other) const {
    return storage && storage == other.storage && begin < other.end &&
           other.begin < end;
  }
};

/// Of a functional tensor, by the strides it reports; empty for any other.
Span spanOf(const at::Tensor &tensor);

/// Whether the tensor shows a place twice, in the way that eager's kernels see.
bool hasStrideZero(const at::Tensor &tensor);

/// CPU tensors, all elements `fill`, in place of lazy ones, laid out in common
/// memory as those report to be. What is not lazy stands for itself.
class SharedMemory {
public:
  explicit SharedMemory(int fill) : fill(fill) {}
  /// Gives `tensor` memory, together with all others of its storage.
  void reserve(const at::Tensor &tensor);
  /// The tensor's place in that memory, or one of its own.
  at::Tensor operator()(const at::Tensor &tensor);

private:
  int fill;
  std::map<const c10::StorageImpl *, int64_t> bytes;
  std::map<const c10::StorageImpl *, c10::Storage> memory;
};

/// What the op returns for probes on that device, called below autograd and
/// functionalisation. Throws what the op throws. It is only asked: it draws
/// from no generator, and what it warns of is neither heard nor spent.
std::vector<c10::IValue> callOnProbes(const c10::OperatorHandle &op,
                                      std::vector<c10::IValue> arguments,
                                      c10::DeviceType device = c10::kCPU);

/// Adds what the op warns of when it is called like that: also once in a
/// process, which is spent. Throws what the op throws.
void hearOnProbes(const c10::OperatorHandle &op,
                  std::vector<c10::IValue> arguments,
                  std::vector<c10::Warning> &heard);

} // namespace ltc::backend
