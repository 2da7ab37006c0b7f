//===- cuda_api.h - NVIDIA's driver, found when it is needed ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "cuda_types.h"
#include "ltc/plugin.h"

#include <optional>
#include <string>

namespace ltc::cuda {

struct Fault {
  ltc_error_code code = LTC_INTERNAL;
  std::string message;
  int64_t site = -1;
};
using Outcome = std::optional<Fault>;

/// Its functions, by their names.
struct Api {
#define LTC_CUDA(name, symbol, parameters) CUresult(*name) parameters;
#include "cuda_api.def"
#undef LTC_CUDA
};

/// Loads and starts the driver once; why there is none that can be used. The
/// rest of this header is for when there is. Any thread.
Outcome start();
const Api &api();
/// Whether it has the optional ones too, which are of graphs.
bool hasGraphs();
/// Of CUDA, as 12040 for 12.4.
int driverVersion();

/// Why `what` was not done, or nothing if it was.
Outcome outcomeOf(CUresult result, const char *what);

/// Makes a context the calling thread's for a while; another's, as torch's, is
/// its again afterwards.
class Entered {
public:
  explicit Entered(CUcontext context) { api().cuCtxPushCurrent(context); }
  ~Entered() {
    CUcontext ours;
    api().cuCtxPopCurrent(&ours);
  }
  Entered(const Entered &) = delete;
};

} // namespace ltc::cuda
