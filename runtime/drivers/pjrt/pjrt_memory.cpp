//===- pjrt_memory.cpp - Buffers whose tensors stay on the device --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "pjrt_memory.h"

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

namespace {

size_t bytesOf(const ltc::pjrt::ArrayPtr &array) {
  return array->type().bytes();
}

char *allocate(size_t bytes) {
  constexpr size_t alignment = 64;
  if (bytes > SIZE_MAX - alignment)
    return nullptr;
  size_t rounded = (bytes / alignment + 1) * alignment;
  return static_cast<char *>(std::aligned_alloc(alignment, rounded));
}

} // namespace

ltc_buffer::ltc_buffer(size_t bytes, ltc::pjrt::Traffic &traffic)
    : size(bytes), traffic(traffic), data(allocate(bytes)) {}
ltc_buffer::~ltc_buffer() { std::free(data); }

ltc_buffer::Pieces::iterator ltc_buffer::from(size_t offset) {
  auto found = pieces.upper_bound(offset);
  if (found != pieces.begin()) {
    auto before = std::prev(found);
    if (before->first + before->second.bytes > offset)
      return before;
  }
  return found;
}

ltc_buffer::Outcome ltc_buffer::fetch(size_t offset, size_t bytes) {
  std::vector<char> whole;
  for (auto at = from(offset); at != pieces.end() && at->first < offset + bytes;
       ++at) {
    Piece &piece = at->second;
    if (!piece.isNewer)
      continue;
    bool isWhole = piece.bytes == bytesOf(piece.array);
    whole.resize(isWhole ? 0 : bytesOf(piece.array));
    char *to = isWhole ? data + at->first : whole.data();
    if (Outcome outcome = piece.array->download(to))
      return outcome;
    traffic.downloaded += int64_t(bytesOf(piece.array));
    if (!isWhole)
      std::memcpy(data + at->first, whole.data() + piece.from, piece.bytes);
    piece.isNewer = false;
  }
  return std::nullopt;
}

void ltc_buffer::uncover(size_t offset, size_t bytes) {
  size_t end = offset + bytes;
  for (auto at = from(offset); at != pieces.end() && at->first < end;) {
    size_t begin = at->first;
    Piece piece = std::move(at->second);
    at = pieces.erase(at);
    size_t pieceEnd = begin + piece.bytes;
    if (pieceEnd > end)
      pieces[end] = {piece.array, piece.from + (end - begin), pieceEnd - end,
                     piece.isNewer};
    if (begin < offset)
      pieces[begin] = {piece.array, piece.from, offset - begin, piece.isNewer};
  }
}

ltc_buffer::Outcome ltc_buffer::read(size_t offset, void *to, size_t bytes) {
  if (bytes == 0)
    return std::nullopt;
  if (Outcome outcome = fetch(offset, bytes))
    return outcome;
  std::memcpy(to, data + offset, bytes);
  return std::nullopt;
}

ltc_buffer::Outcome ltc_buffer::write(size_t offset, const void *from,
                                      size_t bytes) {
  if (bytes == 0)
    return std::nullopt;
  uncover(offset, bytes);
  if (from)
    std::memcpy(data + offset, from, bytes);
  else
    std::memset(data + offset, 0, bytes);
  return std::nullopt;
}

ltc_buffer::Outcome ltc_buffer::copy(size_t offset, ltc_buffer &source,
                                     size_t fromOffset, size_t bytes) {
  if (bytes == 0)
    return std::nullopt;
  auto whole = source.pieces.find(fromOffset);
  if (whole != source.pieces.end() && whole->second.bytes == bytes &&
      bytesOf(whole->second.array) == bytes) {
    put(offset, ArrayPtr(whole->second.array));
    return std::nullopt;
  }
  if (Outcome outcome = source.fetch(fromOffset, bytes))
    return outcome;
  uncover(offset, bytes);
  std::memmove(data + offset, source.data + fromOffset, bytes);
  return std::nullopt;
}

ltc_buffer::Outcome ltc_buffer::take(size_t offset,
                                     const ltc::pjrt::TensorType &type,
                                     ltc::pjrt::Client &client, size_t device,
                                     ArrayPtr &array) {
  size_t bytes = type.bytes();
  auto known = pieces.find(offset);
  if (known != pieces.end() && known->second.bytes == bytes &&
      known->second.array->type() == type) {
    array = known->second.array;
    return std::nullopt;
  }
  if (Outcome outcome = fetch(offset, bytes))
    return outcome;
  if (Outcome outcome = client.upload(device, type, data + offset, array))
    return outcome;
  traffic.uploaded += int64_t(bytes);
  cover(offset, array, /*isNewer=*/false);
  return std::nullopt;
}

void ltc_buffer::put(size_t offset, ArrayPtr array) {
  cover(offset, std::move(array), /*isNewer=*/true);
}

void ltc_buffer::cover(size_t offset, ArrayPtr array, bool isNewer) {
  size_t bytes = bytesOf(array);
  if (bytes == 0)
    return;
  uncover(offset, bytes);
  pieces[offset] = {std::move(array), 0, bytes, isNewer};
}
