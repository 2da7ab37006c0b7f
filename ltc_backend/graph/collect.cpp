//===- graph/collect.cpp - What a sync has to compute -----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/collect.h"

#include "ltc_backend/graph/late_nodes.h"
#include "ltc_backend/graph/number.h"
#include "ltc_backend/tensors/bare_tensor.h"

namespace ltc::backend {

namespace {
class Collector {
public:
  Collector(int64_t device, PendingList &list, Collected what, Recorded whose)
      : list(list), what(what), whose(whose) {
    result.device = device;
    result.replaced = std::make_shared<Replaced>();
  }
  Collection run();

private:
  void settleLateTensors();
  void findRoots();
  void markLive();
  void countReferences();
  void findNumbers();
  void findWanted();
  bool isOfThese(const OpNode &node) const;
  bool isCollected(const OpNode &node) const;
  void shareWithOthers();
  void addReceiver(Collection::Receiver receiver);
  void addOutput(const OpNode &node, uint32_t index);
  ValueId addInput(const Operand &operand);
  ValueId addDataInput(const std::shared_ptr<DeviceData> &data);
  void numberValues();
  void chooseDonations();
  std::optional<uint32_t> findDonor(const OpNode &node, uint32_t index,
                                    const ResultType &type);
  std::vector<std::optional<uint32_t>> findHomes() const;
  bool isLastOwner(uint32_t input) const;
  bool joinsInputs() const;
  void separatePieces();
  void hash();

  PendingList &list;
  const Collected what;
  const Recorded whose;
  bool leavesOthers = false; ///< nodes that are pending, and are not of these
  Collection result;
  std::vector<const OpNode *> wanted;  ///< sorted
  std::vector<const OpNode *> numbers; ///< sorted
  /// The outputs that a node's results become, from its firstSlot on.
  std::vector<uint32_t> slots;
  /// The leaves that an input's data has, chained; one an input.
  struct Leaves {
    const DataNode *last = nullptr;
    long count = 0;
  };
  std::vector<Leaves> leaves;
};
} // namespace

static OpNode *asOp(const Operand &operand) {
  if (!operand.node || operand.ltc().isData)
    return nullptr;
  return static_cast<OpNode *>(operand.node.get());
}

constexpr uint32_t kNoSlot = UINT32_MAX;
/// Somebody receives it: to be numbered.
constexpr uint32_t kWanted = kNoSlot - 1;

static bool isComputed(const OpNode &node) { return !node.computed.empty(); }

void Collector::countReferences() {
  for (OpNode *node = list.firstNode; node; node = node->next) {
    node->live = false;
    node->references = node->owners = 0;
    node->firstSlot = kNoSlot;
  }
  for (OpNode *node = list.firstNode; node; node = node->next)
    for (const Operand &operand : node->inputs)
      if (OpNode *source = asOp(operand)) {
        ++source->references;
        source->owners = operand.node.use_count();
      } else if (operand.node) {
        static_cast<const DataNode &>(*operand.node).references = 0;
      }
}

void Collector::addReceiver(Collection::Receiver receiver) {
  OpNode &node = *receiver.node;
  uint32_t index = receiver.index;
  node.live = true;
  if (node.firstSlot == kNoSlot) {
    node.firstSlot = uint32_t(slots.size());
    slots.resize(slots.size() + node.num_outputs(), kNoSlot);
  }
  slots[node.firstSlot + index] = kWanted;
  if (receiver.tensor && receiver.tensor->before) {
    const std::shared_ptr<DeviceData> &before = receiver.tensor->before;
    receiver.place = uint32_t(result.replaced->values.size());
    result.replaced->values.push_back(before);
    before->shares += 2; // the tensor's and this one
  }
  result.receivers.push_back(std::move(receiver));
}

/// Before tensors are counted: what has references then is somebody's operand.
void Collector::findNumbers() {
  for (TensorData *tensor = list.firstTensor; tensor; tensor = tensor->next) {
    auto &node = static_cast<OpNode &>(*tensor->ir_value.node);
    if (node.pending && node.references == 0 && isOfThese(node) &&
        isNumber(node))
      numbers.push_back(&node);
    node.owners = tensor->ir_value.node.use_count();
  }
  std::ranges::sort(numbers);
  result.hasNumbers = !numbers.empty();
}

void Collector::findWanted() {
  for (const TensorDataPtr &tensor : whose.wanted)
    if (deviceOf(*tensor) == result.device && tensor->pending)
      wanted.push_back(static_cast<OpNode *>(tensor->ir_value.node.get()));
  std::ranges::sort(wanted);
}

bool Collector::isOfThese(const OpNode &node) const {
  return !whose.thread || node.thread == whose.thread ||
         std::ranges::binary_search(wanted, &node);
}

bool Collector::isCollected(const OpNode &node) const {
  if (!isOfThese(node))
    return false;
  return what == Collected::All || std::ranges::binary_search(numbers, &node) ==
                                       (what == Collected::Numbers);
}

/// A tensor made while a sync was under way, of a value that the sync computed,
/// was not there when the results were handed out.
void Collector::settleLateTensors() {
  for (TensorData *tensor = list.firstTensor, *next; tensor; tensor = next) {
    next = tensor->next;
    const auto &node = static_cast<const OpNode &>(*tensor->ir_value.node);
    // One that is dying looks without the lock whether it is still listed.
    TensorDataPtr alive;
    if (isComputed(node))
      alive = tensor->weak_from_this().lock();
    if (!alive)
      continue;
    tensor->handle = inPlaceOf(std::exchange(tensor->before, nullptr),
                               node.computed[tensor->ir_value.index]);
    list.unlink(*tensor);
    std::swap(result.released.emplace_back(), tensor->ir_value);
  }
}

void Collector::findRoots() {
  for (TensorData *tensor = list.firstTensor; tensor; tensor = tensor->next) {
    auto node = std::static_pointer_cast<OpNode>(tensor->ir_value.node);
    ++node->references;
    // Not to hold the last share in others here: their end takes the lock.
    if (!isCollected(*node))
      continue;
    if (TensorDataPtr alive = tensor->weak_from_this().lock())
      addReceiver({std::move(alive), node, uint32_t(tensor->ir_value.index)});
  }
  // A thread that is recording right now holds a node no tensor stands for.
  for (OpNode *node = list.firstNode; node; node = node->next) {
    leavesOthers |= !isOfThese(*node);
    if ((node->owners > node->references || node->references == 0) &&
        isCollected(*node))
      if (auto alive = node->weak_from_this().lock())
        for (uint32_t i = 0; i < node->num_outputs(); ++i)
          addReceiver({nullptr, alive, i});
  }
}

void Collector::markLive() {
  result.nodes.reserve(list.nodes);
  for (OpNode *node = list.lastNode; node; node = node->previous) {
    if (!node->live)
      continue;
    result.nodes.push_back(node);
    for (const Operand &operand : node->inputs)
      if (OpNode *source = asOp(operand))
        if (!isComputed(*source))
          source->live = true;
  }
  std::reverse(result.nodes.begin(), result.nodes.end());
  placeLate(result.nodes);
}

/// What is not collected must find what is computed here computed: it may start
/// from memory that is donated.
void Collector::shareWithOthers() {
  // Of a graph that is built only, others never get a value.
  if (!leavesOthers || !whose.homes.empty())
    return;
  auto isWanted = [&](const OpNode &node, size_t index) {
    return node.firstSlot != kNoSlot &&
           slots[node.firstSlot + index] != kNoSlot;
  };
  for (TensorData *tensor = list.firstTensor; tensor; tensor = tensor->next) {
    auto node = std::static_pointer_cast<OpNode>(tensor->ir_value.node);
    if (!node->live || isCollected(*node))
      continue;
    if (TensorDataPtr alive = tensor->weak_from_this().lock())
      addReceiver({std::move(alive), node, uint32_t(tensor->ir_value.index)});
  }
  for (OpNode *node = list.firstNode; node; node = node->next) {
    bool isHeld = node->live && node->owners > node->references;
    for (uint32_t i = 0; isHeld && i < node->num_outputs(); ++i)
      if (!isWanted(*node, i))
        addReceiver({nullptr, node->shared_from_this(), i});
    if (node->live || node->weak_from_this().expired())
      continue;
    for (const Operand &operand : node->inputs)
      if (OpNode *source = asOp(operand); source && source->live &&
                                          !isComputed(*source) &&
                                          !isWanted(*source, operand.index))
        addReceiver({nullptr, source->shared_from_this(), operand.index});
  }
}

ValueId Collector::addDataInput(const std::shared_ptr<DeviceData> &data) {
  if (anyFailure.load(std::memory_order_relaxed)) [[unlikely]]
    if (std::shared_ptr<DeviceData> stands = standing(data); stands != data)
      return addDataInput(stands);
  if (data->inputIndex == UINT32_MAX) {
    data->inputIndex = uint32_t(result.inputs.size());
    result.inputs.push_back({data});
    result.arguments.emplace_back();
    result.arguments.back().buffer = data->buffer();
    leaves.emplace_back();
  }
  return data->inputIndex;
}

/// The input an operand stands for, or kNoValue if a node computes it.
ValueId Collector::addInput(const Operand &operand) {
  if (!operand.node) {
    result.inputs.push_back({nullptr, operand.scalarType});
    result.arguments.emplace_back();
    result.arguments.back().integer = int64_t(operand.bits);
    leaves.emplace_back();
    return ValueId(result.inputs.size() - 1);
  }
  if (OpNode *source = asOp(operand))
    return isComputed(*source) ? addDataInput(source->computed[operand.index])
                               : kNoValue;
  auto &leaf = static_cast<const DataNode &>(*operand.node);
  ValueId input = addDataInput(leaf.data);
  if (leaf.references++ == 0) {
    leaf.nextLeaf = leaves[input].last;
    leaves[input].last = &leaf;
    ++leaves[input].count;
  }
  return input;
}

void Collector::numberValues() {
  // Inputs come first, so their number must be known before any node's.
  for (const OpNode *node : result.nodes)
    for (const Operand &operand : node->inputs)
      result.operands.push_back(addInput(operand));
  auto next = ValueId(result.inputs.size());
  size_t position = 0;
  for (const OpNode *constNode : result.nodes) {
    auto *node = const_cast<OpNode *>(constNode);
    for (const Operand &operand : node->inputs) {
      ValueId &value = result.operands[position++];
      if (value == kNoValue)
        value = asOp(operand)->firstValue + operand.index;
    }
    node->firstValue = next;
    next += ValueId(node->num_outputs());
    if (node->firstSlot != kNoSlot)
      for (uint32_t i = 0; i < node->num_outputs(); ++i)
        if (slots[node->firstSlot + i] == kWanted)
          addOutput(*node, i);
  }
  for (auto &receiver : result.receivers)
    receiver.output = slots[receiver.node->firstSlot + receiver.index];
}

/// In the order of their nodes: that in which tensors came to wait for a value
/// differs between two steps that compute the same.
void Collector::addOutput(const OpNode &node, uint32_t index) {
  slots[node.firstSlot + index] = uint32_t(result.outputs.size());
  result.outputs.push_back({node.firstValue + index, std::nullopt});
  result.outputTypes.push_back(&node.result(index));
}

/// Whether nobody but the collected nodes can reach the input's memory.
bool Collector::isLastOwner(uint32_t input) const {
  auto [leaf, count] = leaves[input];
  if (!leaf)
    return false;
  for (; leaf; leaf = leaf->nextLeaf)
    if (leaf->weak_from_this().use_count() != leaf->references)
      return false;
  // Beside the leaves and tensors that it was the value of, this collection
  // holds one share.
  const auto &data = result.inputs[input].data;
  const auto &first = firstOf(data);
  return !first->mayComeBack && data.use_count() == count + data->shares + 1 &&
         (first == data || first.use_count() == 1);
}

/// Follows `self` upwards from a result: an in-place update of x records
/// x' = op(x, …), so the chain of first operands ends at the old x.
std::optional<uint32_t> Collector::findDonor(const OpNode &last, uint32_t index,
                                             const ResultType &type) {
  const OpNode *node = &last;
  while (true) {
    if (node->inputs.empty())
      return std::nullopt;
    // A list op (foreach) updates element by element.
    bool isList = !node->call->prototype.arguments.empty() &&
                  std::holds_alternative<std::vector<ValueId>>(
                      node->call->prototype.arguments[0].value);
    if (isList && index >= node->inputs.size())
      return std::nullopt;
    const Operand &self = node->inputs[isList ? index : 0];
    if (!self.node || self.ltc().result(self.index).hash != type.hash)
      return std::nullopt;
    if (self.ltc().isData)
      return static_cast<const DataNode &>(*self.node).data->inputIndex;
    node = static_cast<const OpNode *>(self.node.get());
    if (isComputed(*node) || !node->live)
      return std::nullopt;
    index = self.index;
  }
}

/// For each output the input whose memory the caller wants it in.
std::vector<std::optional<uint32_t>> Collector::findHomes() const {
  std::vector<std::optional<uint32_t>> found(result.outputs.size());
  for (size_t i = 0; i < whose.homes.size(); ++i) {
    if (!whose.homes[i])
      continue;
    auto receiver = std::ranges::find(result.receivers, whose.wanted[i],
                                      &Collection::Receiver::tensor);
    auto input = std::ranges::find_if(result.inputs, [&](const auto &each) {
      return each.data && firstOf(each.data).get() == whose.homes[i];
    });
    if (receiver != result.receivers.end() && input != result.inputs.end() &&
        input->data->shape() == result.outputTypes[receiver->output]->shape)
      found[receiver->output] = uint32_t(input - result.inputs.begin());
  }
  return found;
}

void Collector::chooseDonations() {
  std::vector<bool> taken(result.inputs.size());
  std::vector<std::optional<uint32_t>> homes;
  if (!whose.homes.empty())
    homes = findHomes();
  for (const OpNode *node : result.nodes) {
    if (node->firstSlot == kNoSlot)
      continue;
    for (uint32_t i = 0; i < node->num_outputs(); ++i) {
      uint32_t output = slots[node->firstSlot + i];
      if (output == kNoSlot)
        continue;
      std::optional<uint32_t> donor =
          homes.empty() ? findDonor(*node, i, node->result(i)) : homes[output];
      if (!donor || taken[*donor] || !isLastOwner(*donor))
        continue;
      taken[*donor] = true;
      result.outputs[output].donated = donor;
    }
  }
  for (const auto &data : result.replaced->values)
    if (data->inputIndex == UINT32_MAX || !taken[data->inputIndex])
      firstOf(data)->mayComeBack = true;
}

/// Fewer pieces are parts of a model, such as a cache and what is new.
constexpr size_t kSample = 4;

static bool joinsSample(const OpNode &node) {
  return node.call->op->facts.has(OpFact::Joins) &&
         node.inputs.size() >= kSample;
}

bool Collector::joinsInputs() const {
  const ValueId *operand = result.operands.data();
  for (const OpNode *node : result.nodes) {
    auto own = std::span(operand, node->inputs.size());
    operand += own.size();
    if (joinsSample(*node) && std::ranges::any_of(own, [&](ValueId value) {
          return value < result.inputs.size();
        }))
      return true;
  }
  return false;
}

/// Which tensors a sample of many repeats, or shares with other ops, must not
/// make another graph: each piece of it is an input of its own.
void Collector::separatePieces() {
  std::vector<ValueId> fresh(result.operands.size(), kNoValue);
  // A donated input stays one: its readers must be seen to come before.
  std::vector<bool> donated(result.inputs.size());
  for (const GraphOutput &output : result.outputs)
    if (output.donated)
      donated[*output.donated] = true;
  std::vector<ValueId> shared(result.inputs.size(), kNoValue);
  auto inputs = std::exchange(result.inputs, {});
  auto arguments = std::exchange(result.arguments, {});
  size_t position = 0;
  for (const OpNode *node : result.nodes)
    for (size_t i = 0; i < node->inputs.size(); ++i, ++position) {
      ValueId old = result.operands[position];
      if (old >= inputs.size())
        continue;
      bool isPiece = joinsSample(*node) && !donated[old];
      if (isPiece || shared[old] == kNoValue) {
        fresh[position] = ValueId(result.inputs.size());
        result.inputs.push_back(inputs[old]);
        result.arguments.push_back(arguments[old]);
      }
      if (isPiece)
        continue;
      if (shared[old] == kNoValue)
        shared[old] = fresh[position];
      fresh[position] = shared[old];
    }
  auto more = ValueId(result.inputs.size() - inputs.size());
  for (size_t i = 0; i < fresh.size(); ++i)
    result.operands[i] =
        fresh[i] == kNoValue ? result.operands[i] + more : fresh[i];
  for (GraphOutput &output : result.outputs) {
    output.value += more;
    if (output.donated)
      output.donated = shared[*output.donated];
  }
}

void Collector::hash() {
  GraphHasher hasher;
  for (const auto &[data, scalarType] : result.inputs)
    if (data)
      hasher.input(data->buffer()->type());
    else
      hasher.input(ValueType::scalar(scalarType));
  size_t position = 0;
  for (const OpNode *node : result.nodes) {
    hasher.node(node->call->signature,
                {result.operands.data() + position, node->inputs.size()});
    position += node->inputs.size();
  }
  for (const GraphOutput &output : result.outputs)
    hasher.output(output);
  result.key = hasher.finish();
}

Collection Collector::run() {
  settleLateTensors();
  if (!list.firstNode)
    return std::move(result);
  countReferences();
  findWanted();
  findNumbers();
  findRoots();
  markLive();
  shareWithOthers();
  numberValues();
  chooseDonations();
  if (joinsInputs())
    separatePieces();
  hash();
  for (const auto &input : result.inputs)
    if (input.data)
      input.data->inputIndex = UINT32_MAX;
  for (const auto &data : result.replaced->values)
    data->shares = 0;
  return std::move(result);
}

Collection collect(int64_t device, PendingList &list, Collected what,
                   Recorded whose) {
  return Collector(device, list, what, whose).run();
}

} // namespace ltc::backend
