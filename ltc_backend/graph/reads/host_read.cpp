//===- reads/host_read.cpp - Small reads that need no graph -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/reads/host_read.h"

#include "ltc/autopsy.h"
#include "ltc/settings.h"
#include "ltc_backend/current_source.h"
#include "ltc_backend/graph/executor.h"
#include "ltc_backend/graph/reads/host_eval.h"
#include "ltc_backend/graph/reads/read_habit.h"
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

/// Whether a graph that ends here would hold nothing else but views, such as
/// the rows that a loop keeps of what it reads.
static bool isAlone(const HostEval &eval, const PendingList &list) {
  size_t others = list.nodes - std::min(list.nodes, eval.nodes());
  if (others == 0)
    return true;
  size_t left = eval.works();
  for (const OpNode *node = list.firstNode; node; node = node->next)
    if (!node->call->op->view && left-- == 0)
      return false;
  return true;
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

namespace {
/// A tensor that waits for what was computed on the way to another one.
struct OnTheWay {
  TensorDataPtr tensor;
  Operand wanted;
  at::Tensor value;
};
} // namespace

/// More are a part of a program that waits for a graph anyway.
constexpr size_t kMostOnTheWay = 64;

/// Other ones than `roots`, which are given theirs in any case.
static std::vector<OnTheWay> findOnTheWay(const HostEval &eval,
                                          PendingList &list,
                                          c10::ArrayRef<TensorDataPtr> roots) {
  std::vector<OnTheWay> found;
  std::lock_guard lock(list.mutex);
  size_t seen = 0;
  for (TensorData *tensor = list.lastTensor; tensor && seen < kMostOnTheWay;
       tensor = tensor->previous, ++seen) {
    const torch::lazy::Value &wanted = tensor->ir_value;
    at::Tensor value = eval.valueOf(*wanted.node, wanted.index);
    if (!value.defined() ||
        std::ranges::find(roots, tensor, &TensorDataPtr::get) != roots.end())
      continue;
    if (TensorDataPtr alive = tensor->weak_from_this().lock())
      found.push_back({std::move(alive),
                       {wanted.node, uint32_t(wanted.index)},
                       std::move(value)});
  }
  return found;
}

/// Gives tensors their values that the host has computed on its way: the next
/// graph would compute them again.
static void settleOnTheWay(const HostEval &eval,
                           c10::ArrayRef<TensorDataPtr> roots) {
  const int64_t device = deviceOf(*roots[0]);
  PendingList &list = pendingList(device);
  for (OnTheWay &one : findOnTheWay(eval, list, roots)) {
    torch::lazy::Value now(
        std::make_shared<DataNode>(upload(one.value, device)));
    std::lock_guard lock(list.mutex);
    // Another thread may have written to it meanwhile.
    if (one.tensor->pending && one.tensor->ir_value.node == one.wanted.node &&
        one.tensor->ir_value.index == one.wanted.index)
      exchange(list, *one.tensor, now);
  }
}

/// Gives the pending tensors the values that the host has computed for them.
static void settle(c10::ArrayRef<TensorDataPtr> tensors,
                   c10::ArrayRef<at::Tensor> values) {
  for (size_t i = 0; i < values.size(); ++i)
    assign(tensors[i], {std::make_shared<DataNode>(
                           upload(values[i], deviceOf(*tensors[i])))});
}

/// Whether what is read may come of a factorisation that fails its check. A
/// collective, which is computed for other ranks, is no check of a value here.
static bool mayFailItsCheck(const PendingList &list) {
  return !std::ranges::all_of(list.checks, [](const auto &node) {
    return node->call->op->facts.has(OpFact::OwnKernel);
  });
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
    if (mayFailItsCheck(list))
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
    if (!values.empty())
      noteHostCalls(eval.nodes());
    if (!values.empty() && scope != HostEval::Exact)
      settleOnTheWay(eval, tensors);
    // An alias of data is no work that a graph should keep, and may
    // be read again when much else is pending.
    if (scope == HostEval::Exact && eval.works() == 0)
      settle(tensors, values);
    return values;
  }
  sync(device, /*wait=*/false, tensors);
  std::lock_guard lock(list.mutex);
  comesAround(eval, list, line); // noted for the graph that begins here
  return {};
}

bool runsWithout(int64_t device) {
  return hasTiers(engine(device)) && !settings().dry_run && !Tape::current() &&
         !CompileWatch::isEntered();
}

at::Tensor decideOnHost(const TensorDataPtr &data) {
  std::vector<at::Tensor> values = read(data, HostEval::Exact);
  if (values.empty() && runsWithout(deviceOf(*data))) {
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
