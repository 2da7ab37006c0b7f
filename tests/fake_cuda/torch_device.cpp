//===- torch_device.cpp - PyTorch's CUDA, where it has none ---------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a PyTorch built for CUDA registers, over the GPUs of this folder:
// streams and events, memory, generators. A program loads it before torch. The
// kernels are in torch_kernels.cpp.
//
//===----------------------------------------------------------------------===//
#include "torch_device.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/GraphImplInterface.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/Allocator.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <torch/library.h>

#include <algorithm>
#include <mutex>

namespace fake_cuda {

namespace {

using c10::Device, c10::Stream;

void check(CUresult result) {
  const char *text = "";
  cuGetErrorString(result, &text);
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory");
  TORCH_CHECK(result == CUDA_SUCCESS, "CUDA error: ", text);
}

/// One GPU as PyTorch uses it; lives as long as the process.
struct Gpu {
  CUcontext context = nullptr;
  CUstream stream = nullptr; ///< the default one
};

Gpu &gpu(c10::DeviceIndex index) {
  static std::mutex mutex;
  static auto &all = *new std::map<int, Gpu>;
  std::lock_guard lock(mutex);
  Gpu &one = all[index];
  if (!one.context) {
    check(cuInit(0));
    check(cuDevicePrimaryCtxRetain(&one.context, index));
    cuCtxPushCurrent_v2(one.context);
    check(cuStreamCreate(&one.stream, 0));
    CUcontext popped;
    cuCtxPopCurrent_v2(&popped);
  }
  return one;
}

thread_local c10::DeviceIndex currentIndex = 0;
thread_local std::map<int, c10::StreamId> currentStreams; ///< 0: the default

struct Entered {
  explicit Entered(c10::DeviceIndex index) {
    check(cuCtxPushCurrent_v2(gpu(index).context));
  }
  ~Entered() {
    CUcontext popped;
    cuCtxPopCurrent_v2(&popped);
  }
};

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return c10::kCUDA; }
  Device exchangeDevice(Device device) const override {
    Device before = getDevice();
    currentIndex = device.index();
    return before;
  }
  Device getDevice() const override { return {c10::kCUDA, currentIndex}; }
  void setDevice(Device device) const override {
    currentIndex = device.index();
  }
  void uncheckedSetDevice(Device device) const noexcept override {
    currentIndex = device.index();
  }
  Stream getStream(Device device) const override {
    return Stream(Stream::UNSAFE, device, currentStreams[device.index()]);
  }
  Stream getDefaultStream(Device device) const override {
    return Stream(Stream::UNSAFE, device, 0);
  }
  Stream getStreamFromGlobalPool(Device device, bool) const override {
    return getDefaultStream(device);
  }
  Stream exchangeStream(Stream stream) const override {
    c10::StreamId &current = currentStreams[stream.device_index()];
    Stream before(Stream::UNSAFE, stream.device(), current);
    current = stream.id();
    return before;
  }
  void *getStreamNativeHandle(const Stream stream) const override {
    return streamOf(stream);
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    int count = 0;
    cuInit(0);
    cuDeviceGetCount(&count);
    return c10::DeviceIndex(count);
  }
  void synchronizeStream(const Stream &stream) const override {
    Entered entered(stream.device_index());
    check(cuStreamSynchronize(streamOf(stream)));
  }
  void record(void **event, const Stream &stream, const c10::DeviceIndex,
              const c10::EventFlag) const override {
    Entered entered(stream.device_index());
    auto *made = static_cast<CUevent>(*event);
    if (!made)
      check(cuEventCreate(&made, 0));
    *event = made;
    check(cuEventRecord(made, streamOf(stream)));
  }
  void block(void *event, const Stream &stream) const override {
    Entered entered(stream.device_index());
    check(cuStreamWaitEvent(streamOf(stream), static_cast<CUevent>(event), 0));
  }
  void destroyEvent(void *event,
                    const c10::DeviceIndex) const noexcept override {
    if (event)
      cuEventDestroy_v2(static_cast<CUevent>(event));
  }
  bool queryEvent(void *event) const override {
    return cuEventQuery(static_cast<CUevent>(event)) != CUDA_ERROR_NOT_READY;
  }
  void synchronizeEvent(void *event) const override {
    check(cuEventSynchronize(static_cast<CUevent>(event)));
  }
  void synchronizeDevice(const c10::DeviceIndex index) const override {
    synchronizeStream(getDefaultStream({c10::kCUDA, index}));
  }
};

/// While a stream captures, memory for it comes from a pool, and goes back
/// there. A pool stays while a graph has it.
class Pools {
public:
  using Id = c10::MempoolId_t;

  Id begin(Id id, unsigned long long capture) {
    std::lock_guard lock(mutex);
    if (id == Id{0, 0})
      id = {++last, 0};
    else
      TORCH_CHECK(all.contains(id), "the pool has ended");
    ++all[id].graphs;
    routes[capture] = id;
    return id;
  }
  void end(Id id) {
    std::lock_guard lock(mutex);
    std::erase_if(routes, [&](auto &route) { return route.second == id; });
  }
  void release(Id id) {
    std::lock_guard lock(mutex);
    if (--all[id].graphs)
      return;
    for (auto [address, bytes] : all[id].free)
      cuMemFree_v2(address);
    all.erase(id);
  }
  /// For a stream that captures.
  CUdeviceptr allocate(unsigned long long capture, size_t bytes) {
    std::lock_guard lock(mutex);
    auto route = routes.find(capture);
    TORCH_CHECK(route != routes.end(), "memory of a capture without a pool");
    Pool &pool = all[route->second];
    auto found = std::ranges::find(pool.free, bytes, &Piece::bytes);
    CUdeviceptr address = 0;
    if (found != pool.free.end()) {
      address = found->address;
      pool.free.erase(found);
    } else {
      bool before = fakeCudaRelax(true);
      CUresult result = cuMemAlloc_v2(&address, bytes);
      fakeCudaRelax(before);
      check(result);
    }
    owners[address] = {route->second, bytes};
    return address;
  }
  /// Whether it is a pool's.
  bool free(CUdeviceptr address) {
    std::lock_guard lock(mutex);
    auto owner = owners.find(address);
    if (owner == owners.end())
      return false;
    auto [id, bytes] = owner->second;
    owners.erase(owner);
    all[id].free.push_back({address, bytes});
    return true;
  }
  int64_t open() {
    std::lock_guard lock(mutex);
    return int64_t(routes.size());
  }

private:
  struct Piece {
    CUdeviceptr address;
    size_t bytes;
  };
  struct Pool {
    int graphs = 0;
    std::vector<Piece> free;
  };
  std::mutex mutex;
  std::map<Id, Pool> all;
  std::map<unsigned long long, Id> routes; ///< by capture
  std::map<CUdeviceptr, std::pair<Id, size_t>> owners;
  unsigned long long last = 0;
};

Pools &pools() {
  static auto &all = *new Pools;
  return all;
}

CUstream currentStream(c10::DeviceIndex index) {
  return streamOf(Guard().getStream(Device(c10::kCUDA, index)));
}

struct Memory final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    Entered entered(currentIndex);
    CUdeviceptr address = 0;
    if (auto capture = fakeCudaCapture(currentStream(currentIndex)); !bytes)
      address = 0;
    else if (capture)
      address = pools().allocate(capture, bytes);
    else
      check(cuMemAlloc_v2(&address, bytes));
    auto *data = reinterpret_cast<void *>(address);
    return {data, data, &release, Device(c10::kCUDA, currentIndex)};
  }
  void copy_data(void *to, const void *from, size_t bytes) const override {
    std::memcpy(hostAddress(to, bytes), hostAddress(from, bytes), bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }

private:
  static void release(void *data) {
    auto address = reinterpret_cast<CUdeviceptr>(data);
    if (!data || pools().free(address))
      return;
    for (int i = 0; i < Guard().deviceCount(); ++i) {
      Entered entered{c10::DeviceIndex(i)};
      if (cuMemFree_v2(address) == CUDA_SUCCESS)
        return;
    }
  }
};

/// As PyTorch's: where the device's capture ends badly, what it has begun with
/// its own allocator stays as it is.
struct Graph final : at::GraphImplInterface {
  explicit Graph(const at::GraphImplArgs &arguments) {
    TORCH_CHECK(arguments.keep_graph, "nobody would launch it");
  }
  ~Graph() override {
    try {
      reset();
    } catch (const c10::Error &) { // the GPU is lost, and all on it
    }
  }
  void capture_begin(c10::MempoolId_t wanted,
                     at::GraphCaptureMode mode) override {
    TORCH_CHECK(mode == at::GraphCaptureMode::ThreadLocal, "not thread-local");
    index = currentIndex;
    Entered entered(index);
    stream = currentStream(index);
    TORCH_CHECK(stream != gpu(index).stream, "it is the default stream");
    check(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    id = pools().begin(wanted, fakeCudaCapture(stream));
  }
  void capture_end() override {
    TORCH_CHECK(stream == currentStream(currentIndex), "another stream");
    Entered entered(index);
    check(cuStreamEndCapture(stream, &graph));
    pools().end(id);
    hasEnded = true;
    size_t count = 0;
    check(cuGraphGetNodes(graph, nullptr, &count));
    if (!count) {
      TORCH_WARN("The CUDA Graph is empty.");
    }
  }
  void instantiate() override { TORCH_CHECK(false, "nobody launches it"); }
  void replay() override { instantiate(); }
  void reset() override {
    if (!hasEnded)
      return;
    Entered entered(index);
    pools().release(id);
    cuGraphDestroy(graph);
    hasEnded = false;
  }
  c10::MempoolId_t pool() const override { return id; }
  void enable_debug_mode() override {}
  void debug_dump(const std::string &) override {}

  c10::DeviceIndex index = 0;
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  c10::MempoolId_t id = {0, 0};
  bool hasEnded = false;
};

struct Hooks final : at::CUDAHooksInterface {
  explicit Hooks(at::CUDAHooksArgs) {}
  void init() const override { gpu(0); }
  bool hasCUDA() const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override {
    return Guard().deviceCount();
  }
  c10::DeviceIndex getCurrentDevice() const override { return currentIndex; }
  c10::DeviceIndex current_device() const override { return currentIndex; }
  const at::Generator &
  getDefaultGenerator(c10::DeviceIndex index) const override {
    static auto &all = *new std::map<int, at::Generator>;
    at::Generator &one = all[std::max<int>(index, 0)];
    if (!one.defined())
      one = getNewGenerator(index);
    return one;
  }
  at::Generator getNewGenerator(c10::DeviceIndex index) const override {
    return at::make_generator<Generator>(index,
                                         at::detail::createCPUGenerator());
  }
};

} // namespace

CUstream streamOf(c10::Stream stream) {
  auto *handle = reinterpret_cast<CUstream>(stream.id());
  return handle ? handle : gpu(stream.device_index()).stream;
}

bool isCapturing(Device device) {
  return fakeCudaCapture(currentStream(device.index())) != 0;
}

void await(Device device) {
  Guard guard;
  guard.synchronizeStream(guard.getStream(device));
}

void enqueue(Device device, std::function<void()> work) {
  if (!isCapturing(device)) {
    await(device);
    return work();
  }
  // Who launches it is not known: it stays.
  auto *kept = new std::function<void()>(std::move(work));
  fakeCudaQueue(
      currentStream(device.index()),
      [](void *argument) {
        c10::InferenceMode inference; // on the stream's own thread
        (*static_cast<std::function<void()> *>(argument))();
      },
      kept);
}

void *hostAddress(const void *address, size_t bytes) {
  if (!bytes)
    return nullptr;
  void *found =
      fakeCudaHostAddress(reinterpret_cast<CUdeviceptr>(address), bytes);
  TORCH_CHECK(found, "CUDA error: an illegal memory access was encountered");
  return found;
}

C10_REGISTER_GUARD_IMPL(CUDA, Guard);

/// How many captures PyTorch's allocator still thinks of.
TORCH_LIBRARY_FRAGMENT(fake_cuda, library) {
  library.def("open_captures() -> int", [] { return pools().open(); });
}

namespace {
const bool isRegistered = [] {
  static Memory memory;
  c10::SetAllocator(c10::kCUDA, &memory);
  at::GraphImplRegistry()->Register("CUDA", [](at::GraphImplArgs arguments) {
    return std::unique_ptr<at::GraphImplInterface>(new Graph(arguments));
  });
  at::CUDAHooksRegistry()->Register(
      "CUDAHooks", [](at::CUDAHooksArgs arguments) {
        return std::unique_ptr<at::CUDAHooksInterface>(new Hooks(arguments));
      });
  return true;
}();
} // namespace

} // namespace fake_cuda
