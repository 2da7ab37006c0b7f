//===- pjrt_memory.cpp - Buffers whose tensors stay on the device --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "pjrt_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

using ltc::drivers::Fault;

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

ltc_buffer::ltc_buffer(size_t bytes, ltc::pjrt::DeviceRef device,
                       ltc::pjrt::Traffic &traffic)
    : size(bytes), device(device), traffic(traffic), data(allocate(bytes)) {}
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

ltc_buffer::Outcome ltc_buffer::bring(const ltc_buffer &from, ArrayPtr &array) {
  if (from.device == device)
    return std::nullopt;
  if (from.device.client != device.client)
    return Fault{LTC_UNSUPPORTED, "clients share no memory"};
  Outcome outcome = device.client->copy(*array, device.index, array);
  if (!outcome)
    traffic.copied += int64_t(bytesOf(array));
  return outcome;
}

ltc_buffer::Outcome ltc_buffer::copy(size_t offset, ltc_buffer &source,
                                     size_t fromOffset, size_t bytes) {
  if (bytes == 0)
    return std::nullopt;
  size_t end = fromOffset + bytes;
  std::vector<std::pair<size_t, Piece>> brought; // by offset in the source
  for (auto at = source.from(fromOffset);
       at != source.pieces.end() && at->first < end; ++at) {
    Piece piece = at->second;
    size_t begin = std::max(at->first, fromOffset);
    piece.from += begin - at->first;
    piece.bytes = std::min(at->first + at->second.bytes, end) - begin;
    if (!piece.isNewer)
      continue;
    Outcome outcome = bring(source, piece.array);
    if (!outcome)
      brought.emplace_back(begin, std::move(piece));
    else if (outcome->code != LTC_UNSUPPORTED)
      return outcome;
  }
  // The host's bytes for what lies between.
  uncover(offset, bytes);
  brought.emplace_back(end, Piece());
  size_t done = fromOffset;
  for (auto &[begin, piece] : brought) {
    if (begin > done) {
      if (Outcome outcome = source.fetch(done, begin - done))
        return outcome;
      std::memmove(data + offset + (done - fromOffset), source.data + done,
                   begin - done);
    }
    done = begin + piece.bytes;
    if (piece.array)
      pieces[offset + (begin - fromOffset)] = std::move(piece);
  }
  return std::nullopt;
}

ltc_buffer::Outcome ltc_buffer::take(size_t offset,
                                     const ltc::pjrt::TensorType &type,
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
  if (Outcome outcome =
          device.client->upload(device.index, type, data + offset, array))
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
