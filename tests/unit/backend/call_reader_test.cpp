//===- call_reader_test.cpp - The key of a call ---------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/call_reader.h"

#include <gtest/gtest.h>

using namespace ltc::backend;
using c10::IValue;

namespace {

template <typename... Args>
void expectOneKey(const char *name, const char *overload, const Args &...rest) {
  const OpInfo &info = opInfo(name, overload);
  std::vector<IValue> arguments{IValue(at::Tensor()), IValue(rest)...};
  CallReader boxed(info, arguments), unboxed(info, at::Tensor(), rest...);
  EXPECT_EQ(boxed.readValues(), unboxed.readValues()) << name;
}

TEST(CallReader, ReadsBoxedAndUnboxedArgumentsAlike) {
  expectOneKey("aten::_log_softmax", "", int64_t(1), false);
  expectOneKey("aten::_log_softmax_backward_data", "", at::Tensor(), int64_t(1),
               at::kFloat);
  expectOneKey("aten::threshold_backward", "", at::Tensor(), at::Scalar(0));
  expectOneKey("aten::view_copy", "", at::IntArrayRef({2, 3}));
}

TEST(CallReader, TellsArgumentsApart) {
  const OpInfo &info = opInfo("aten::_log_softmax", "");
  CallReader first(info, at::Tensor(), int64_t(0), false),
      second(info, at::Tensor(), int64_t(1), false),
      third(info, at::Tensor(), int64_t(0), true);
  auto key = first.readValues();
  EXPECT_NE(key, second.readValues());
  EXPECT_NE(key, third.readValues());
}

} // namespace
