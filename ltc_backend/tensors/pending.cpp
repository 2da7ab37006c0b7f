//===- tensors/pending.cpp - What a device has yet to compute -------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/tensors/pending.h"

#include <bit>
#include <cstdlib>
#include <deque>
#include <sstream>
#include <unistd.h>

namespace ltc::backend {

OpNode::OpNode(std::shared_ptr<const CallShape> call, Operands &&operands,
               SourceId source, int64_t device)
    : LtcNode(call->op->kind, call->results.size(), /*isData=*/false),
      call(std::move(call)), inputs(std::move(operands)), source(source),
      device(device) {}

/// Destroys what the operands own without recursion: a chain of nodes may be
/// longer than the stack is deep.
static void release(OpNode::Operands &operands) {
  static thread_local OpNode::Operands *waiting = nullptr;
  if (waiting) {
    std::ranges::move(operands, std::back_inserter(*waiting));
    return;
  }
  waiting = &operands;
  while (!operands.empty()) {
    Operand last = std::move(operands.back());
    operands.pop_back();
  }
  waiting = nullptr;
}

OpNode::~OpNode() {
  // Who takes a node off the list keeps it alive meanwhile: this is no race.
  if (pending) {
    PendingList &list = pendingList(device);
    std::lock_guard lock(list.mutex);
    list.unlink(*this);
  }
  release(inputs);
}

c10::ArrayRef<torch::lazy::Shape> OpNode::shapes() const {
  if (shapeList.empty())
    for (const ResultType &result : call->results)
      shapeList.push_back(result.shape);
  return shapeList;
}

const std::vector<torch::lazy::Output> &OpNode::operands() const {
  outputs.clear();
  for (const Operand &input : inputs)
    if (input.node)
      outputs.emplace_back(input.node.get(), input.index);
  return outputs;
}

static std::string textOf(const Operand &number) {
  if (isInteger(number.scalarType))
    return std::to_string(int64_t(number.bits));
  return str(Attribute(std::bit_cast<double>(number.bits)));
}

std::string OpNode::ToString() const {
  static const bool showsLine = std::getenv("LTC_ENABLE_SOURCE_INFO");
  std::ostringstream text;
  text << Node::ToString();
  const Operand *operand = inputs.begin(), *end = inputs.end();
  for (const Argument &argument : call->prototype.arguments) {
    if (auto *attribute = std::get_if<Attribute>(&argument.value)) {
      text << ", " << argument.name << "=" << str(*attribute);
      continue;
    }
    auto *list = std::get_if<std::vector<ValueId>>(&argument.value);
    size_t count =
        list ? list->size() - std::ranges::count(*list, kNoValue) : 1;
    for (; count && operand != end; --count, ++operand)
      if (!operand->node)
        text << ", " << argument.name << "=" << textOf(*operand);
  }
  if (showsLine && source) {
    Source place = sourceOf(source);
    torch::lazy::EmitShortFrameInfo(
        text, {{place.file, place.function, int(place.line)}});
  }
  return text.str();
}

TensorData::~TensorData() {
  // Who takes a tensor off the list holds a share in it, so this is no race.
  if (!pending)
    return;
  PendingList &list = pendingList(device.ordinal());
  std::lock_guard lock(list.mutex);
  list.unlink(*this);
  // A node that nobody else holds goes too, and spares itself the lock. A sync
  // may have computed it while this waited.
  auto &node = static_cast<LtcNode &>(*ir_value.node);
  if (!node.isData && ir_value.node.use_count() == 1)
    list.unlink(static_cast<OpNode &>(node));
}

template <typename T> static void append(T &item, T *&first, T *&last) {
  item.previous = last;
  (last ? last->next : first) = &item;
  last = &item;
}

template <typename T> static void remove(T &item, T *&first, T *&last) {
  (item.previous ? item.previous->next : first) = item.next;
  (item.next ? item.next->previous : last) = item.previous;
  item.previous = item.next = nullptr;
}

namespace {
/// Never destroyed: tensors may outlive static destructors.
struct PendingLists {
  std::mutex mutex;
  std::deque<PendingList> lists;
  std::atomic<PendingList *> first{nullptr};
};
} // namespace

static PendingLists &pendingLists() {
  static auto *all = new PendingLists;
  return *all;
}

PendingList &pendingList(int64_t device) {
  PendingLists &all = pendingLists();
  if (device == 0)
    if (PendingList *list = all.first.load(std::memory_order_acquire))
      return *list;
  std::lock_guard lock(all.mutex);
  while (all.lists.size() <= size_t(device))
    all.lists.emplace_back();
  all.first.store(&all.lists.front(), std::memory_order_release);
  return all.lists[device];
}

static std::atomic<int> recorders = 0;
static thread_local int isRecorder = 0;

namespace {
/// Of a thread that has recorded, until its end.
struct Recorder {
  Recorder() {
    isRecorder = 1;
    ++recorders;
  }
  ~Recorder() {
    isRecorder = 0;
    --recorders;
    // In a forked child others may have held the locks.
    if (getpid() != process)
      return;
    std::vector<PendingList *> lists;
    {
      std::lock_guard lock(pendingLists().mutex);
      for (PendingList &list : pendingLists().lists)
        lists.push_back(&list);
    }
    for (PendingList *list : lists) {
      std::lock_guard lock(list->mutex);
      if (list->thread == currentThread())
        list->thread = nullptr; // another may get its place
    }
  }
  const pid_t process = getpid();
};
} // namespace

void addUpRecorded() {
  static Counter &recorded = counter("record.ops");
  std::lock_guard lock(pendingLists().mutex);
  for (PendingList &list : pendingLists().lists) {
    std::lock_guard listLock(list.mutex);
    recorded.add(std::exchange(list.recorded, 0));
  }
}

bool recordsAlone() { return recorders == isRecorder; }

void PendingList::link(OpNode &node) {
  append(node, firstNode, lastNode);
  node.pending = true;
  ++nodes;
  node.thread = currentThread();
  if (thread != node.thread) [[unlikely]] {
    static thread_local Recorder recorder;
    thread = node.thread;
  }
}

void PendingList::unlink(OpNode &node) {
  if (!node.pending)
    return;
  remove(node, firstNode, lastNode);
  node.pending = false;
  --nodes;
}

void PendingList::link(TensorData &tensor) {
  if (tensor.pending)
    unlink(tensor);
  append(tensor, firstTensor, lastTensor);
  tensor.pending = true;
}

void PendingList::unlink(TensorData &tensor) {
  if (!tensor.pending)
    return;
  remove(tensor, firstTensor, lastTensor);
  tensor.pending = false;
}

std::mutex &syncMutex(int64_t device) {
  static auto *guard = new std::mutex;
  static auto *mutexes = new std::deque<std::mutex>;
  std::lock_guard lock(*guard);
  while (mutexes->size() <= size_t(device))
    mutexes->emplace_back();
  return (*mutexes)[device];
}

} // namespace ltc::backend
