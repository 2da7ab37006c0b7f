//===- npy.h - Arrays in files of numpy's -----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/error.h"
#include "ltc/types.h"

namespace ltc::tools {

struct Array {
  TensorType type;
  std::string bytes; ///< row-major
};

/// Of format version 1 to 3; little-endian, row-major, of a type that numpy and
/// graphs both have.
Result<Array> readArray(const std::string &path);
/// What is wrong with such a type, or success.
Status checkWritable(const std::string &path, DType dtype);
Status writeArray(const std::string &path, const Array &array);

} // namespace ltc::tools
