//===- host_calls.cpp - Library calls that a device leaves ----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/host_calls.h"

#include "ltc/metrics.h"

#include <algorithm>

namespace ltc::runtime {

namespace {

Error failed(ErrorCode code, std::string message) {
  return {code, Stage::Execute, std::move(message), "", {}, ""};
}

/// Bytes from a tensor's first element to the end of its last; how many are
/// elements. Nothing if that does not fit, or is not how strides are.
struct Extent {
  size_t bytes = 0, used = 0;
};
std::optional<Extent> extentOf(std::span<const int64_t> sizes,
                               std::span<const int64_t> strides,
                               size_t elementBytes) {
  int64_t last = 0, count = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t reach;
    if (sizes[i] < 0 || strides[i] < 0 ||
        __builtin_mul_overflow(count, sizes[i], &count) ||
        __builtin_mul_overflow(std::max<int64_t>(sizes[i] - 1, 0), strides[i],
                               &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return std::nullopt;
  }
  if (count == 0)
    return Extent();
  return Extent{size_t(last + 1) * elementBytes, size_t(count) * elementBytes};
}

} // namespace

std::optional<int64_t> HostCalls::valueOf(int64_t number) const {
  if (!isSymbolic(number))
    return number;
  return artifact.formulas[formulaNumber(number)].evaluate(symbols);
}

bool HostCalls::placeArena() {
  int64_t end = 0;
  for (int64_t part : artifact.arena) {
    std::optional<int64_t> bytes = valueOf(part);
    if (!bytes || *bytes < 0)
      return false;
    parts.push_back(end);
    end += *bytes + LTC_ARENA_ALIGNMENT - 1;
    end -= end % LTC_ARENA_ALIGNMENT;
  }
  return true;
}

Result<Kernel *> HostCalls::kernelOf(const Graph &call) {
  Result<Graph> fixed = call.instantiate(symbols);
  if (!fixed)
    return fixed.takeError();
  std::unique_ptr<Kernel> &known = kernels[fixed->hash()];
  if (known)
    return known.get();
  const KernelProvider &provider = hostServices().kernels;
  if (!provider)
    return failed(ErrorCode::Unsupported,
                  "the device leaves " + call.nodes[0].op +
                      " to the host, and this process has no library of "
                      "kernels");
  Result<std::unique_ptr<Kernel>> made = provider(*fixed);
  if (!made)
    return made.takeError();
  known = std::move(*made);
  return known.get();
}

bool HostCalls::readView(View &view, const ltc_word *&word, bool isResult,
                         std::vector<Block> &blocks) {
  std::optional<int64_t> first = valueOf(word->amount);
  if (!first)
    return false;
  const ltc_word &place = *word++;
  if (view.type.isScalar) {
    view.isInput = place.base == LTC_INPUT;
    view.scalar = view.isInput ? int64_t(place.index) : *first;
    return place.base == LTC_INPUT || place.base == LTC_NUMBER;
  }
  size_t rank = view.type.tensor.dims.size();
  for (size_t i = 0; i < 2 * rank; ++i) {
    std::optional<int64_t> number = valueOf(word->amount);
    if (!number || word++->base != LTC_NUMBER)
      return false;
    view.numbers.push_back(*number);
  }
  std::span<const int64_t> all = view.numbers;
  auto extent = extentOf(all.first(rank), all.subspan(rank),
                         byteSize(view.type.tensor.dtype));
  if (!extent || place.base == LTC_SYMBOLS)
    return false;
  // A tensor that the call leaves out has no address.
  view.block = place.base == LTC_NUMBER ? UINT32_MAX : uint32_t(blocks.size());
  if (place.base == LTC_NUMBER)
    return true;
  auto begin = size_t(*first);
  if (place.base == LTC_ARENA)
    begin += size_t(parts[place.index]);
  blocks.push_back(
      {place.base == LTC_ARENA ? uint32_t(LTC_ARENA) : place.base,
       place.base == LTC_ARENA ? 0 : place.index, begin, begin + extent->bytes,
       isResult && extent->bytes == extent->used, !isResult, isResult});
  return true;
}

void HostCalls::join(Call &call) {
  // A donated result is its input's memory; the artifact names the result.
  std::vector<Block> &all = call.blocks;
  std::vector<uint32_t> order(all.size()), joined(all.size());
  for (uint32_t i = 0; i < order.size(); ++i)
    order[i] = i;
  auto key = [&](uint32_t i) {
    return std::tuple(all[i].base, all[i].index, all[i].begin);
  };
  std::ranges::sort(order, {}, key);
  std::vector<Block> made;
  for (uint32_t i : order) {
    const Block &next = all[i];
    Block *last = made.empty() ? nullptr : &made.back();
    if (!last || last->base != next.base || last->index != next.index ||
        next.begin >= last->end) {
      made.push_back(next);
    } else {
      last->isWhole &=
          next.isWhole && last->begin == next.begin && last->end == next.end;
      last->end = std::max(last->end, next.end);
      last->isRead |= next.isRead;
      last->isWritten |= next.isWritten;
    }
    joined[i] = uint32_t(made.size() - 1);
  }
  for (View &view : call.views)
    if (!view.type.isScalar && view.block != UINT32_MAX) {
      size_t begin = all[view.block].begin;
      view.block = joined[view.block];
      view.offset = begin - made[view.block].begin;
    }
  for (Block &block : made) {
    block.place = call.bytes;
    call.bytes += (block.end - block.begin + 63) / 64 * 64;
  }
  all = std::move(made);
}

Result<HostCalls::Call> HostCalls::read(uint32_t number) {
  const ltc_step &step = artifact.steps[number];
  const Graph &graph = artifact.calls[step.target].graph;
  Result<Kernel *> kernel = kernelOf(graph);
  if (!kernel)
    return kernel.takeError();
  // Of its op, as aten::convolution.
  Counter &its = counter("execute.host_calls." + graph.nodes[0].op);
  Call call = {number, step.target, *kernel, graph.inputs.size(), {}, {}, &its};
  for (const ValueType &type : graph.inputs)
    call.views.emplace_back().type = type;
  for (const GraphOutput &output : graph.outputs)
    call.views.emplace_back().type = graph.typeOf(output.value);
  size_t words = 0;
  for (const View &view : call.views)
    words += view.type.isScalar ? 1 : 1 + 2 * view.type.tensor.dims.size();
  const ltc_word *word = artifact.words.data() + step.first_word;
  bool isGood = words == step.words;
  for (size_t i = 0; isGood && i < call.views.size(); ++i)
    isGood = readView(call.views[i], word, i >= call.operands, call.blocks);
  if (!isGood)
    return failed(ErrorCode::InvalidArgument,
                  "the words of a call of " + graph.nodes[0].op +
                      " are not those of its operands");
  // One memory has one name here: that of the result.
  for (Block &block : call.blocks)
    if (block.base == LTC_INPUT)
      for (uint32_t i = 0; i < artifact.donated.size(); ++i)
        if (artifact.donated[i] == block.index) {
          block.base = LTC_RESULT;
          block.index = i;
          break;
        }
  join(call);
  return call;
}

Result<std::unique_ptr<HostCalls>>
HostCalls::make(std::shared_ptr<Device> device, const Artifact &artifact,
                const std::vector<bool> &isOnHost,
                std::vector<int64_t> symbols) {
  std::unique_ptr<HostCalls> made(
      new HostCalls(std::move(device), artifact, std::move(symbols)));
  if (!made->placeArena())
    return failed(ErrorCode::InvalidArgument,
                  "the symbols' values give an impossible size");
  for (uint32_t i = 0; i < artifact.steps.size(); ++i) {
    const ltc_step &step = artifact.steps[i];
    if (step.kind != LTC_CALL || !isOnHost[step.target])
      continue;
    Result<Call> call = made->read(i);
    if (!call)
      return call.takeError();
    made->calls.push_back(std::move(*call));
  }
  return made;
}

ltc_buffer *HostCalls::bufferOf(const Block &block,
                                const ltc_launch &whole) const {
  if (block.base == LTC_ARENA)
    return whole.arena;
  size_t first = block.base == LTC_RESULT ? artifact.inputs.size() : 0;
  return whole.operands[first + block.index].buffer;
}

std::optional<Fault> HostCalls::settle() {
  if (!device->isAsynchronous())
    return std::nullopt;
  Result<Fence> fence = device->record();
  if (!fence)
    return Fault{fence.takeError()};
  std::optional<Fault> fault = fence->wait();
  if (fault)
    (void)device->resume();
  return fault;
}

std::optional<Fault> HostCalls::runSteps(ltc_program *program, ltc_launch part,
                                         uint32_t begin, uint32_t end) {
  if (begin == end)
    return std::nullopt;
  part.first_step = begin;
  part.end_step = end;
  return device->run(program, part);
}

std::optional<Fault> HostCalls::run(ltc_program *program,
                                    const ltc_launch &whole,
                                    HostMemory &staging) {
  auto steps = uint32_t(artifact.steps.size());
  uint32_t next = 0;
  for (Call &call : calls) {
    if (auto fault = runSteps(program, whole, next, call.step))
      return fault;
    if (auto fault = runCall(call, whole, staging))
      return fault;
    next = call.step + 1;
  }
  if (auto fault = runSteps(program, whole, next, steps))
    return fault;
  return settle();
}

static Counter &bytesCopied() {
  static Counter &copied = counter("execute.host_call_bytes");
  return copied;
}

std::optional<Fault> HostCalls::fetch(const Call &call, const ltc_launch &whole,
                                      char *memory, std::vector<char *> &data) {
  for (const Block &block : call.blocks) {
    ltc_buffer *buffer = bufferOf(block, whole);
    auto *own = static_cast<char *>(device->hostPointer(buffer));
    data.push_back(own ? own + block.begin : memory + block.place);
    size_t bytes = block.end - block.begin;
    if (own || !bytes || (!block.isRead && block.isWhole))
      continue;
    bytesCopied().add(int64_t(bytes));
    if (Status status = device->read(buffer, block.begin, data.back(), bytes);
        !status)
      return Fault{status.takeError()};
  }
  return settle();
}

std::optional<Fault> HostCalls::deliver(const Call &call,
                                        const ltc_launch &whole,
                                        const std::vector<char *> &data) {
  for (size_t i = 0; i < call.blocks.size(); ++i) {
    const Block &block = call.blocks[i];
    size_t bytes = block.end - block.begin;
    ltc_buffer *buffer = bufferOf(block, whole);
    if (!block.isWritten || !bytes || device->hostPointer(buffer))
      continue;
    bytesCopied().add(int64_t(bytes));
    if (Status status = device->write(buffer, block.begin, data[i], bytes);
        !status)
      return Fault{status.takeError()};
  }
  return std::nullopt;
}

std::vector<KernelView> HostCalls::viewsOf(const Call &call,
                                           const ltc_launch &whole,
                                           const std::vector<char *> &data) {
  std::vector<KernelView> views;
  for (const View &view : call.views) {
    KernelView &lent = views.emplace_back();
    lent.dtype = view.type.tensor.dtype;
    lent.isScalar = view.type.isScalar;
    if (lent.isScalar) {
      lent.integer = view.isInput ? int64_t(whole.operands[view.scalar].bits)
                                  : view.scalar;
      continue;
    }
    lent.rank = uint32_t(view.type.tensor.dims.size());
    lent.sizes = view.numbers.data();
    lent.strides = lent.sizes + lent.rank;
    lent.data =
        view.block == UINT32_MAX ? nullptr : data[view.block] + view.offset;
  }
  return views;
}

std::optional<Fault> HostCalls::runCall(Call &call, const ltc_launch &whole,
                                        HostMemory &staging) {
  static Counter &hostCalls = counter("execute.host_calls");
  // What the last call wrote from here must have arrived.
  if (auto fault = settle())
    return fault;
  char *memory = staging.reserve(device, call.bytes);
  if (!memory)
    return Fault{failed(ErrorCode::OutOfMemory,
                        "the host has no memory for copies of " +
                            std::to_string(call.bytes) + " bytes")};
  hostCalls.add();
  call.counter->add();
  std::vector<char *> data;
  if (auto fault = fetch(call, whole, memory, data))
    return fault;
  std::vector<KernelView> views = viewsOf(call, whole, data);
  std::span<const KernelView> all = views;
  if (Status status = call.kernel->run(all.first(call.operands),
                                       all.subspan(call.operands));
      !status)
    return Fault{status.takeError(),
                 int64_t(artifact.errorSites.size() + call.number)};
  return deliver(call, whole, data);
}

} // namespace ltc::runtime
