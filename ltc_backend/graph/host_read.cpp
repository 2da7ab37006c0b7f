//===- graph/host_read.cpp - Small reads that need no graph -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/host_read.h"

#include "ltc/settings.h"
#include "ltc_backend/current_source.h"
#include "ltc_backend/graph/executor.h"
#include "ltc_backend/graph/host_eval.h"
#include "ltc_backend/tensors/bare_tensor.h"
#include "ltc_backend/waiting.h"

namespace ltc::backend {

static bool add(HostEval &eval, const TensorData &tensor) {
  const torch::lazy::Value &value = tensor.ir_value;
  if (!value.node || static_cast<const LtcNode &>(*value.node).isData)
    return false; // it has data by now
  return eval.add(Operand{value.node, uint32_t(value.index)});
}

/// Whether this line has read before since the last sync, other than in the
/// exceptions of the header; else notes the read. With the list's lock.
static bool comesAround(const HostEval &eval, PendingList &list,
                        SourceId line) {
  const bool isAll = list.nodes <= eval.nodes();
  size_t times = 0;
  for (const PendingList::HostRead &read : list.hostReads) {
    if (read.line != line)
      continue;
    bool isSame = read.data.lock() == eval.firstLeaf;
    if (!isSame && eval.ofNumbers && eval.newest <= read.newest)
      continue; // another layer's
    if (read.nodes != eval.nodes() || (!isAll && (!isSame || ++times == 2)))
      return true;
  }
  if (isAll)
    std::erase_if(list.hostReads,
                  [&](const auto &read) { return read.line == line; });
  list.hostReads.push_back(
      {line, eval.nodes(), eval.firstLeaf, DeviceData::lastMade()});
  return false;
}

static std::vector<at::Tensor> read(c10::ArrayRef<TensorDataPtr> tensors,
                                    bool exact) {
  if (settings().detect_nan != "off")
    return {}; // the interpreter looks at results
  // There is data to read, for which no sync has to be waited for.
  if (std::ranges::any_of(tensors,
                          [](auto &t) { return deviceData(*t) != nullptr; }))
    return {};
  int64_t device = deviceOf(*tensors[0]);
  PendingList &list = pendingList(device);
  SourceId line = currentSource();
  Waiting waiting;
  HostEval eval(exact);
  bool around;
  {
    std::scoped_lock lock(syncMutex(device), list.mutex);
    // What is read may come of a factorisation that fails its check.
    if (!list.checks.empty())
      return {};
    for (const TensorDataPtr &tensor : tensors)
      if (deviceOf(*tensor) != device || !add(eval, *tensor))
        return {};
    around = comesAround(eval, list, line);
  }
  if (!around) {
    static Counter &reads = counter("graph.host_reads");
    std::vector<at::Tensor> values = eval.run();
    reads.add(!values.empty());
    return values;
  }
  sync(device, /*wait=*/false, tensors);
  std::lock_guard lock(list.mutex);
  comesAround(eval, list, line); // noted for the graph that begins here
  return {};
}

at::Tensor decideOnHost(const TensorDataPtr &data) {
  std::vector<at::Tensor> values = read(data, /*exact=*/true);
  return values.empty() ? at::Tensor() : values[0];
}

bool computeOnHost(c10::ArrayRef<TensorDataPtr> operands) {
  std::vector<at::Tensor> values = read(operands, /*exact=*/false);
  for (size_t i = 0; i < values.size(); ++i)
    assign(operands[i], {std::make_shared<DataNode>(
                            upload(values[i], deviceOf(*operands[i])))});
  return !values.empty();
}

} // namespace ltc::backend
