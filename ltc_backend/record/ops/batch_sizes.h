//===- ops/batch_sizes.h - Sequences at each time ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace ltc::backend {

/// How many of a batch's sequences have each time. All have all, in tensors
/// (T, B, N); or they are packed, from the longest to the shortest: tensors
/// (R, N) have the rows of the first time, then those of the second.
///
/// What depends on lengths is a tensor beside the graph, not in it: a graph
/// serves all lengths.
class BatchSizes {
public:
  /// All sequences have all times.
  BatchSizes() = default;
  /// As a PackedSequence has them, see areValid(), or undefined for all.
  explicit BatchSizes(const at::Tensor &sizes);
  /// Whether they are int64 (T) on the CPU, with a time, and never rise.
  static bool areValid(const at::Tensor &sizes);

  bool arePacked() const { return onCpu.defined(); }
  int64_t rows() const { return offsets.back(); }
  int64_t batch() const { return offsets[1]; }

  /// What this was made of; and for kernels, on the device of `like`.
  const at::Tensor &tensor() const { return onCpu; }
  std::optional<at::Tensor> tensorFor(const at::Tensor &like) const;

  /// The rows of each sequence's last time, and of its first, in the order that
  /// a direction meets them.
  at::Tensor last(const at::Tensor &states, bool reverse,
                  int64_t dim = 0) const;
  at::Tensor first(const at::Tensor &states, bool reverse,
                   int64_t dim = 0) const {
    return last(states, !reverse, dim);
  }
  /// The states that the times begin with, as rows (R, H): `hx` (B, H) and
  /// outputs.
  at::Tensor before(const at::Tensor &output, const at::Tensor &hx,
                    bool reverse) const;

  /// The states of one time, the first of them the output, of the rows of the
  /// input and the states before.
  using Step = std::function<std::vector<at::Tensor>(
      const at::Tensor &rows, const std::vector<at::Tensor> &states)>;
  /// One direction of a layer in ops that all differentiate and batch, none in
  /// place: the output, and the last states of all that begin as `first`.
  std::vector<at::Tensor> recur(const at::Tensor &input,
                                const std::vector<at::Tensor> &first,
                                bool reverse, const Step &step) const;

  /// Packs the rows (T, B, ...) that sequences have, and puts them back where
  /// `times` and the sequences have room, between `padding`.
  at::Tensor pack(const at::Tensor &padded) const;
  at::Tensor pad(const at::Tensor &packed, int64_t times,
                 const at::Scalar &padding) const;

private:
  int64_t times() const { return int64_t(offsets.size()) - 1; }
  int64_t size(int64_t time) const { return offsets[time + 1] - offsets[time]; }
  /// The rows of a time.
  at::Tensor rowsOf(const at::Tensor &tensor, int64_t time) const;

  at::Tensor onCpu;
  std::vector<int64_t> offsets; ///< of each time's first row, and their end
};

} // namespace ltc::backend
