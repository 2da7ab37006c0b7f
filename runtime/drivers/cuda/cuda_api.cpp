//===- cuda_api.cpp - NVIDIA's driver, found when it is needed ------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cuda_api.h"

#include <cstdlib>
#include <dlfcn.h>

namespace ltc::cuda {

namespace {

/// The PTX that the compiler writes is of this version's language, 8.0.
constexpr int kOldestVersion = 12000;

Api loaded;
int version = 0;
bool graphs = true;

std::string dotted(int number) {
  return std::to_string(number / 1000) + "." +
         std::to_string(number % 1000 / 10);
}

Outcome tooOld(const std::string &why) {
  return Fault{LTC_DEVICE_FAILED, "the NVIDIA driver is too old: " + why +
                                      ", and CUDA " + dotted(kOldestVersion) +
                                      " (driver 525) or later is needed"};
}

Outcome load() {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return Fault{LTC_DEVICE_FAILED,
                 std::string("there is no NVIDIA driver here: ") + dlerror() +
                     "; LTC_DEVICE=cpu needs none"};
  std::string missing;
#define LTC_CUDA(name, symbol, parameters)                                     \
  loaded.name =                                                                \
      reinterpret_cast<decltype(loaded.name)>(dlsym(library, #symbol));        \
  if (!loaded.name && missing.empty())                                         \
    missing = #symbol;
#define LTC_CUDA_OPTIONAL(name, symbol, parameters)                            \
  loaded.name =                                                                \
      reinterpret_cast<decltype(loaded.name)>(dlsym(library, #symbol));        \
  graphs &= loaded.name != nullptr;
#include "cuda_api.def"
#undef LTC_CUDA
  if (loaded.cuDriverGetVersion)
    loaded.cuDriverGetVersion(&version);
  if (version < kOldestVersion && version > 0)
    return tooOld("it serves CUDA " + dotted(version));
  if (!missing.empty())
    return tooOld("it has no " + missing);
  return std::nullopt;
}

Outcome loadAndInit() {
  if (Outcome outcome = load())
    return outcome;
  CUresult result = loaded.cuInit(0);
  if (result == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH ||
      result == CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE)
    return Fault{LTC_DEVICE_FAILED,
                 "there are two versions of CUDA here: libcuda.so.1 is for " +
                     dotted(version) +
                     ", and the driver in the kernel is another that it cannot "
                     "use; restart after an update of the driver, or take the "
                     "folder of cuda-compat from LD_LIBRARY_PATH"};
  if (result != CUDA_ERROR_NO_DEVICE)
    return outcomeOf(result, "start the NVIDIA driver");
  const char *visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return Fault{LTC_DEVICE_FAILED,
               "the NVIDIA driver finds no GPU" +
                   (visible ? ", and CUDA_VISIBLE_DEVICES is '" +
                                  std::string(visible) + "'"
                            : std::string())};
}

/// After these a context does no more work, this process's own torch included.
bool endsContext(CUresult result) {
  return result == CUDA_ERROR_ECC_UNCORRECTABLE ||
         (result >= CUDA_ERROR_ILLEGAL_ADDRESS && result < 800);
}

} // namespace

Outcome start() {
  static const Outcome *outcome = new Outcome(loadAndInit());
  return *outcome;
}

const Api &api() { return loaded; }

bool hasGraphs() { return graphs; }

int driverVersion() { return version; }

Outcome outcomeOf(CUresult result, const char *what) {
  if (result == CUDA_SUCCESS)
    return std::nullopt;
  const char *name = nullptr, *text = nullptr;
  loaded.cuGetErrorName(result, &name);
  loaded.cuGetErrorString(result, &text);
  std::string message = "the GPU could not " + std::string(what) + ": " +
                        (text ? text : "unknown error") + " (" +
                        (name ? name : std::to_string(result)) + ")";
  if (endsContext(result))
    message += "; the process can use this GPU no more and is to be started "
               "again";
  return Fault{result == CUDA_ERROR_OUT_OF_MEMORY ? LTC_OUT_OF_MEMORY
                                                  : LTC_DEVICE_FAILED,
               std::move(message)};
}

} // namespace ltc::cuda
