//===- compiler_note.h - A compiler's identity, without loading it --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warm process never loads the compiler, and yet must know which one an entry
// has to come from. libltc_compiler.so carries what identity() returns as an
// ELF note (mlir_lowering/identity.cmake) that is read from its file.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/types.h"

namespace ltc::runtime {

/// The text of the note "LTC" in an ELF library of this machine's kind; nothing
/// if there is no such file or note.
std::optional<std::string> readCompilerNote(const std::string &path);

} // namespace ltc::runtime
