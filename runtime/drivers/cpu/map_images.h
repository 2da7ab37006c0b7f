//===- map_images.h - Code that is linked but for its place -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the compiler makes for target kind `aot`, so that a process without a
// linker can run it: a blob of kind "image" (ltc/image.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "link.h"

namespace ltc::cpu {

/// What link() does, for images. Every place that an image names is checked to
/// be inside of it before anything is written.
Result<std::unique_ptr<LinkedCode>>
mapImages(std::span<const std::string_view> images,
          std::span<const std::string_view> names, FindSymbol findSymbol);

} // namespace ltc::cpu
