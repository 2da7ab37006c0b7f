//===- rebinding_kernel.h - A kernel of an op that may end ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/graph.h"
#include "ltc/kernels.h"

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>

namespace ltc::backend {

/// Calls an op outside aten. A torch.library may end and take its ops with it,
/// or define them anew, while compiled programs still call them: the call is
/// bound again then, by name.
class RebindingKernel : public Kernel {
public:
  static Result<std::unique_ptr<Kernel>> make(const Graph &call,
                                              c10::Device device);
  Status run(std::span<const KernelView> operands,
             std::span<const KernelView> results) override;
  Status runOn(void *stream, std::span<const KernelView> operands,
               std::span<const KernelView> results) override;
  Uncaptured uncaptured() const override { return Uncaptured::Foreign; }

private:
  RebindingKernel(const Graph &call, c10::Device device)
      : call(call), device(device) {}
  Status bind();
  /// bind() where something has changed.
  Status renew();

  const Graph call;
  const c10::Device device;
  std::unique_ptr<Kernel> bound; ///< null while there is no such op
  uint64_t opsEnded = 0;         ///< in this process, when it was bound
};

} // namespace ltc::backend
