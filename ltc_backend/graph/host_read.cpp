//===- graph/host_read.cpp - Small reads that need no graph -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/host_read.h"

#include "ltc/autopsy.h"
#include "ltc/settings.h"
#include "ltc_backend/current_source.h"
#include "ltc_backend/graph/executor.h"
#include "ltc_backend/graph/host_eval.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/tensors/bare_tensor.h"
#include "ltc_backend/tensors/tape.h"
#include "ltc_backend/waiting.h"

namespace ltc::backend {

static bool add(HostEval &eval, const TensorData &tensor) {
  const torch::lazy::Value &value = tensor.ir_value;
  if (!value.node || static_cast<const LtcNode &>(*value.node).isData)
    return false; // it has data by now
  return eval.add(Operand{value.node, uint32_t(value.index)});
}

/// Whether a graph that ends here would hold nothing else.
static bool isAlone(const HostEval &eval, const PendingList &list) {
  return list.nodes <= eval.nodes();
}

/// Whether this line has read before since the last sync, other than in the
/// exceptions of the header; else notes the read. With the list's lock.
static bool comesAround(const HostEval &eval, PendingList &list,
                        SourceId line) {
  const bool isAll = isAlone(eval, list);
  // A line may have several of those, and none grows.
  const bool isFew = isAll && eval.nodes() <= HostEval::kFewNodes;
  size_t times = 0;
  for (const PendingList::HostRead &read : list.hostReads) {
    if (isFew || read.line != line)
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
                                    HostEval::Scope scope) {
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
  HostEval eval(scope);
  bool around;
  {
    std::scoped_lock lock(syncMutex(device), list.mutex);
    // What is read may come of a factorisation that fails its check.
    if (!list.checks.empty())
      return {};
    for (const TensorDataPtr &tensor : tensors)
      if (deviceOf(*tensor) != device || !add(eval, *tensor))
        return {};
    if (scope == HostEval::Little && !isAlone(eval, list))
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

/// Gives the pending tensors the values that the host has computed for them.
static void settle(c10::ArrayRef<TensorDataPtr> tensors,
                   c10::ArrayRef<at::Tensor> values) {
  for (size_t i = 0; i < values.size(); ++i)
    assign(tensors[i], {std::make_shared<DataNode>(
                           upload(values[i], deviceOf(*tensors[i])))});
}

/// Whether nobody asks for programs, or for errors and values of another kind.
static bool mayRunWithout(int64_t device) {
  return hasTiers(engine(device)) && !settings().dry_run && !Tape::current() &&
         !CompileWatch::isEntered();
}

at::Tensor decideOnHost(const TensorDataPtr &data) {
  std::vector<at::Tensor> values = read(data, HostEval::Exact);
  if (values.empty() && mayRunWithout(deviceOf(*data))) {
    values = read(data, HostEval::Little);
    settle(data, values);
  }
  return values.empty() ? at::Tensor() : values[0];
}

bool computeOnHost(c10::ArrayRef<TensorDataPtr> operands) {
  std::vector<at::Tensor> values = read(operands, HostEval::Operands);
  settle(operands, values);
  return !values.empty();
}

} // namespace ltc::backend
