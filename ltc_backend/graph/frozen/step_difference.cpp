//===- frozen/step_difference.cpp - What two calls of a step did alike ----===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/frozen/step_recorder.h"

#include <ATen/ATen.h>

namespace ltc::backend {

static bool isAlike(const StepValue &newer, const StepValue &older) {
  if (newer.kind != older.kind)
    return false;
  switch (newer.kind) {
  case StepValue::Slot:
    return std::ranges::any_of(newer.slots, [&](uint32_t slot) {
      return std::ranges::find(older.slots, slot) != older.slots.end();
    });
  case StepValue::Constant:
    return newer.constant.equal(older.constant);
  case StepValue::Number:
    return true;
  default:
    return newer.index == older.index && newer.result == older.result;
  }
}

static bool isAlike(const StepRecording::Fresh &newer,
                    const StepRecording::Fresh &older) {
  return isAlike(newer.value, older.value) && newer.shape == older.shape &&
         newer.layout.strides == older.layout.strides &&
         newer.layout.offset == older.layout.offset;
}

static bool isAlike(const StepRecording::Gradient &newer,
                    const StepRecording::Gradient &older) {
  return newer.tensor == older.tensor &&
         newer.fresh.has_value() == older.fresh.has_value() &&
         (!newer.fresh || isAlike(*newer.fresh, *older.fresh));
}

static bool isAlike(const std::pair<uint32_t, StepValue> &newer,
                    const std::pair<uint32_t, StepValue> &older) {
  return newer.first == older.first && isAlike(newer.second, older.second);
}

template <typename T>
static bool areAlike(const std::vector<T> &newer, const std::vector<T> &older) {
  return std::ranges::equal(
      newer, older, [](const T &a, const T &b) { return isAlike(a, b); });
}

/// The first call of a graph that another has not.
static SourceId firstOther(const Graph &newer, const Graph &older) {
  for (size_t i = 0; i < newer.nodes.size(); ++i)
    if (i >= older.nodes.size() ||
        newer.nodes[i].signature() != older.nodes[i].signature())
      return newer.nodes[i].source;
  return newer.endedBy;
}

std::optional<StepObstacle>
StepRecording::differenceFrom(const StepRecording &older) const {
  for (size_t i = 0; i < std::min(launches.size(), older.launches.size());
       ++i) {
    const Launch &launch = launches[i], &before = older.launches[i];
    if (launch.key != before.key)
      return StepObstacle{"records another graph than in the call before",
                          firstOther(*launch.graph, *before.graph)};
    for (size_t j = 0; j < launch.arguments.size(); ++j)
      if (!isAlike(launch.arguments[j], before.arguments[j])) {
        const Node *reader = readerOf(*launch.graph, ValueId(j));
        return StepObstacle{"reads another tensor than in the call before",
                            reader ? reader->source : 0};
      }
    if (launch.effects != before.effects)
      return StepObstacle{"writes to other tensors than in the call before",
                          launch.graph->endedBy};
  }
  if (launches.size() != older.launches.size())
    return StepObstacle{"records " + std::to_string(launches.size()) +
                            " graphs, and in the call before " +
                            std::to_string(older.launches.size()),
                        launches.empty() ? 0 : launches.back().graph->endedBy};
  if (draws.size() != older.draws.size() ||
      !std::ranges::equal(draws, older.draws))
    return StepObstacle{"draws other random numbers than in the call before"};
  if (hadGradient != older.hadGradient || !areAlike(gradients, older.gradients))
    return StepObstacle{"leaves other gradients than in the call before"};
  if (!areAlike(copies, older.copies) || !areAlike(results, older.results) ||
      counted.size() != older.counted.size())
    return StepObstacle{"gives other tensors than in the call before"};
  return std::nullopt;
}

} // namespace ltc::backend
