//===- link_image.h - An object, linked but for its place -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/error.h"

#include "llvm/ADT/StringRef.h"

namespace ltc::compiler {

/// The image (ltc/image.h) of a relocatable ELF object for x86-64.
Result<std::string> linkImage(llvm::StringRef object);

} // namespace ltc::compiler
