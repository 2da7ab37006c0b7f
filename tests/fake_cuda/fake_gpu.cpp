//===- fake_gpu.cpp - A GPU that is not there -----------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "fake_gpu.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace fake_cuda {

namespace {

Options readOptions() {
  Options read;
  const char *all = std::getenv("FAKE_CUDA");
  std::string text = all ? all : "";
  auto number = [&](const std::string &name, auto &value) {
    size_t at = ("," + text).find("," + name + "=");
    if (at != text.npos)
      value = std::remove_reference_t<decltype(value)>(
          std::strtoll(text.c_str() + at + name.size() + 1, nullptr, 10));
  };
  number("devices", read.devices);
  number("version", read.version);
  number("capability", read.capability);
  number("memory", read.memory);
  number("delay_us", read.delay_us);
  number("graphs", read.graphs);
  number("init", read.init);
  number("lose_at", read.lose_at);
  return read;
}

} // namespace

const Options &options() {
  static const Options all = readOptions();
  return all;
}

Heap::Heap(size_t size) : size(size) {
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  addresses = static_cast<char *>(mmap(nullptr, size, PROT_NONE, flags, -1, 0));
  bytes = static_cast<char *>(
      mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, -1, 0));
  if (addresses == MAP_FAILED || bytes == MAP_FAILED)
    std::abort();
}

uint64_t Heap::allocate(size_t wanted) {
  if (wanted > size)
    return 0;
  size_t rounded = std::max<size_t>(wanted + alignment - 1, alignment) /
                   alignment * alignment;
  std::lock_guard lock(mutex);
  size_t at = 0;
  for (const auto &[offset, taken] : blocks) {
    if (offset - at >= rounded)
      break;
    at = offset + taken;
  }
  if (size - at < rounded)
    return 0;
  blocks[at] = rounded;
  used += rounded;
  // What nobody wrote is no zeros.
  std::memset(bytes + at, 0xa5, std::min<size_t>(rounded, 1 << 20));
  return reinterpret_cast<uint64_t>(addresses) + at;
}

bool Heap::free(uint64_t address) {
  std::lock_guard lock(mutex);
  auto block = blocks.find(address - reinterpret_cast<uint64_t>(addresses));
  if (block == blocks.end())
    return false;
  used -= block->second;
  // Back to the system, in whole pages.
  auto page = size_t(sysconf(_SC_PAGESIZE));
  size_t begin = (block->first + page - 1) / page * page;
  size_t end = (block->first + block->second) / page * page;
  if (begin < end)
    madvise(bytes + begin, end - begin, MADV_DONTNEED);
  blocks.erase(block);
  return true;
}

size_t Heap::freeBytes() const {
  std::lock_guard lock(mutex);
  return size - used;
}

char *Heap::find(uint64_t address, size_t wanted) const {
  size_t at = address - reinterpret_cast<uint64_t>(addresses);
  if (at >= size)
    return nullptr;
  std::lock_guard lock(mutex);
  auto behind = blocks.upper_bound(at);
  if (behind == blocks.begin())
    return nullptr;
  auto [offset, taken] = *std::prev(behind);
  bool fits = at - offset <= taken && wanted <= taken - (at - offset);
  return fits ? bytes + at : nullptr;
}

void Reached::reach() {
  {
    std::lock_guard lock(mutex);
    when = std::chrono::steady_clock::now();
    reached = true;
  }
  changed.notify_all();
}

bool Reached::isReached() const {
  std::lock_guard lock(mutex);
  return reached;
}

void Reached::wait() const {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return reached; });
}

} // namespace fake_cuda

using namespace fake_cuda;

CUstream_st::CUstream_st(CUcontext context)
    : context(context), worker([this] { loop(); }) {}

CUstream_st::~CUstream_st() {
  {
    std::lock_guard lock(mutex);
    closed = true;
  }
  arrived.notify_all();
  worker.join();
}

CUresult CUstream_st::invalidate() {
  if (!capture)
    return CUDA_SUCCESS;
  capture->isValid = false;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

void CUstream_st::push(std::function<CUresult()> work, CUgraphNodeType type) {
  if (capture)
    return addNode(capture->graph, std::move(work), type);
  auto command = [this, work = std::move(work)] {
    if (int delay = options().delay_us)
      std::this_thread::sleep_for(std::chrono::microseconds(delay));
    if (context->lost != CUDA_SUCCESS)
      return;
    if (CUresult result = work(); result != CUDA_SUCCESS)
      context->lost = result;
  };
  {
    std::lock_guard lock(mutex);
    commands.push_back(std::move(command));
  }
  arrived.notify_one();
}

std::shared_ptr<Reached> CUstream_st::mark() {
  auto reached = std::make_shared<Reached>();
  {
    std::lock_guard lock(mutex);
    commands.push_back([reached] { reached->reach(); });
  }
  arrived.notify_one();
  return reached;
}

void CUstream_st::loop() {
  std::unique_lock lock(mutex);
  while (true) {
    arrived.wait(lock, [&] { return closed || !commands.empty(); });
    if (commands.empty())
      return;
    std::function<void()> command = std::move(commands.front());
    commands.pop_front();
    lock.unlock();
    command();
    command = nullptr;
    lock.lock();
  }
}
