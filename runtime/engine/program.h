//===- program.h - An artifact loaded on a device ---------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "device/buffer.h"
#include "engine/thread_choice.h"

namespace ltc::runtime {

class Program final : public Executable {
public:
  /// Loads `artifact`; blocks while the device runs something.
  static Result<std::shared_ptr<Program>> load(std::shared_ptr<Device> device,
                                               Artifact artifact);
  ~Program() override { device->unload(handle); }

  const Artifact &artifact() const override { return loaded; }
  ltc_program *get() const { return handle; }
  const std::shared_ptr<Device> &home() const { return device; }

  ThreadChoice threads; ///< of the queue's thread

private:
  Program(std::shared_ptr<Device> device, Artifact artifact,
          ltc_program *handle)
      : device(std::move(device)), loaded(std::move(artifact)), handle(handle) {
  }

  std::shared_ptr<Device> device;
  Artifact loaded;
  ltc_program *handle;
};

} // namespace ltc::runtime
