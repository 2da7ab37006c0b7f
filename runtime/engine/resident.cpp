//===- resident.cpp - Memory that need not stay resident ------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/resident.h"

#include <cstdint>
#include <cstdlib>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

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

/// Of the wanted library, what is the file's own contents, never written to.
static int releaseCode(dl_phdr_info *info, size_t, void *wanted) {
  if (*static_cast<const std::string *>(wanted) != info->dlpi_name)
    return 0;
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const auto &segment = info->dlpi_phdr[i];
    if (segment.p_type == PT_LOAD && !(segment.p_flags & PF_W))
      discardContents(
          reinterpret_cast<void *>(info->dlpi_addr + segment.p_vaddr),
          segment.p_memsz);
  }
  return 1;
}

void releaseAfterBuild(const std::string &path) {
  dl_iterate_phdr(releaseCode, const_cast<std::string *>(&path));
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

} // namespace ltc::runtime
