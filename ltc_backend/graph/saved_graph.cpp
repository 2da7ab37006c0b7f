//===- graph/saved_graph.cpp - PyTorch's file of all graphs ---------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/graph/saved_graph.h"

#include "ltc/log.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <torch/csrc/lazy/core/debug_util.h>
#include <torch/csrc/lazy/core/ir_dump_util.h>

namespace ltc::backend {
using torch::lazy::DebugUtil;

static const char *savedFile() {
  static const char *file = std::getenv("LTC_SAVE_TENSORS_FILE");
  return file && *file ? file : nullptr;
}

Frames framesToSave() {
  if (!savedFile()) [[likely]]
    return std::nullopt;
  return torch::lazy::GetPythonFramesFunction()();
}

static std::string textOf(const Collection &collection) {
  const auto format = DebugUtil::GetDefaultGraphFormat();
  if (format == DebugUtil::kBackend)
    return collection.build().str();
  std::vector<const torch::lazy::Node *> roots;
  for (const Collection::Receiver &receiver : collection.receivers)
    if (const auto *node = receiver.node.get();
        std::ranges::find(roots, node) == roots.end())
      roots.push_back(node);
  return format == DebugUtil::kDot ? torch::lazy::DumpUtil::ToDot(roots)
                                   : torch::lazy::DumpUtil::ToText(roots);
}

void saveGraph(const Collection &collection, const Frames::value_type &frames) {
  std::ostringstream text;
  text << "[ScheduleSyncTensorsGraph]\nPython Stacktrace:\n";
  for (const torch::lazy::SourceLocation &frame : frames)
    text << "  " << frame.function << " (" << frame.file << ":" << frame.line
         << ")\n";
  text << "\nHashes: (" << collection.key.str() << ")\n\n## BEGIN_GRAPH\n"
       << textOf(collection) << "\n## END_GRAPH\n\n\n";
  std::ofstream file(savedFile(), std::ios::app);
  file << text.str();
  static std::atomic<bool> isTold = false;
  if (!file.flush() && !isTold.exchange(true))
    log(LogLevel::Warn, Stage::Graph,
        std::string("the graphs cannot be written to ") + savedFile() +
            ", which LTC_SAVE_TENSORS_FILE names");
}

} // namespace ltc::backend
