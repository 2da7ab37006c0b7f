//===- graph/profiled_run.cpp - Runs of graphs, for a profile -------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/profiled_run.h"

#include <cmath>

namespace ltc::backend {

void nameRun(const Collection &collection) {
  profile::nameRun(collection.key, collection.nodes.size(),
                   collection.inputs.size(), collection.outputs.size());
}

void InterpretedRun::begin() {
  nameRun(collection);
  run = profile::submitRun();
  profile::noteInterpreted(run);
  profile::beginRun(run);
}

static bool isNan(const Buffer &buffer) {
  if (buffer.type().elements() != 1)
    return false;
  const void *data = buffer.hostPointer();
  switch (buffer.type().dtype) {
  case DType::F32:
    return data && std::isnan(*static_cast<const float *>(data));
  case DType::F64:
    return data && std::isnan(*static_cast<const double *>(data));
  default:
    return false;
  }
}

void InterpretedRun::checkNumbers(std::span<const BufferPtr> results) const {
  for (const Collection::Receiver &receiver : collection.receivers) {
    if (receiver.output >= results.size() || !receiver.node ||
        !isNan(*results[receiver.output]) || !profile::isFirstNotANumber(run))
      continue;
    profile::addNotANumber(run, receiver.node->call->op->name,
                           receiver.node->source);
  }
}

} // namespace ltc::backend
