//===- buffer_transfer.cpp - Work that fills a buffer ---------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/buffer_transfer.h"

#include "ltc/metrics.h"

#include <cstring>

namespace ltc::runtime {

Work::Progress Transfer::run(bool) {
  if (FailurePtr missing = awaitSource()) {
    complete(std::move(missing));
    return Progress::Done;
  }
  Status status = start();
  if (status && device->isAsynchronous()) {
    Result<Fence> behind = device->record();
    if (behind) {
      fence = std::move(*behind);
      ++state.onDevice;
      return Progress::GoesOn;
    }
    status = behind.takeError();
  }
  complete(failureOf(std::move(status)));
  return Progress::Done;
}

bool Transfer::succeeds() {
  std::optional<Fault> fault = fence.wait();
  if (!fault)
    return true;
  failed = std::move(fault->error);
  (void)device->resume();
  return false;
}

void Transfer::takeBack() {
  (void)fence.wait();
  --state.onDevice;
}

void Transfer::finish() {
  --state.onDevice;
  complete(failureOf(failed ? Status(std::move(*failed)) : Status()));
}

FailurePtr Transfer::failureOf(Status status) {
  if (status)
    return nullptr;
  auto failure = std::make_shared<Failure>(status.takeError());
  state.failures.add(failure);
  return failure;
}

void Transfer::complete(FailurePtr failure) {
  std::shared_ptr<Completion> completion = buffer->completion;
  buffer.reset();
  completion->finish(std::move(failure));
}

Upload::Upload(LaunchState &state, std::shared_ptr<Device> device,
               DeviceBufferPtr buffer, const char *from)
    : Transfer(state, std::move(device), std::move(buffer)), isZeros(!from) {
  if (from)
    data.assign(from, from + this->buffer->type().bytes());
}

Status Upload::start() {
  return device->write(buffer->memory.get(), 0, isZeros ? nullptr : data.data(),
                       buffer->type().bytes());
}

FailurePtr DeviceCopy::awaitSource() {
  from->completion->wait();
  return from->completion->isRestored() ? nullptr : from->completion->failed();
}

Status DeviceCopy::start() {
  static Counter &copies = counter("execute.device_copies");
  static Counter &byHost = counter("execute.device_copies_by_host");
  static Counter &copied = counter("execute.device_copy_bytes");
  size_t bytes = buffer->type().bytes();
  const Memory &source = from->memory;
  if (!source)
    return Error{ErrorCode::InvalidArgument,
                 Stage::Execute,
                 "the buffer of " + from->type().str() +
                     " was donated before it was copied",
                 "",
                 {},
                 ""};
  copies.add();
  copied.add(int64_t(bytes));
  if (device->copiesFrom(*source.home()))
    return device->copyFrom(buffer->memory.get(), *source.home(), source.get(),
                            bytes);
  byHost.add();
  return bytes ? copyByHost() : Status();
}

Status DeviceCopy::copyByHost() {
  size_t bytes = buffer->type().bytes();
  const void *data = from->memory.hostPointer();
  if (void *to = buffer->memory.hostPointer()) {
    if (!data)
      return from->memory.read(to, bytes);
    std::memcpy(to, data, bytes);
    return {};
  }
  if (!data) {
    char *staged = staging.reserve(device, bytes);
    if (!staged)
      return Error{ErrorCode::OutOfMemory,
                   Stage::Execute,
                   "the host has no " + std::to_string(bytes) +
                       " bytes for a copy between two devices",
                   "",
                   {},
                   ""};
    if (Status status = from->memory.read(staged, bytes); !status)
      return status;
    data = staged;
  }
  return device->write(buffer->memory.get(), 0, data, bytes);
}

} // namespace ltc::runtime
