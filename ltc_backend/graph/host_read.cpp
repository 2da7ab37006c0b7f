//===- graph/host_read.cpp - Small reads that need no graph -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/host_read.h"

#include "ltc/cpu_kernels.h"
#include "ltc_backend/convert.h"
#include "ltc_backend/graph/collect.h"
#include "ltc_backend/graph/executor.h"
#include "ltc_backend/record/op_info.h"
#include "ltc_backend/record/recorder.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace ltc::backend {

/// About 10 us a node. A launch takes longer, and a compilation a lot.
constexpr size_t kMaxNodes = 32;
/// Of one value. ATen's kernels hardly use a second thread up to here.
constexpr int64_t kMaxElements = 1 << 16;

namespace {
/// The nodes that lead to the values to be read, and the data they start from.
class Cone {
public:
  /// With `exact`, what is rounded must be a single number.
  explicit Cone(bool exact) : exact(exact) {}

  /// Whether the values can be had on the host. Under the pending list's lock.
  bool collect(const TensorData &tensor);
  bool collect(const Operand &value);
  /// Whether this line has read before since the last sync, other than in the
  /// exceptions above; else notes the read. Under the same lock.
  bool comesAround(PendingList &list, SourceId line) const;
  /// The values, or none if a kernel failed: the graph will say why.
  std::vector<at::Tensor> compute();

private:
  struct Step {
    std::shared_ptr<OpNode> node;
    OpNode::Operands inputs; ///< the node's own go when it is computed
  };
  using Place = std::pair<const torch::lazy::Node *, uint32_t>;

  bool add(const Operand &operand);
  bool addData(const Operand &operand, std::shared_ptr<DeviceData> data);
  bool fits(const OpNode &node) const;
  bool run(const Step &step);

  bool exact;
  std::vector<Operand> roots;
  std::vector<Step> steps; ///< operands before those who use them
  std::map<Place, std::shared_ptr<DeviceData>> leaves;
  std::shared_ptr<DeviceData> firstLeaf;
  bool ofNumbers = true; ///< the leaves have one element each
  uint64_t newest = 0;   ///< when the last of the leaves was made
  std::set<const torch::lazy::Node *> seen;
  std::map<Place, at::Tensor> values;
};
} // namespace

/// Several numbers of a type whose sums and products are rounded.
static bool areFractions(const TensorType &type) {
  return type.elements() != 1 && !isInteger(type.dtype) &&
         type.dtype != DType::Bool;
}

/// Whether an op may give other fractions on the device than on the host. Not
/// so one number throughout, as the mask of a batch without padding, nor what
/// only moves elements, as a mask of an image in the size of its features.
static bool rounds(const OpInfo &op) {
  return !op.view && !op.facts.has(OpFact::ExactOnHost);
}

bool Cone::fits(const OpNode &node) const {
  bool takesFractions =
      std::ranges::any_of(node.inputs, [](const Operand &input) {
        return input.node && areFractions(input.ltc().result(input.index).type);
      });
  bool isExact = !exact || !rounds(*node.call->op);
  return std::ranges::all_of(node.call->results, [&](const ResultType &result) {
    const TensorType &type = result.type;
    bool isWhole = isInteger(type.dtype) || type.dtype == DType::Bool;
    return type.elements() <= kMaxElements &&
           (isExact || isWhole || (!takesFractions && type.elements() == 1));
  });
}

bool Cone::addData(const Operand &operand, std::shared_ptr<DeviceData> data) {
  const TensorType &type = operand.ltc().result(operand.index).type;
  if (type.elements() > kMaxElements)
    return false;
  if (!firstLeaf)
    firstLeaf = data;
  ofNumbers &= type.elements() == 1;
  newest = std::max(newest, data->made);
  leaves[{operand.node.get(), operand.index}] = std::move(data);
  return true;
}

bool Cone::add(const Operand &operand) {
  if (!operand.node)
    return true;
  if (operand.ltc().isData)
    return addData(operand, static_cast<const DataNode &>(*operand.node).data);
  auto node = std::static_pointer_cast<OpNode>(operand.node);
  if (!node->computed.empty())
    return addData(operand, node->computed[operand.index]);
  if (!seen.insert(node.get()).second)
    return true;
  const OpInfo &op = *node->call->op;
  if (seen.size() > kMaxNodes || op.random || !op.name.starts_with("aten::"))
    return false;
  if (!fits(*node))
    return false;
  for (const Operand &input : node->inputs)
    if (!add(input))
      return false;
  steps.push_back({node, node->inputs});
  return true;
}

bool Cone::collect(const TensorData &tensor) {
  const torch::lazy::Value &value = tensor.ir_value;
  if (!value.node || static_cast<const LtcNode &>(*value.node).isData)
    return false; // it has data by now
  return collect(Operand{value.node, uint32_t(value.index)});
}

bool Cone::collect(const Operand &value) {
  roots.push_back(value);
  return add(value);
}

bool Cone::comesAround(PendingList &list, SourceId line) const {
  size_t times = 0;
  for (const PendingList::HostRead &read : list.hostReads) {
    if (read.line != line)
      continue;
    bool isSame = read.data.lock() == firstLeaf;
    if (!isSame && ofNumbers && newest <= read.newest)
      continue; // another layer's
    if (!isSame || read.nodes != steps.size() || ++times == 2)
      return true;
  }
  list.hostReads.push_back(
      {line, steps.size(), firstLeaf, DeviceData::lastMade()});
  return false;
}

static KernelView viewOf(const at::Tensor &tensor, DType dtype) {
  KernelView view;
  view.data = const_cast<void *>(tensor.const_data_ptr());
  view.sizes = tensor.sizes().data();
  view.strides = tensor.strides().data();
  view.rank = uint32_t(tensor.dim());
  view.dtype = dtype;
  return view;
}

static KernelView viewOf(const Operand &scalar) {
  KernelView view;
  view.dtype = scalar.scalarType;
  view.isScalar = true;
  view.integer = int64_t(scalar.bits);
  return view;
}

bool Cone::run(const Step &step) {
  Graph call;
  std::vector<KernelView> operands, results;
  std::vector<ValueId> numbers;
  for (const Operand &input : step.inputs) {
    numbers.push_back(ValueId(numbers.size()));
    if (!input.node) {
      call.inputs.push_back(ValueType::scalar(input.scalarType));
      operands.push_back(viewOf(input));
      continue;
    }
    const TensorType &type = input.ltc().result(input.index).type;
    call.inputs.push_back({type, false});
    operands.push_back(
        viewOf(values.at({input.node.get(), input.index}), type.dtype));
  }
  call.nodes.push_back(numbered(*step.node, numbers.data()));
  std::vector<at::Tensor> made;
  for (const ResultType &result : step.node->call->results) {
    made.push_back(at::detail::empty_cpu(result.shape.sizes(),
                                         result.shape.scalar_type()));
    results.push_back(viewOf(made.back(), result.type.dtype));
  }
  kernels::noteThreadCount(); // the kernel is to use as many as this thread has
  auto kernel = kernels::resolve(call);
  if (!kernel || !(*kernel)->run(operands, results))
    return false;
  for (uint32_t i = 0; i < made.size(); ++i)
    values[{step.node.get(), i}] = made[i];
  return true;
}

std::vector<at::Tensor> Cone::compute() {
  for (const auto &[place, data] : leaves)
    values[place] = download(*data);
  for (const Step &step : steps)
    if (!run(step))
      return {};
  std::vector<at::Tensor> result;
  for (const Operand &root : roots)
    result.push_back(values.at({root.node.get(), root.index}));
  return result;
}

/// The values of these tensors, or none if they have to come from the device.
static std::vector<at::Tensor> read(c10::ArrayRef<TensorDataPtr> tensors,
                                    bool exact) {
  // There is data to read, for which no sync has to be waited for.
  if (std::ranges::any_of(tensors,
                          [](auto &t) { return deviceData(*t) != nullptr; }))
    return {};
  int64_t device = deviceOf(*tensors[0]);
  PendingList &list = pendingList(device);
  SourceId line = currentSource();
  Waiting waiting;
  Cone cone(exact);
  bool around;
  {
    std::scoped_lock lock(syncMutex(device), list.mutex);
    // What is read may come of a factorisation that fails its check.
    if (!list.checks.empty())
      return {};
    for (const TensorDataPtr &tensor : tensors)
      if (deviceOf(*tensor) != device || !cone.collect(*tensor))
        return {};
    around = cone.comesAround(list, line);
  }
  if (!around) {
    static Counter &reads = counter("graph.host_reads");
    std::vector<at::Tensor> values = cone.compute();
    reads.add(!values.empty());
    return values;
  }
  sync(device, /*wait=*/false, tensors);
  std::lock_guard lock(list.mutex);
  cone.comesAround(list, line); // noted for the graph that begins here
  return {};
}

at::Tensor computeOnHost(const Operand &value, PendingList &list) {
  Cone cone(/*exact=*/true);
  {
    std::lock_guard lock(list.mutex);
    if (!cone.collect(value))
      return {};
  }
  std::vector<at::Tensor> values = cone.compute();
  return values.empty() ? at::Tensor() : values[0];
}

at::Tensor decideOnHost(const TensorDataPtr &data) {
  std::vector<at::Tensor> values = read(data, /*exact=*/true);
  return values.empty() ? at::Tensor() : values[0];
}

bool settleOnHost(c10::ArrayRef<TensorDataPtr> operands) {
  std::vector<at::Tensor> values = read(operands, /*exact=*/false);
  for (size_t i = 0; i < values.size(); ++i)
    assign(operands[i], {std::make_shared<DataNode>(
                            upload(values[i], deviceOf(*operands[i])))});
  return !values.empty();
}

} // namespace ltc::backend
