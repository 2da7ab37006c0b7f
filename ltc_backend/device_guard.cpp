//===- device_guard.cpp - What PyTorch asks of the current device ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/device_guard.h"

#include "ltc_backend/lazy_device.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace ltc::backend {
using c10::Device;
using c10::Stream;

namespace {
struct Guard final : c10::impl::DeviceGuardImplInterface {
  explicit Guard(const DeviceGuardImplInterface &stock) : stock(stock) {}

  Device getDevice() const override {
    Device device = stock.getDevice();
    return device.has_index()
               ? device
               : Device(device.type(), c10::DeviceIndex(currentDevice()));
  }

  c10::DeviceType type() const override { return stock.type(); }
  // Without a number again where a guard ends.
  Device exchangeDevice(Device device) const override {
    return stock.exchangeDevice(device);
  }
  void setDevice(Device device) const override { stock.setDevice(device); }
  void uncheckedSetDevice(Device device) const noexcept override {
    stock.uncheckedSetDevice(device);
  }
  Stream getStream(Device device) const override {
    return stock.getStream(device);
  }
  Stream getDefaultStream(Device device) const override {
    return stock.getDefaultStream(device);
  }
  Stream exchangeStream(Stream stream) const override {
    return stock.exchangeStream(stream);
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    return stock.deviceCount();
  }
  void record(void **event, const Stream &stream, c10::DeviceIndex device,
              c10::EventFlag flag) const override {
    stock.record(event, stream, device, flag);
  }
  void block(void *event, const Stream &stream) const override {
    stock.block(event, stream);
  }
  bool queryEvent(void *event) const override {
    return stock.queryEvent(event);
  }

private:
  const DeviceGuardImplInterface &stock;
};
} // namespace

void numberCurrentDevice() {
  // Never destroyed, as PyTorch asks of guards.
  static const auto *guard =
      new Guard(*c10::impl::getDeviceGuardImpl(c10::DeviceType::Lazy));
  c10::impl::device_guard_impl_registry[size_t(c10::DeviceType::Lazy)].store(
      guard);
}

} // namespace ltc::backend
