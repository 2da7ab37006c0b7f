//===- launch_again.cpp - Launches that are repeated ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/engine.h"

#include "ltc/metrics.h"

namespace ltc::runtime {

Result<PreparedLaunchPtr>
DeviceEngine::prepare(const ExecutablePtr &executable,
                      std::span<const Renewal> renewals,
                      const std::vector<bool> &varies) {
  auto bound = boundProgram(executable);
  if (!bound)
    return bound.takeError();
  auto made = Preparation::make(std::move(*bound), renewals, varies, this);
  if (!made)
    return made.takeError();
  return PreparedLaunchPtr(std::move(*made));
}

Result<PreparedRun> DeviceEngine::launch(const PreparedLaunchPtr &given,
                                         std::vector<LaunchArgument> arguments,
                                         std::shared_ptr<const void> kept) {
  auto prepared = std::static_pointer_cast<Preparation>(given);
  Result<std::shared_ptr<Device>> opened = open();
  if (!opened)
    return opened.takeError();
  if (prepared->bound->program->home() != *opened)
    return invalid("the prepared launch belongs to another device");
  const bool isFirst = !prepared->isLaunched;
  auto completion = std::make_shared<Completion>();
  PreparedRun run;
  run.whole = std::make_shared<DeviceBuffer>(TensorType(), this, completion);
  // Inputs that stay; those that are updated are results from now on.
  std::vector<BufferPtr> stay;
  for (size_t i = 0; isFirst && i < arguments.size(); ++i)
    if (!prepared->varies(i) && !prepared->isUpdated(i))
      stay.push_back(arguments[i].buffer);
  auto results = enqueue({prepared->bound, prepared, !isFirst},
                         std::move(arguments), completion, std::move(kept));
  if (!results)
    return results.takeError();
  if (isFirst)
    prepared->kept = std::move(stay);
  prepared->isLaunched = true;
  static Counter &repeated = counter("execute.repeated");
  repeated.add(!isFirst);
  for (size_t i = 0; i < results->size(); ++i)
    if (!isFirst || !prepared->results[i])
      run.fresh.push_back(std::move((*results)[i]));
  return run;
}

} // namespace ltc::runtime

namespace ltc {

Result<PreparedLaunchPtr> prepare(Engine &engine,
                                  const ExecutablePtr &executable,
                                  std::span<const Renewal> renewals,
                                  const std::vector<bool> &varies) {
  return static_cast<runtime::DeviceEngine &>(engine).prepare(executable,
                                                              renewals, varies);
}

Result<PreparedRun> launch(Engine &engine, const PreparedLaunchPtr &prepared,
                           std::vector<LaunchArgument> arguments,
                           std::shared_ptr<const void> kept) {
  return static_cast<runtime::DeviceEngine &>(engine).launch(
      prepared, std::move(arguments), std::move(kept));
}

} // namespace ltc
