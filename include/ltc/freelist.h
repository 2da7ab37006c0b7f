//===- freelist.h - Memory of small objects, used again ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace ltc {

/// An allocator of single objects for allocate_shared. A step frees as many
/// nodes as it makes, all at once, and more than malloc keeps at hand: each
/// thread keeps some of the memory that it frees. An object may be freed on
/// another thread than it was made on.
template <typename T> struct Freelist {
  using value_type = T;
  Freelist() = default;
  template <typename U> Freelist(const Freelist<U> &) {}
  bool operator==(const Freelist &) const { return true; }

  T *allocate(size_t count) {
    FreeList &list = freeList();
    if (count != 1 || !list.first)
      return static_cast<T *>(::operator new(count * sizeof(T)));
    Block *block = list.first;
    list.first = block->next;
    --list.size;
    return reinterpret_cast<T *>(block);
  }

  void deallocate(T *memory, size_t count) {
    FreeList &list = freeList();
    if (count != 1 || list.size >= list.limit)
      return ::operator delete(memory);
    list.first = new (memory) Block{list.first};
    ++list.size;
  }

private:
  struct Block {
    Block *next;
  };
  struct FreeList {
    Block *first = nullptr;
    size_t size = 0, limit = 4096;
    ~FreeList() {
      limit = 0; // objects that outlive the thread's end
      while (first)
        ::operator delete(std::exchange(first, first->next));
    }
  };
  static FreeList &freeList() {
    static thread_local FreeList list;
    return list;
  }
};

} // namespace ltc
