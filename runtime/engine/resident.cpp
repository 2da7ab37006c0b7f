//===- resident.cpp - Memory that need not stay resident ------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/resident.h"

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <link.h>
#include <mutex>
#include <span>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace ltc::runtime {

void discardContents(void *data, size_t bytes) {
  static const auto page = uintptr_t(sysconf(_SC_PAGESIZE));
  auto begin = reinterpret_cast<uintptr_t>(data), end = begin + bytes;
  // Only whole pages: those at the ends may hold somebody else's, too.
  begin = (begin + page - 1) / page * page;
  end = end / page * page;
  if (begin < end)
    madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
}

/// The largest block that may be part of a heap.
constexpr size_t kLargest = (size_t(32) << 20) - (size_t(64) << 10);

void keepFreedHeap() {
  // The C library raises its limits by itself, to at most this size and twice
  // this size, when such a block is freed. Nobody touches its pages.
  static std::once_flag once;
  std::call_once(once, [] {
    void *volatile block = std::malloc(kLargest);
    std::free(block);
  });
}

void discardFreeEndOfHeap() {
  if (void *block = std::malloc(kLargest)) {
    discardContents(block, kLargest);
    std::free(block);
  }
}

namespace {
/// Of a library, what is the file's own contents, never written to.
struct Code {
  const std::string &path;
  std::vector<std::span<std::byte>> parts;
};
} // namespace

static int findCode(dl_phdr_info *info, size_t, void *wanted) {
  auto &code = *static_cast<Code *>(wanted);
  if (code.path != info->dlpi_name)
    return 0;
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const auto &segment = info->dlpi_phdr[i];
    if (segment.p_type == PT_LOAD && !(segment.p_flags & PF_W))
      code.parts.emplace_back(
          reinterpret_cast<std::byte *>(info->dlpi_addr + segment.p_vaddr),
          segment.p_memsz);
  }
  return 1;
}

static Code codeOf(const std::string &path) {
  Code code{path, {}};
  dl_iterate_phdr(findCode, &code);
  return code;
}

void releaseCode(const std::string &path) {
  for (std::span<std::byte> part : codeOf(path).parts)
    discardContents(part.data(), part.size());
}

/// How much more may be resident until it is more than ever.
static size_t bytesToPeak() {
  std::ifstream status("/proc/self/status");
  size_t peak = 0, now = 0;
  for (std::string word; status >> word;)
    if (word == "VmHWM:")
      status >> peak;
    else if (word == "VmRSS:")
      status >> now;
  return peak > now ? (peak - now) << 10 : 0;
}

void releaseCodeNearPeak(const std::string &path) {
  size_t bytes = 0;
  for (std::span<std::byte> part : codeOf(path).parts)
    bytes += part.size();
  if (bytesToPeak() < bytes)
    releaseCode(path);
}

void releaseAfterBuild(const std::string &path) {
  releaseCode(path);
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

} // namespace ltc::runtime
