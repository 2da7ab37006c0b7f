//===- ops/batch_sizes.cpp - Sequences at each time -----------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/ops/batch_sizes.h"

#include <ATen/ATen.h>

namespace ltc::backend {
using at::Tensor;

static Tensor indices(const std::vector<int64_t> &list, const Tensor &like) {
  return at::tensor(list, at::kLong).to(like.device());
}

BatchSizes::BatchSizes(const Tensor &sizes) : onCpu(sizes) {
  if (!sizes.defined())
    return;
  Tensor dense = sizes.contiguous();
  const int64_t *data = dense.const_data_ptr<int64_t>();
  offsets.push_back(0);
  for (int64_t i = 0; i < dense.numel(); ++i)
    offsets.push_back(offsets.back() + data[i]);
}

bool BatchSizes::areValid(const Tensor &sizes) {
  if (!sizes.device().is_cpu() || sizes.scalar_type() != at::kLong ||
      sizes.dim() != 1 || sizes.numel() == 0)
    return false;
  BatchSizes made(sizes);
  for (int64_t time = 0; time < made.times(); ++time)
    if (made.size(time) < 1 || (time && made.size(time) > made.size(time - 1)))
      return false;
  return true;
}

std::optional<Tensor> BatchSizes::tensorFor(const Tensor &like) const {
  if (!arePacked())
    return std::nullopt;
  return onCpu.to(like.device());
}

Tensor BatchSizes::last(const Tensor &states, bool reverse, int64_t dim) const {
  if (!arePacked())
    return states.select(dim, reverse ? 0 : -1);
  if (reverse)
    return states.narrow(dim, 0, batch());
  std::vector<int64_t> rows(batch());
  for (int64_t time = 0; time < times(); ++time)
    for (int64_t b = 0; b < size(time); ++b)
      rows[b] = offsets[time] + b;
  return states.index_select(dim, indices(rows, states));
}

Tensor BatchSizes::before(const Tensor &output, const Tensor &hx,
                          bool reverse) const {
  if (!arePacked()) {
    int64_t others = output.size(0) - 1;
    Tensor first = hx.unsqueeze(0);
    Tensor all = reverse ? at::cat({output.narrow(0, 1, others), first})
                         : at::cat({first, output.narrow(0, 0, others)});
    return all.flatten(0, 1);
  }
  std::vector<int64_t> from;
  for (int64_t time = 0; time < times(); ++time) {
    int64_t before = reverse ? time + 1 : time - 1;
    bool isTime = before >= 0 && before < times();
    for (int64_t b = 0; b < size(time); ++b)
      from.push_back(isTime && b < size(before) ? batch() + offsets[before] + b
                                                : b);
  }
  return at::cat({hx, output}).index_select(0, indices(from, output));
}

Tensor BatchSizes::rowsOf(const Tensor &tensor, int64_t time) const {
  return arePacked() ? tensor.narrow(0, offsets[time], size(time))
                     : tensor.select(0, time);
}

std::vector<Tensor> BatchSizes::recur(const Tensor &input,
                                      const std::vector<Tensor> &first,
                                      bool reverse, const Step &step) const {
  int64_t all = arePacked() ? times() : input.size(0);
  std::vector<Tensor> states = first, outputs(all);
  // Those of sequences that have ended, the shorter behind the longer.
  std::vector<Tensor> ended(first.size());
  auto fit = [&](int64_t wanted) {
    for (size_t i = 0; i < states.size(); ++i) {
      int64_t found = states[i].size(0);
      if (wanted > found)
        states[i] =
            at::cat({states[i], first[i].narrow(0, found, wanted - found)});
      if (wanted >= found)
        continue;
      Tensor ending = states[i].narrow(0, wanted, found - wanted);
      ended[i] = ended[i].defined() ? at::cat({ending, ended[i]}) : ending;
      states[i] = states[i].narrow(0, 0, wanted);
    }
  };
  if (arePacked() && reverse)
    for (Tensor &state : states)
      state = state.narrow(0, 0, size(all - 1));
  for (int64_t i = 0; i < all; ++i) {
    int64_t time = reverse ? all - 1 - i : i;
    if (arePacked())
      fit(size(time));
    states = step(rowsOf(input, time), states);
    outputs[time] = states[0];
  }
  for (size_t i = 0; i < states.size(); ++i)
    if (ended[i].defined())
      states[i] = at::cat({states[i], ended[i]});
  states.insert(states.begin(),
                arePacked() ? at::cat(outputs) : at::stack(outputs));
  return states;
}

Tensor BatchSizes::pack(const Tensor &padded) const {
  std::vector<int64_t> from;
  for (int64_t time = 0; time < times(); ++time)
    for (int64_t b = 0; b < size(time); ++b)
      from.push_back(time * padded.size(1) + b);
  return padded.flatten(0, 1).index_select(0, indices(from, padded));
}

Tensor BatchSizes::pad(const Tensor &packed, int64_t wanted,
                       const at::Scalar &padding) const {
  // Of no sequence, a place is given the first row.
  std::vector<int64_t> from(wanted * batch());
  at::Tensor isPadding = at::ones({wanted, batch()}, at::kBool);
  bool *flags = isPadding.mutable_data_ptr<bool>();
  for (int64_t time = 0; time < times(); ++time)
    for (int64_t b = 0; b < size(time); ++b) {
      from[time * batch() + b] = offsets[time] + b;
      flags[time * batch() + b] = false;
    }
  Tensor rows = packed.index_select(0, indices(from, packed));
  Tensor there = isPadding.to(packed.device());
  for (int64_t i = 1; i < packed.dim(); ++i)
    there = there.unsqueeze(-1);
  return rows.unflatten(0, {wanted, batch()}).masked_fill(there, padding);
}

} // namespace ltc::backend
