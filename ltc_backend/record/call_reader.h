//===- record/call_reader.h - Operands and key of one call ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/profile.h"
#include "ltc_backend/lazy_device.h"
#include "ltc_backend/tensors/op_info.h"
#include "ltc_backend/tensors/pending.h"

#include <ATen/core/IListRef.h>
#include <c10/core/SymIntArrayRef.h>
#include <torch/csrc/lazy/core/tensor_impl.h>

namespace ltc::backend {

/// In the words of TensorIterator: of a tensor that is not on the device.
[[noreturn]] void raiseTwoDevices(const std::string &op, int64_t device,
                                  const at::Tensor &elsewhere);

/// Collects the operands of one call and the key of its CallShape. In two
/// steps: what may run other code comes first, what needs the pending list's
/// lock second. The arguments must outlive it.
class CallReader {
  profile::Timed timed{profile::Part::Record}; // first: to read takes time

public:
  /// Without a lock.
  LTC_API CallReader(const OpInfo &info, c10::ArrayRef<c10::IValue> arguments);
  /// The same of unboxed arguments: to box a tensor, its Python object is
  /// taken hold of, and that is done with the GIL.
  template <typename... Args>
  CallReader(const OpInfo &info, const at::Tensor &first, const Args &...rest)
      : info(info) {
    readTensor(first);
    size_t i = 1;
    (readUnboxed(i++, rest), ...);
  }
  template <typename... Args>
  CallReader(const OpInfo &info, const at::ITensorListRef &first,
             const Args &...rest)
      : info(info) {
    readTensors(first);
    size_t i = 1;
    (readUnboxed(i++, rest), ...);
  }
  /// The same of a value on the device, which is row-major, and attributes.
  template <typename... Args>
  CallReader(const OpInfo &info, const Operand &self, int64_t device,
             const Args &...rest)
      : device(device), info(info) {
    readValue(self);
    size_t i = 1;
    (readUnboxed(i++, rest), ...);
  }
  /// The same of a call without tensors, which makes one.
  struct Makes {};
  template <typename... Args>
  CallReader(const OpInfo &info, Makes, const Args &...arguments) : info(info) {
    size_t i = 0;
    (readUnboxed(i++, arguments), ...);
    if (device < 0)
      device = currentDevice();
  }
  /// Raises if the tensors are on several devices; to be called before what
  /// follows, but for allFunctional().
  void checkDevices() const;
  /// Fills in the operands of lazy tensors and returns the key of the call.
  /// With the lock of `device`'s pending list.
  LTC_API Hash128 readValues();
  /// readValues(), and what is known of such a call.
  /// Null if numbers of a random op are still to be checked.
  std::shared_ptr<const CallShape> findShape();
  /// Fills in the operands that are on the host. Without a lock.
  void uploadHostTensors();

  OpNode::Operands operands;
  int64_t device = -1;
  int64_t byteOffset = 0; ///< into the storage of a view's base
  std::optional<at::Generator> generator;
  /// Whether the result is to be on another device than the tensors, or not in
  /// plain memory.
  bool leaves = false;
  bool hasHostTensors() const { return !hostTensors.empty(); }
  /// Whether each lazy tensor was in a functional wrapper that shows what is in
  /// it (math_bits.h), and there is one.
  bool allFunctional() const {
    return !elsewhere.defined() && !leaves && !lazyTensors.empty() &&
           wrappers == lazyTensors.size();
  }

private:
  template <typename T> void readUnboxed(size_t index, const T &value) {
    if constexpr (std::is_same_v<T, at::Tensor>)
      readTensor(value);
    else if constexpr (std::is_same_v<T, std::optional<at::Tensor>>)
      readTensor(value ? *value : at::Tensor());
    else if constexpr (std::is_same_v<T, c10::SymIntArrayRef>)
      readSymbols(value);
    else if constexpr (std::is_same_v<T, std::array<bool, 3>>)
      readMask(value);
    else if constexpr (std::is_same_v<T, at::OptionalIntArrayRef>)
      value ? readIntegers(*value) : read(info.arguments[index], c10::IValue());
    // An integer is converted too: to an array of one.
    else if constexpr (std::is_convertible_v<T, at::IntArrayRef> &&
                       !std::is_arithmetic_v<T>)
      readIntegers(value);
    else
      read(info.arguments[index], value);
  }
  LTC_API void read(const ArgumentInfo &argument, const c10::IValue &value);
  void readTensor(const c10::IValue &value, bool comesAlong = false);
  LTC_API void readTensor(const at::Tensor &tensor, bool comesAlong = false);
  /// False, and nothing is done, for other tensors.
  bool readDeferredView(const at::Tensor &tensor);
  void readLazy(torch::lazy::LTCTensorImpl &impl);
  void readLayout(const c10::TensorImpl &impl);
  void readValue(const Operand &value);
  void readNumber(const c10::IValue &value);
  void readWrappedNumber(const at::Tensor &number);
  void readPlacement(const c10::IValue &value);
  LTC_API void readIntegers(at::IntArrayRef values);
  void readSymbols(c10::SymIntArrayRef values);
  void readMask(c10::ArrayRef<bool> values);
  void readTensors(const at::ITensorListRef &tensors);
  void addNumber(DType type, uint64_t bits);

  const OpInfo &info;
  Hasher hasher;
  size_t wrappers = 0;
  at::Tensor elsewhere; ///< the first one that is on another device
  /// By position; null for one whose operand is there from the start.
  c10::SmallVector<std::pair<uint32_t, TensorData *>, 4> lazyTensors;
  c10::SmallVector<std::pair<size_t, at::Tensor>, 1> hostTensors;
};

} // namespace ltc::backend
