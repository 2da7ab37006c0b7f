//===- launch_words.h - The words of several calls --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch of several calls takes each word once that all calls of a kernel
// have in common, such as a learning rate; so do kernels that share one. Behind
// these common words stand those of each call, and an argument that is
// everywhere the same as another, as where a tensor is updated in place, has
// none of its own.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir_lowering/codegen/places.h"

#include "llvm/ADT/MapVector.h"

namespace ltc::compiler {

namespace attr {
/// On the first call of such a launch: which operands, counted through all of
/// its calls, are the launch's words.
inline constexpr llvm::StringLiteral kOperands = "ltc.operands";
} // namespace attr

/// What a word is: its base, the base's index, the amount.
using Word = std::tuple<uint32_t, uint32_t, int64_t>;
using Words = llvm::SmallVector<Word>;
/// Of a call's operands, in order.
Words wordsOf(mlir::func::CallOp call, Places &places);

/// What the calls of one kernel in a launch have in common.
class CommonWords {
public:
  explicit CommonWords(llvm::ArrayRef<Word> first);
  /// One call more.
  void add(llvm::ArrayRef<Word> words);

  size_t arguments() const { return first.size(); }
  bool isCommon(size_t argument) const { return common.test(argument); }
  /// Of a common argument.
  Word word(size_t argument) const { return first[argument]; }
  /// The first argument that has the same word in each call.
  size_t likeOf(size_t argument) const { return like[argument]; }
  /// Words that each call has for itself, and how many calls there are.
  size_t own() const;
  size_t calls() const { return count; }

private:
  Words first; ///< of the first call
  size_t count = 1;
  llvm::SmallBitVector common;
  llvm::SmallVector<size_t> like;
};

/// By kernel, in the order in which a launch has them.
using KernelWords = llvm::MapVector<llvm::StringRef, CommonWords>;
/// With a call more.
void addCall(KernelWords &kernels, llvm::StringRef kernel,
             llvm::ArrayRef<Word> words);
/// The common words of a launch, each once.
llvm::SetVector<Word> commonWords(const KernelWords &kernels);
/// How many words the launch has.
size_t countWords(const KernelWords &kernels);

} // namespace ltc::compiler
