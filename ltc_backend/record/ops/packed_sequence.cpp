//===- ops/packed_sequence.cpp - Sequences packed by length ---------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The composite kernels copy slice by slice, one for each length there is. What
// has an error to report is left to them.
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/packed_sequence.h"

#include "ltc_backend/library.h"
#include "ltc_backend/record/ops/batch_sizes.h"

#include <ATen/ATen.h>
#include <ATen/ops/_pack_padded_sequence_native.h>
#include <ATen/ops/_pad_packed_sequence_native.h>

#include <algorithm>

namespace ltc::backend {
using at::Tensor;
using Pair = std::tuple<Tensor, Tensor>;

/// Of how many sequences each time is; lengths fall, so that they are batch
/// sizes themselves, read the other way round.
static Tensor transposed(const Tensor &lengths) {
  Tensor dense = lengths.contiguous();
  const int64_t *data = dense.const_data_ptr<int64_t>();
  int64_t left = dense.numel();
  std::vector<int64_t> result(data[0]);
  for (int64_t i = 0; i < data[0]; ++i) {
    while (data[left - 1] <= i)
      --left;
    result[i] = left;
  }
  return at::tensor(result, at::kLong);
}

static Pair pack(const Tensor &padded, const Tensor &lengths, bool batchFirst) {
  Tensor input =
      batchFirst && padded.dim() > 1 ? padded.transpose(0, 1) : padded;
  bool isOurs = input.dim() > 1 && input.numel() > 0 &&
                BatchSizes::areValid(lengths) &&
                lengths.numel() == input.size(1) &&
                lengths[0].item<int64_t>() <= input.size(0);
  if (!isOurs)
    return at::native::_pack_padded_sequence(padded, lengths, batchFirst);
  Tensor sizes = transposed(lengths);
  return {BatchSizes(sizes).pack(input), sizes};
}

static Pair pad(const Tensor &data, const Tensor &batchSizes, bool batchFirst,
                const at::Scalar &padding, int64_t total) {
  bool isOurs = data.device().is_lazy() && BatchSizes::areValid(batchSizes) &&
                (total <= 0 || total >= batchSizes.numel()) &&
                BatchSizes(batchSizes).rows() == data.size(0);
  if (!isOurs)
    return at::native::_pad_packed_sequence(data, batchSizes, batchFirst,
                                            padding, total);
  Tensor padded = BatchSizes(batchSizes)
                      .pad(data, std::max(total, batchSizes.numel()), padding);
  return {batchFirst ? padded.transpose(0, 1) : padded, transposed(batchSizes)};
}

void registerPackedSequence() {
  for (c10::DispatchKey key :
       {c10::DispatchKey::Functionalize, c10::DispatchKey::AutogradLazy}) {
    makeLibrary("aten", key)->impl("_pack_padded_sequence", pack);
    makeLibrary("aten", key)->impl("_pad_packed_sequence", pad);
  }
}

} // namespace ltc::backend
