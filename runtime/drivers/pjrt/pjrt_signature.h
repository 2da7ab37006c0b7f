//===- pjrt_signature.h - What @main takes and gives ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ltc::pjrt {

/// A dense tensor as PJRT names it.
struct TensorType {
  int32_t element = 0; ///< PJRT_Buffer_Type
  std::vector<int64_t> sizes;

  size_t bytes() const;
  bool isFloat64() const { return element == 12; }
  bool operator==(const TensorType &) const = default;
};

struct Signature {
  std::vector<TensorType> inputs, results;
};

/// Of the function `main` of a StableHLO module in the generic form; nothing
/// where a type has no form in PJRT.
std::optional<Signature> readSignature(std::string_view module);

} // namespace ltc::pjrt
