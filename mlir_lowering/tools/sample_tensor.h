//===- sample_tensor.h - Made-up tensors for ltc-run ------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"

#include <cstring>

namespace ltc::tools {

/// splitmix64: the same numbers on every machine.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t bound) { return next() % bound; }
  double unit() { return double(next() >> 11) * 0x1p-53; }

private:
  uint64_t state;
};

/// A dense tensor on the host.
struct SampleTensor {
  explicit SampleTensor(TensorType type)
      : type(std::move(type)), bytes(this->type.bytes()) {}
  /// Floats in [-1, 1), integers in [0, bound).
  SampleTensor(TensorType of, Random &random, int64_t bound)
      : SampleTensor(std::move(of)) {
    for (size_t i = 0; i < elements(); ++i)
      set(i, isFloat(type.dtype) ? 2 * random.unit() - 1
             : type.dtype == DType::Bool
                 ? double(random.below(2))
                 : double(random.below(uint64_t(bound))));
  }

  size_t elements() const { return size_t(type.elements()); }

  double at(size_t i) const {
    switch (type.dtype) {
    case DType::F64:
      return load<double>(i);
    case DType::F32:
      return load<float>(i);
    case DType::F16:
      return double(load<_Float16>(i));
    case DType::BF16: {
      uint32_t bits = uint32_t(load<uint16_t>(i)) << 16;
      float value;
      std::memcpy(&value, &bits, 4);
      return value;
    }
    case DType::I64:
    case DType::U64:
      return double(load<int64_t>(i));
    case DType::I32:
      return load<int32_t>(i);
    case DType::I16:
      return load<int16_t>(i);
    case DType::I8:
      return load<int8_t>(i);
    default:
      return load<uint8_t>(i);
    }
  }

  void set(size_t i, double value) {
    switch (type.dtype) {
    case DType::F64:
      return store(i, value);
    case DType::F32:
      return store(i, float(value));
    case DType::F16:
      return store(i, _Float16(value));
    case DType::BF16: {
      auto single = float(value);
      uint32_t bits;
      std::memcpy(&bits, &single, 4);
      return store(i, uint16_t(bits >> 16));
    }
    case DType::I64:
    case DType::U64:
      return store(i, int64_t(value));
    case DType::I32:
    case DType::U32:
      return store(i, int32_t(value));
    case DType::I16:
    case DType::U16:
      return store(i, int16_t(value));
    case DType::I8:
    case DType::U8:
    case DType::Bool:
      return store(i, uint8_t(value));
    default: // complex numbers and f8 stay 0
      return;
    }
  }

  TensorType type;
  std::vector<unsigned char> bytes;

private:
  template <typename T> T load(size_t i) const {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    return value;
  }
  template <typename T> void store(size_t i, T value) {
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
};

} // namespace ltc::tools
