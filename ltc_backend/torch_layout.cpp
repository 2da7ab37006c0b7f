//===- torch_layout.cpp - Whether private members are where they were -----===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What would be a pointer of garbage is read as a number before it is followed.
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/torch_layout.h"

#include "ltc_backend/lazy_device.h"
#include "ltc_backend/torch_private.h"

#include <ATen/EmptyTensor.h>
#include <torch/csrc/lazy/core/tensor.h>

#include <cstring>

namespace ltc::backend {
using c10::DispatchKey;
namespace functional = at::functionalization;

namespace {
using Readings = std::vector<LayoutReading>;

uint64_t address(const void *pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

/// The first word of an object that holds one pointer.
template <typename T> uint64_t word(const T &object) {
  uint64_t value;
  std::memcpy(&value, static_cast<const void *>(&object), sizeof value);
  return value;
}

at::Tensor oneNumber() { return at::detail::empty_cpu({1}, at::kFloat); }

void readWrapper(Readings &readings) {
  at::Tensor tensor = functional::impl::to_functional_tensor(oneNumber());
  auto &wrapper = *functional::impl::unsafeGetFunctionalWrapper(tensor);
  at::Tensor inside = functional::impl::from_functional_tensor(tensor);
  readings.push_back({"FunctionalTensorWrapper::value_",
                      word(insideOf(wrapper)),
                      address(inside.unsafeGetTensorImpl())});
  readings.push_back({"FunctionalTensorWrapper::view_metas_",
                      address(&metasOf(wrapper)),
                      address(&wrapper.view_metas())});

  auto &storage = static_cast<functional::FunctionalStorageImpl &>(
      *wrapper.unsafe_storage().unsafeGetStorageImpl());
  size_t before = generationOf(storage);
  wrapper.commit_update();
  readings.push_back({"FunctionalStorageImpl::generation_",
                      generationOf(storage) - before, 1});
  bool wasCurrent = wrapper.is_up_to_date();
  size_t taken = std::exchange(generationOf(wrapper), generationOf(storage));
  readings.push_back({"FunctionalTensorWrapper::generation_",
                      taken == before && !wasCurrent && wrapper.is_up_to_date(),
                      1});
}

void readDispatcher(Readings &readings) {
  auto &dispatcher = c10::Dispatcher::singleton();
  auto op = dispatcher.findSchema({"aten::relu", ""});
  if (!op) {
    readings.push_back({"Dispatcher", 0, 1});
    return;
  }
  const c10::impl::OperatorEntry &entry = entryOf(*op);
  uint64_t keys = 0;
  for (auto key = uint16_t(DispatchKey::Undefined);
       key <= uint16_t(DispatchKey::EndOfAliasKeys); ++key)
    keys += entry.hasKernelForDispatchKey(DispatchKey(key));
  readings.push_back(
      {"OperatorEntry::kernels_", kernelsOf(entry).size(), keys});

  auto hasFallback = [&](DispatchKey key) {
    int index = c10::getDispatchTableIndexForDispatchKey(key);
    return fallbacksOf(dispatcher)[index].kernel.isValid();
  };
  readings.push_back({"Dispatcher::backendFallbackKernels_",
                      hasFallback(DispatchKey::AutogradCPU) &&
                          hasFallback(DispatchKey::Python) &&
                          !hasFallback(DispatchKey::CPU),
                      1});
}

void readLibrary(Readings &readings) {
  torch::Library library(torch::Library::IMPL, "aten", DispatchKey::Lazy,
                         __FILE__, __LINE__);
  auto key = keyOf(library);
  readings.push_back({"Library::dispatch_key_",
                      uint64_t(key.value_or(DispatchKey::Undefined)),
                      uint64_t(DispatchKey::Lazy)});
  readings.push_back({"RegistrationHandleRAII::onDestruction_",
                      sizeof(c10::RegistrationHandleRAII),
                      sizeof(std::function<void()>)});
}

struct Carrier final : torch::lazy::LazyTensor {
  explicit Carrier(std::shared_ptr<Data> data) : LazyTensor(std::move(data)) {}
  static Carrier ofOneNumber() {
    // Never destroyed: that asks for an executor, and none may be there yet.
    static auto *data = new std::shared_ptr<Data>(
        std::make_shared<Data>(oneNumber(), backendDevice(0)));
    return Carrier(*data);
  }
};

void readLazyTensor(Readings &readings) {
  at::Tensor tensor(
      c10::make_intrusive<torch::lazy::LTCTensorImpl>(Carrier::ofOneNumber()));
  auto &impl =
      static_cast<torch::lazy::LTCTensorImpl &>(*tensor.unsafeGetTensorImpl());
  readings.push_back({"LTCTensorImpl::tensor_", address(&lazyTensorOf(impl)),
                      address(torch::lazy::TryGetLtcTensor(tensor).get())});
}
} // namespace

std::vector<LayoutReading> readLayouts() {
  Readings readings;
  readWrapper(readings);
  readDispatcher(readings);
  readLibrary(readings);
  readLazyTensor(readings);
  return readings;
}

Status judgeLayouts(const std::vector<LayoutReading> &readings) {
  constexpr const char *version =
      C10_STRINGIZE(TORCH_VERSION_MAJOR) "." C10_STRINGIZE(
          TORCH_VERSION_MINOR) "." C10_STRINGIZE(TORCH_VERSION_PATCH);
  for (const LayoutReading &reading : readings)
    if (reading.found != reading.wanted)
      return Error{ErrorCode::Unsupported,
                   Stage::Record,
                   std::string(reading.member) +
                       " is elsewhere in this PyTorch than in " + version +
                       ", which torch_ltc was built with",
                   "",
                   {},
                   std::string("pip install torch==") + version +
                       ", or build torch_ltc with this PyTorch"};
  return {};
}

} // namespace ltc::backend
