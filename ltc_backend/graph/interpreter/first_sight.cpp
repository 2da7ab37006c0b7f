//===- interpreter/first_sight.cpp - Graphs like none before --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/interpreter/first_sight.h"

#include "ltc_backend/tensors/op_info.h"

#include <mutex>
#include <unordered_set>

namespace ltc::backend {

/// Of all values together. With more, a program on disk would be worth having.
constexpr size_t kSmall = size_t(1) << 20;
/// Structures that are remembered; then all are new again.
constexpr size_t kMaxStructures = size_t(1) << 14;

/// Of the ops and where their operands come from.
static Hash128 structureOf(const Collection &collection) {
  Hasher hasher;
  const ValueId *operand = collection.operands.data();
  for (const OpNode *node : collection.nodes) {
    hasher.add(uint64_t(reinterpret_cast<uintptr_t>(node->call->op)));
    for (size_t n = node->inputs.size(); n-- > 0;)
      hasher.add(*operand++);
  }
  return hasher.finish();
}

static bool isSmall(const Collection &collection) {
  size_t elements = 0;
  for (const OpNode *node : collection.nodes)
    for (const ResultType &result : node->call->results)
      elements += result.type.elements();
  return elements <= kSmall;
}

bool isSmallAndNew(const Collection &collection) {
  static std::mutex mutex;
  static auto *seen = new std::unordered_set<Hash128>;
  if (!isSmall(collection))
    return false;
  std::lock_guard lock(mutex);
  if (seen->size() >= kMaxStructures)
    seen->clear();
  return seen->insert(structureOf(collection)).second;
}

} // namespace ltc::backend
