//===- process.cpp - The devices of this process ----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/engine.h"
#include "engine/mark.h"
#include "engine/resident.h"

#include "cache/compiler_note.h"
#include "device/plugin_list.h"

#include <cstdlib>
#include <dlfcn.h>
#include <pthread.h>

namespace ltc {

using namespace runtime;

namespace {

std::atomic<bool> opened = false; ///< some device has been open
std::atomic<bool> forked = false;

struct Process {
  std::mutex mutex;
  std::vector<std::unique_ptr<DeviceEngine>> engines; ///< by ordinal
  /// Closed ones: callers may still hold a pointer.
  std::vector<std::unique_ptr<DeviceEngine>> closed;
  bool exiting = false;
};

// Never destroyed: buffers in static variables outlive everything.
Process &process() {
  static auto *process = new Process;
  return *process;
}

Error executeError(ErrorCode code, std::string message, std::string hint = "") {
  return {code, Stage::Execute, std::move(message), "", {}, std::move(hint)};
}

Result<Compiler *> loadCompiler() {
  std::string path = siblingLibrary("libltc_compiler.so");
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return executeError(ErrorCode::CompileFailed,
                        std::string("cannot load the compiler: ") + dlerror(),
                        "build the target ltc_compiler, or reinstall");
  auto get = reinterpret_cast<decltype(&ltc_compiler_get)>(
      dlsym(library, "ltc_compiler_get"));
  if (!get)
    return executeError(ErrorCode::CompileFailed,
                        path + " is not the compiler: it has no symbol "
                               "ltc_compiler_get");
  Compiler *compiler = get();
  releaseCode(path); // what only loading it needs
  return compiler;
}

/// Read at the first graph of the process, like its settings.
std::string processCompilerIdentity() {
  static const auto *identity = new std::string(
      readCompilerNote(siblingLibrary("libltc_compiler.so")).value_or(""));
  return *identity;
}

/// Before the compiler's own variables go, which were made later than the first
/// handler was registered.
void stopBackgroundAtExit() {
  if (isForked())
    return;
  std::lock_guard lock(process().mutex);
  for (std::unique_ptr<DeviceEngine> &engine : process().engines)
    if (engine)
      engine->stopBackground();
}

} // namespace

Result<Compiler *> runtime::processCompiler() {
  static std::mutex mutex;
  static Compiler *compiler = nullptr;
  std::lock_guard lock(mutex);
  if (compiler)
    return compiler;
  Result<Compiler *> loaded = loadCompiler();
  if (loaded) {
    compiler = *loaded;
    std::atexit(stopBackgroundAtExit);
  }
  return loaded;
}

namespace {

void shutdownAtExit() {
  if (isForked())
    return;
  {
    std::lock_guard lock(process().mutex);
    process().exiting = true;
  }
  shutdown();
}

void registerHandlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(nullptr, nullptr, [] { forked = opened.load(); });
    std::atexit(shutdownAtExit);
  });
}

Result<std::unique_ptr<DeviceEngine>> openEngine(uint32_t ordinal) {
  Result<DevicePlace> place = placeOfDevice(ordinal);
  if (!place)
    return place.takeError();
  registerHandlers();
  keepFreedHeap();
  Result<Device::Options> options = optionsFor(*place->driver);
  if (!options)
    return options.takeError();
  Result<std::shared_ptr<Device>> device =
      Device::open(*place->driver, place->ordinal, *options);
  if (!device)
    return device.takeError();
  opened = true;
  return std::make_unique<DeviceEngine>(
      std::move(*device),
      CompilerSource{processCompiler, processCompilerIdentity});
}

} // namespace

bool isForked() { return forked.load(std::memory_order_relaxed); }

Error runtime::forkedError() {
  return executeError(ErrorCode::DeviceFailed,
                      "this process was forked after its parent opened a lazy "
                      "device, and cannot use it",
                      "start worker processes with the methods spawn or "
                      "forkserver, or before the first lazy tensor");
}

Result<uint32_t> deviceCount() {
  if (isForked())
    return forkedError();
  return countDevices();
}

static Result<DeviceEngine *> deviceEngine(uint32_t ordinal) {
  if (isForked())
    return forkedError();
  Process &all = process();
  std::lock_guard lock(all.mutex);
  if (ordinal < all.engines.size() && all.engines[ordinal])
    return all.engines[ordinal].get();
  if (all.exiting)
    return executeError(ErrorCode::DeviceFailed, "the process is exiting");
  Result<std::unique_ptr<DeviceEngine>> engine = openEngine(ordinal);
  if (!engine)
    return engine.takeError();
  if (all.engines.size() <= ordinal)
    all.engines.resize(ordinal + 1);
  all.engines[ordinal] = std::move(*engine);
  return all.engines[ordinal].get();
}

Result<Engine *> engineFor(uint32_t ordinal) {
  Result<DeviceEngine *> engine = deviceEngine(ordinal);
  if (!engine)
    return engine.takeError();
  return *engine;
}

Result<DeviceInfo> deviceInfo(uint32_t device) {
  Result<DeviceEngine *> engine = deviceEngine(device);
  return engine ? (*engine)->info() : engine.takeError();
}

std::vector<uint32_t> openDevices() {
  std::vector<uint32_t> found;
  std::lock_guard lock(process().mutex);
  for (size_t i = 0; i < process().engines.size() && !isForked(); ++i)
    if (process().engines[i])
      found.push_back(uint32_t(i));
  return found;
}

Result<BufferPtr> copyToDevice(uint32_t device, const BufferPtr &from) {
  Result<DeviceEngine *> engine = deviceEngine(device);
  return engine ? (*engine)->copy(from) : engine.takeError();
}

Result<BufferPtr> copyFromLibrary(uint32_t device, const TensorType &type,
                                  const LibraryMemory &from) {
  Result<DeviceEngine *> engine = deviceEngine(device);
  if (!engine)
    return engine.takeError();
  Result<BufferPtr> there = (*engine)->import(type, from);
  return there ? (*engine)->copy(*there) : there;
}

Result<BufferPtr> copyToLibrary(const BufferPtr &from, uint32_t device,
                                const LibraryMemory &to) {
  Result<DeviceEngine *> engine = deviceEngine(device);
  return engine ? (*engine)->copy(from, &to) : engine.takeError();
}

Result<std::string> lowerGraph(const Graph &graph, LoweredForm form) {
  Result<Compiler *> compiler = processCompiler();
  return compiler ? (*compiler)->lower(graph, form) : compiler.takeError();
}

double secondsBetween(const Marker &start, const Marker &end) {
  auto *first = dynamic_cast<const Mark *>(&start);
  auto *second = dynamic_cast<const Mark *>(&end);
  if (first && second)
    if (std::optional<double> seconds = second->secondsSince(*first))
      return *seconds;
  return std::chrono::duration<double>(end.time() - start.time()).count();
}

void shutdown() {
  if (isForked())
    return;
  Process &all = process();
  std::vector<std::unique_ptr<DeviceEngine>> engines;
  {
    std::lock_guard lock(all.mutex);
    engines.swap(all.engines);
  }
  for (std::unique_ptr<DeviceEngine> &engine : engines)
    if (engine)
      engine->close();
  std::lock_guard lock(all.mutex);
  for (std::unique_ptr<DeviceEngine> &engine : engines)
    all.closed.push_back(std::move(engine));
}

} // namespace ltc
