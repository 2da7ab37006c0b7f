//===- pjrt_memory.h - Buffers whose tensors stay on the device -*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A buffer is bytes; PJRT's arrays are typed and never change. So a buffer has
// the host's bytes, and over parts of them arrays: what a program has written,
// which the next one reads without a copy. Bytes below an array may be old
// until somebody reads them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/plugin.h"
#include "pjrt_client.h"

#include <atomic>
#include <map>

namespace ltc::pjrt {

/// What went between the host and the plugin, in bytes.
struct Traffic {
  std::atomic<int64_t> uploaded = 0, downloaded = 0;
  /// From one of a client's devices to another.
  std::atomic<int64_t> copied = 0;
};

} // namespace ltc::pjrt

/// One thread at a time.
struct ltc_buffer {
  using ArrayPtr = ltc::pjrt::ArrayPtr;
  using Outcome = ltc::drivers::Outcome;

public:
  /// Without memory there are no bytes: isThere() is false.
  ltc_buffer(size_t bytes, ltc::pjrt::DeviceRef device,
             ltc::pjrt::Traffic &traffic);
  ltc_buffer(const ltc_buffer &) = delete;
  ~ltc_buffer();

  bool isThere() const { return data; }
  size_t bytes() const { return size; }
  bool has(size_t offset, size_t bytes) const {
    return offset <= size && bytes <= size - offset;
  }

  // Ranges lie in the buffer.
  Outcome read(size_t offset, void *to, size_t bytes);
  /// `from` may be NULL, for zeros.
  Outcome write(size_t offset, const void *from, size_t bytes);
  /// Also from a buffer of another device; arrays go without the host where the
  /// client can.
  Outcome copy(size_t offset, ltc_buffer &from, size_t fromOffset,
               size_t bytes);
  /// The tensor there, as an array of the device.
  Outcome take(size_t offset, const ltc::pjrt::TensorType &type,
               ArrayPtr &array);
  void put(size_t offset, ArrayPtr array);

private:
  /// Bytes [from, from + bytes) of an array's.
  struct Piece {
    ArrayPtr array;
    size_t from = 0, bytes = 0;
    bool isNewer = false; ///< than the host's below it
  };
  using Pieces = std::map<size_t, Piece>;

  /// The first piece that overlaps [offset, ...), or a later one.
  Pieces::iterator from(size_t offset);
  /// Makes the host's bytes new.
  Outcome fetch(size_t offset, size_t bytes);
  /// Before a write: no piece is over these bytes any more. What is over those
  /// beside them stays.
  void uncover(size_t offset, size_t bytes);

  void cover(size_t offset, ArrayPtr array, bool isNewer);
  /// An array of another buffer as one of this one's device.
  Outcome bring(const ltc_buffer &from, ArrayPtr &array);

  const size_t size;
  const ltc::pjrt::DeviceRef device;
  ltc::pjrt::Traffic &traffic;
  char *data;
  Pieces pieces; ///< by offset; none overlap, none is empty
};
