//===- program.cpp - An artifact loaded on a device -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/program.h"

namespace ltc::runtime {

Result<std::shared_ptr<Program>> Program::load(std::shared_ptr<Device> device,
                                               Artifact artifact) {
  Result<ltc_program *> handle = device->load(artifact.serialize());
  if (!handle)
    return handle.takeError();
  return std::shared_ptr<Program>(
      new Program(std::move(device), std::move(artifact), *handle));
}

} // namespace ltc::runtime
