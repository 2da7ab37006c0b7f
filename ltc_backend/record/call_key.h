//===- record/call_key.h - Hashes of what a call is given -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/hash.h"
#include "ltc_backend/mutex.h"

#include <ATen/core/ivalue.h>
#include <cstring>
#include <mutex>
#include <sstream>
#include <unordered_set>

namespace ltc::backend {

/// What a word of a key is about, so that equal words of two kinds differ.
enum class KeyTag : uint64_t {
  None = 1,
  Bool,
  Int,
  Double,
  String,
  List,
  Tensor,
  Scalar,
  Device,
  Stride,
  Shared,
  Other
};

inline Hasher &addTag(Hasher &hasher, KeyTag tag) {
  return hasher.add(uint64_t(tag));
}

/// A value that is no tensor.
inline void addAttribute(Hasher &hasher, const c10::IValue &value) {
  if (value.isNone())
    addTag(hasher, KeyTag::None);
  else if (value.isInt())
    addTag(hasher, KeyTag::Int).add(uint64_t(value.toInt()));
  else if (value.isBool())
    addTag(hasher, KeyTag::Bool).add(value.toBool());
  else if (value.isDouble()) {
    double real = value.toDouble();
    uint64_t bits;
    std::memcpy(&bits, &real, sizeof bits);
    addTag(hasher, KeyTag::Double).add(bits);
  } else if (value.isString())
    addTag(hasher, KeyTag::String).add(std::string_view(value.toStringRef()));
  else if (value.isIntList()) {
    // The commonest list by far, without boxing its elements.
    auto list = value.toIntList();
    addTag(hasher, KeyTag::List).add(list.size());
    for (size_t i = 0; i < list.size(); ++i)
      hasher.add(uint64_t(list.get(i)));
  } else if (value.isList()) {
    addTag(hasher, KeyTag::List).add(value.toListRef().size());
    for (const c10::IValue &element : value.toListRef())
      addAttribute(hasher, element);
  } else {
    std::ostringstream text;
    text << value;
    addTag(hasher, KeyTag::Other).add(std::string_view(text.str()));
  }
}

/// Keys of calls that have been looked at, as many as fit. Any thread.
class KeySet {
public:
  bool contains(Hash128 key) const {
    std::lock_guard lock(mutex);
    return keys.contains(key);
  }
  void insert(Hash128 key) {
    constexpr size_t kMax = 4096;
    std::lock_guard lock(mutex);
    if (keys.size() >= kMax)
      keys.clear();
    keys.insert(key);
  }

private:
  mutable Mutex mutex;
  std::unordered_set<Hash128> keys;
};

} // namespace ltc::backend
