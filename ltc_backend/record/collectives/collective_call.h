//===- collectives/collective_call.h - One call of a collective -*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/error.h"
#include "ltc_backend/record/collectives/collective_group.h"

#include <memory>

namespace ltc::backend {

enum class Access : uint8_t {
  Read,   ///< all tensors are only read
  Update, ///< all are read and written
  Fill,   ///< those of the first argument are written, the others read
};

/// Which argument has the same number of elements on all ranks.
enum class Alike : uint8_t { First, Second, None };

struct Collective {
  const char *op;   ///< of the namespace c10d
  const char *name; ///< of torch.distributed
  Access access;
  Alike alike;
};

/// A call as its errors name it, and as the other ranks are told of it.
struct CollectiveCall {
  std::string text; ///< "all_reduce(f32[4]) on rank 0 of 2"
  std::string op;   ///< "c10d::allreduce_"
  Meeting meeting;
  std::shared_ptr<CollectiveGroup> group; ///< null: not Gloo's, or of one rank
  /// Where the group's library takes tensors: the CPU, or PyTorch's "cuda".
  at::DeviceType place = at::kCPU;
  bool isMessage = false; ///< between two ranks

  /// What became of it: `what` is another rank's or the network's doing.
  Error failure(std::string_view what) const;
};

bool isGroup(const c10::IValue &value);

/// The next call of its group.
CollectiveCall describe(const Collective &collective,
                        const c10::FunctionSchema &schema,
                        c10::ArrayRef<c10::IValue> arguments);

/// Has Gloo let this call meet only such as match it: of a message, by another
/// tag among the arguments. On the thread that calls Gloo, right before.
void meetOnlyMatching(const CollectiveCall &call,
                      const c10::FunctionSchema &schema,
                      std::vector<c10::IValue> &arguments);

} // namespace ltc::backend
