//===- engine.cpp - Launches, transfers and waits of one device -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/engine.h"

#include "engine/buffer_transfer.h"
#include "engine/mark.h"

#include "ltc/freelist.h"
#include "ltc/metrics.h"
#include "ltc/settings.h"

#include <algorithm>

namespace ltc::runtime {

Error invalid(std::string message) {
  return {ErrorCode::InvalidArgument,
          Stage::Execute,
          std::move(message),
          "",
          {},
          ""};
}

static Error donatedTwice(size_t argument) {
  return invalid("argument " + std::to_string(argument) +
                 " is donated, and another argument too");
}

DeviceEngine::DeviceEngine(std::shared_ptr<Device> device,
                           CompilerSource compiler)
    : device(std::move(device)), compilerSource(std::move(compiler)) {
  state.isAsynchronous = this->device->isAsynchronous();
}

void DeviceEngine::close() {
  background.close();
  queue.close();
  cache.clear();
  state.arena.release(); // the thread that used it has ended
  state.staging.release();
  std::lock_guard lock(mutex);
  device.reset();
}

Result<std::shared_ptr<Device>> DeviceEngine::open() const {
  if (isForked())
    return forkedError();
  std::lock_guard lock(mutex);
  if (!device)
    return Error{ErrorCode::DeviceFailed,
                 Stage::Execute,
                 "the device was shut down",
                 "",
                 {},
                 ""};
  return device;
}

Result<DeviceBufferPtr> DeviceEngine::own(const BufferPtr &buffer) const {
  auto found = std::dynamic_pointer_cast<DeviceBuffer>(buffer);
  // A caller's own kind of buffer: it may stand for work that failed earlier.
  if (!found && buffer && buffer->waitFor(std::chrono::milliseconds(0)))
    if (Status status = buffer->wait(); !status)
      return status.takeError();
  if (!found || found->owner != this)
    return invalid("the buffer belongs to another device");
  if (found->consumed)
    return invalid("the buffer of " + found->type().str() +
                   " was donated to an earlier launch");
  if (found->completion->isRestored()) [[unlikely]]
    found->completion->forgive();
  return found;
}

Result<std::vector<ScalarOrBuffer>> DeviceEngine::checkArguments(
    const RunShape &shape, const std::vector<LaunchArgument> &arguments) const {
  if (arguments.size() != shape.inputs())
    return invalid("the graph has " + std::to_string(shape.inputs()) +
                   " inputs, and the launch " +
                   std::to_string(arguments.size()) + " arguments");
  std::vector<ScalarOrBuffer> checked(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const ValueType &wanted = shape.bound->inputs[shape.input(i)];
    std::string_view found = "a scalar";
    if (arguments[i].buffer) {
      Result<DeviceBufferPtr> buffer = own(arguments[i].buffer);
      if (!buffer)
        return buffer.takeError();
      checked[i].buffer = std::move(*buffer);
      found = "another tensor type";
    }
    checked[i].bits = uint64_t(arguments[i].integer);
    const DeviceBuffer *buffer = checked[i].buffer.get();
    if (wanted.isScalar ? buffer != nullptr
                        : !buffer || buffer->type() != wanted.tensor)
      return invalid("argument " + std::to_string(shape.input(i)) + " is " +
                     (buffer ? buffer->type().str() : std::string(found)) +
                     ", and the graph wants " + wanted.str());
  }
  return checked;
}

Status DeviceEngine::consume(const RunShape &shape,
                             std::vector<ScalarOrBuffer> &arguments) {
  std::vector<bool> isDonated(arguments.size());
  std::vector<DeviceBuffer *> taken;
  Status status;
  for (size_t i = 0; i < shape.results(); ++i) {
    std::optional<size_t> donated = shape.donated(i);
    if (!donated)
      continue;
    isDonated[*donated] = true;
    DeviceBuffer *buffer = arguments[*donated].buffer.get();
    if (buffer->consumed.exchange(true))
      status = donatedTwice(shape.input(*donated));
    else
      taken.push_back(buffer);
  }
  for (size_t i = 0; i < arguments.size(); ++i)
    if (!isDonated[i] && arguments[i].buffer && arguments[i].buffer->consumed)
      status = donatedTwice(shape.input(i));
  if (!status)
    for (DeviceBuffer *buffer : taken)
      buffer->consumed = false;
  return status;
}

Result<std::shared_ptr<BoundProgram>>
DeviceEngine::boundProgram(const ExecutablePtr &executable) const {
  Result<std::shared_ptr<Device>> opened = open();
  if (!opened)
    return opened.takeError();
  auto bound = std::dynamic_pointer_cast<BoundProgram>(executable);
  if (!bound || bound->program->home() != *opened)
    return invalid("the executable belongs to another device");
  return bound;
}

Result<std::vector<DeviceBufferPtr>>
DeviceEngine::enqueue(RunShape shape, std::vector<LaunchArgument> arguments,
                      const std::shared_ptr<Completion> &completion,
                      std::shared_ptr<const void> kept) {
  static Counter &launches = counter("execute.launches");
  using Clock = Completion::Clock;
  Clock::duration sinceLaunch = Clock::now() - state.handed.load();
  auto checked = checkArguments(shape, arguments);
  if (!checked)
    return checked.takeError();
  if (Status status = consume(shape, *checked); !status)
    return status.takeError();
  arguments.clear();

  if (!shape.bound->symbols.empty())
    ++shape.bound->runs;
  std::vector<DeviceBufferPtr> results;
  results.reserve(shape.results());
  for (size_t i = 0; i < shape.results(); ++i) {
    DeviceBufferPtr stays = shape.staying(i);
    results.push_back(stays ? std::move(stays)
                            : std::allocate_shared<DeviceBuffer>(
                                  Freelist<DeviceBuffer>(),
                                  shape.bound->results[shape.result(i)], this,
                                  completion));
  }
  std::vector<DeviceBufferPtr> handed = results;
  if (shape.prepared)
    shape.prepared->expect();
  auto limit = size_t(std::max<int64_t>(settings().max_in_flight, 1));
  if (!queue.push(std::make_unique<Launch>(state, std::move(shape),
                                           std::move(*checked),
                                           std::move(results), completion,
                                           std::move(kept), sinceLaunch),
                  limit))
    return open().takeError();
  state.handed = completion->handOver();
  launches.add();
  return handed;
}

Result<std::vector<BufferPtr>>
DeviceEngine::launch(const ExecutablePtr &executable,
                     std::vector<LaunchArgument> arguments,
                     std::shared_ptr<const void> kept) {
  auto bound = boundProgram(executable);
  if (!bound)
    return bound.takeError();
  auto results = enqueue({std::move(*bound)}, std::move(arguments),
                         std::make_shared<Completion>(), std::move(kept));
  if (!results)
    return results.takeError();
  return std::vector<BufferPtr>(std::make_move_iterator(results->begin()),
                                std::make_move_iterator(results->end()));
}

Result<Memory> DeviceEngine::allocate(Device &device, size_t bytes) {
  Result<Memory> memory = device.allocate(bytes);
  if (memory || memory.error().code != ErrorCode::OutOfMemory)
    return memory;
  // What is still queued holds memory that is free once it has run.
  queue.drain();
  return device.allocate(bytes);
}

std::vector<BufferPtr> DeviceEngine::fail(const std::vector<TensorType> &types,
                                          Error error,
                                          std::shared_ptr<const void> kept) {
  auto completion = std::make_shared<Completion>();
  completion->keep(std::move(kept));
  completion->finish(state.fail(std::move(error)));
  std::vector<BufferPtr> buffers;
  for (const TensorType &type : types)
    buffers.push_back(std::make_shared<DeviceBuffer>(type, this, completion));
  return buffers;
}

Result<BufferPtr> DeviceEngine::upload(const TensorType &type,
                                       const void *data) {
  Result<std::shared_ptr<Device>> opened = open();
  if (!opened)
    return opened.takeError();
  if (!type.isStatic())
    return invalid("cannot upload to the dynamic type " + type.str());
  size_t bytes = type.bytes();
  Result<Memory> memory = allocate(**opened, bytes);
  if (!memory)
    return memory.takeError();
  void *host = data ? memory->hostPointer() : nullptr;
  if (host)
    std::memcpy(host, data, bytes);
  const bool isThere = host || bytes == 0; // what is empty has no address
  auto buffer = std::make_shared<DeviceBuffer>(
      type, this,
      isThere ? Completion::ready() : std::make_shared<Completion>());
  buffer->memory = std::move(*memory);
  if (isThere)
    return BufferPtr(buffer);
  if (!queue.push(std::make_unique<Upload>(state, *opened, buffer,
                                           static_cast<const char *>(data))))
    return open().takeError();
  return BufferPtr(buffer);
}

Result<BufferPtr> DeviceEngine::copy(const BufferPtr &from,
                                     const LibraryMemory *to) {
  auto source = std::dynamic_pointer_cast<DeviceBuffer>(from);
  if (!source)
    return invalid("what is to be copied is no device's buffer");
  if (source->consumed)
    return invalid("the buffer of " + source->type().str() +
                   " was donated to an earlier launch");
  Result<std::shared_ptr<Device>> opened = open();
  if (!opened)
    return opened.takeError();
  size_t bytes = source->type().bytes();
  Result<Memory> memory =
      to ? (*opened)->import(*to, bytes) : allocate(**opened, bytes);
  if (!memory)
    return memory.takeError();
  auto buffer = std::make_shared<DeviceBuffer>(source->type(), this,
                                               std::make_shared<Completion>());
  buffer->memory = std::move(*memory);
  if (!queue.push(std::make_unique<DeviceCopy>(state, *opened, buffer,
                                               std::move(source))))
    return open().takeError();
  return BufferPtr(buffer);
}

template <typename Take>
Result<BufferPtr> DeviceEngine::readyBuffer(const TensorType &type, Take take) {
  Result<std::shared_ptr<Device>> opened = open();
  if (!opened)
    return opened.takeError();
  Result<Memory> memory = take(**opened, type.bytes());
  if (!memory)
    return memory.takeError();
  auto buffer = std::make_shared<DeviceBuffer>(type, this, Completion::ready());
  buffer->memory = std::move(*memory);
  return BufferPtr(buffer);
}

Result<BufferPtr> DeviceEngine::allocate(const TensorType &type) {
  return readyBuffer(type, [&](Device &device, size_t bytes) {
    return allocate(device, bytes);
  });
}

Result<BufferPtr> DeviceEngine::import(const TensorType &type, void *data) {
  return readyBuffer(type, [&](Device &device, size_t bytes) {
    return device.import(data, bytes);
  });
}

Result<BufferPtr> DeviceEngine::import(const TensorType &type,
                                       const LibraryMemory &there) {
  return readyBuffer(type, [&](Device &device, size_t bytes) {
    return device.import(there, bytes);
  });
}

bool DeviceEngine::isHost() const {
  Result<std::shared_ptr<Device>> opened = open();
  return opened && (*opened)->driverName() == "cpu";
}

Status DeviceEngine::download(const BufferPtr &buffer, void *data) {
  if (isForked())
    return forkedError();
  Result<DeviceBufferPtr> owned = own(buffer);
  if (!owned)
    return owned.takeError();
  if (Status status = buffer->wait(); !status)
    return status;
  // The buffer keeps its device open, also after close().
  const Memory &memory = (*owned)->memory;
  size_t bytes = buffer->type().bytes();
  if (!bytes)
    return {};
  if (const void *host = memory.hostPointer()) {
    std::memcpy(data, host, bytes);
    return {};
  }
  return memory.read(data, bytes);
}

Status DeviceEngine::synchronize() {
  if (isForked())
    return forkedError();
  queue.drain();
  if (FailurePtr failure = state.failures.takeFirstUnseen())
    return failure->error;
  return {};
}

Result<MarkerPtr> DeviceEngine::mark() {
  Result<std::shared_ptr<Device>> opened = open();
  if (!opened)
    return opened.takeError();
  auto made = std::make_shared<Mark>();
  if (!queue.push(std::make_unique<ReachMark>(state, *opened, made)))
    return open().takeError();
  return MarkerPtr(made);
}

Result<DeviceInfo> DeviceEngine::info() const {
  Result<std::shared_ptr<Device>> opened = open();
  if (!opened)
    return opened.takeError();
  return (*opened)->info();
}

MemoryStats DeviceEngine::memory() const {
  Result<std::shared_ptr<Device>> opened = open();
  return opened ? (*opened)->memory(false) : MemoryStats();
}

void DeviceEngine::resetPeakMemory() {
  if (Result<std::shared_ptr<Device>> opened = open())
    (*opened)->memory(true);
}

} // namespace ltc::runtime
