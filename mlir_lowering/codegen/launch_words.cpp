//===- launch_words.cpp - The words of several calls ----------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/codegen/launch_words.h"

namespace ltc::compiler {

Words wordsOf(mlir::func::CallOp call, Places &places) {
  Words words;
  for (auto [number, operand] : llvm::enumerate(call.getOperands())) {
    mlir::FailureOr<ltc_word> word = places.word(operand);
    if (failed(word)) // which is an error of its step
      words.emplace_back(LTC_NONE, uint32_t(number), 0);
    else
      words.emplace_back(word->base, word->index, word->amount);
  }
  return words;
}

CommonWords::CommonWords(llvm::ArrayRef<Word> first)
    : first(first), common(unsigned(first.size()), true) {
  for (const Word &word : first)
    like.push_back(size_t(llvm::find(first, word) - first.begin()));
}

void CommonWords::add(llvm::ArrayRef<Word> words) {
  ++count;
  llvm::SmallVector<size_t> before = like;
  for (unsigned i = 0; i < words.size(); ++i) {
    if (words[i] != first[i])
      common.reset(i);
    for (size_t other = before[i];; ++other)
      if (before[other] == before[i] && words[other] == words[i]) {
        like[i] = other;
        break;
      }
  }
}

size_t CommonWords::own() const {
  size_t own = 0;
  for (unsigned i = 0; i < like.size(); ++i)
    own += !common.test(i) && like[i] == i;
  return own;
}

void addCall(KernelWords &kernels, llvm::StringRef kernel,
             llvm::ArrayRef<Word> words) {
  auto [place, isNew] = kernels.try_emplace(kernel, words);
  if (!isNew)
    place->second.add(words);
}

llvm::SetVector<Word> commonWords(const KernelWords &kernels) {
  llvm::SetVector<Word> words;
  for (const auto &[kernel, own] : kernels)
    for (size_t i = 0; i < own.arguments(); ++i)
      if (own.isCommon(i))
        words.insert(own.word(i));
  return words;
}

size_t countWords(const KernelWords &kernels) {
  size_t words = commonWords(kernels).size();
  for (const auto &[kernel, own] : kernels)
    words += own.calls() * own.own();
  return words;
}

} // namespace ltc::compiler
