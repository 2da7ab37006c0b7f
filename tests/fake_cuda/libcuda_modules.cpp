//===- libcuda_modules.cpp - Code of the fake driver, and launches --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "fake_gpu.h"
#include "ptx.h"

#include <cstdio>
#include <cstring>
#include <vector>

using namespace fake_cuda;

struct CUmod_st {
  CUcontext context;
  Module module;
  std::map<std::string, CUfunc_st> functions;
};

struct CUfunc_st {
  CUmodule module;
  const Function *function;
  std::string name;
};

namespace {

std::atomic<int> launches = 0;

/// Looks for the last few places at once: a kernel has few.
class Memory {
public:
  char *operator()(uint64_t address, size_t bytes) {
    for (const Known &one : known)
      if (address >= one.begin && address + bytes <= one.end)
        return one.place + (address - one.begin);
    char *place = findMemory(address, bytes);
    if (!place)
      return nullptr;
    // As much of it as surely belongs together.
    constexpr size_t chunk = 256;
    uint64_t begin = address / chunk * chunk;
    uint64_t end = (address + bytes + chunk - 1) / chunk * chunk;
    known[next++ % std::size(known)] = {begin, end, place - (address - begin)};
    return place;
  }

private:
  struct Known {
    uint64_t begin = 0, end = 0;
    char *place = nullptr;
  };
  Known known[8];
  size_t next = 0;
};

CUresult runKernel(const CUfunc_st &function, unsigned blocks, unsigned threads,
                   const std::vector<char> &parameters) {
  if (++launches == options().lose_at)
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  auto fault = run(function.module->module, *function.function, function.name,
                   blocks, threads, parameters.data(), Memory());
  if (!fault)
    return CUDA_SUCCESS;
  std::fprintf(stderr, "fake_cuda: %s\n", fault->c_str());
  return fault->find("address") != fault->npos ? CUDA_ERROR_ILLEGAL_ADDRESS
                                               : CUDA_ERROR_LAUNCH_FAILED;
}

} // namespace

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count,
                            CUjit_option *jitOptions, void **values) {
  if (CUresult result = check(); result != CUDA_SUCCESS)
    return result;
  auto made = std::make_unique<CUmod_st>();
  made->context = currentContext();
  std::string_view text = static_cast<const char *>(image);
  if (text.find(".version") == text.npos)
    return CUDA_ERROR_INVALID_IMAGE;
  Heap &heap = made->context->heap;
  auto wrong = parse(
      text,
      [&](size_t bytes) {
        uint64_t address = heap.allocate(bytes);
        std::memset(heap.find(address, bytes), 0, bytes);
        return address;
      },
      made->module);
  if (wrong) {
    for (unsigned i = 0; i + 1 < count; ++i)
      if (jitOptions[i] == CU_JIT_ERROR_LOG_BUFFER)
        std::snprintf(static_cast<char *>(values[i]),
                      reinterpret_cast<size_t>(values[i + 1]), "%s",
                      wrong->c_str());
    return CUDA_ERROR_INVALID_PTX;
  }
  for (const auto &[name, function] : made->module.functions)
    if (function.isEntry)
      made->functions[name] = {made.get(), &function, name};
  *module = made.release();
  return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module) {
  for (const auto &[name, global] : module->module.globals)
    module->context->heap.free(global.first);
  delete module;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                             const char *name) {
  auto found = module->functions.find(name);
  if (found == module->functions.end())
    return CUDA_ERROR_NOT_FOUND;
  *function = &found->second;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes,
                              CUmodule module, const char *name) {
  auto found = module->module.globals.find(name);
  if (found == module->module.globals.end())
    return CUDA_ERROR_NOT_FOUND;
  *address = found->second.first;
  *bytes = found->second.second;
  return CUDA_SUCCESS;
}

CUresult fake_cuda::makeLaunch(CUcontext context, CUfunction function,
                               const Grid &grid, void **parameters,
                               void **extra, Work &work) {
  const Function &code = *function->function;
  auto [x, y, z] = grid.blocks;
  auto [threads, threadsY, threadsZ] = grid.threads;
  if (!x || x > INT32_MAX || y != 1 || z != 1 || !threads || threads > 1024 ||
      threadsY != 1 || threadsZ != 1 || grid.sharedBytes || extra ||
      (code.threads && code.threads != threads) ||
      function->module->context != context)
    return CUDA_ERROR_INVALID_VALUE;
  auto *bytes = static_cast<char *>(parameters[0]);
  std::vector<char> own(bytes, bytes + code.parameterBytes);
  work = [=, x = x, threads = threads, own = std::move(own)] {
    return runKernel(*function, x, threads, own);
  };
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY,
                        unsigned gridZ, unsigned blockX, unsigned blockY,
                        unsigned blockZ, unsigned sharedBytes, CUstream stream,
                        void **parameters, void **extra) {
  if (CUresult result = check(stream); result != CUDA_SUCCESS)
    return result;
  Work work;
  CUresult result =
      makeLaunch(stream->context, function,
                 {{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes},
                 parameters, extra, work);
  if (result == CUDA_SUCCESS)
    stream->push(std::move(work));
  return result;
}
