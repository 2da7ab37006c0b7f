//===- errors.h - What a call throws ----------------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <c10/util/Exception.h>

#include <gtest/gtest.h>

#include <string>

#define EXPECT_SAYS(text, part)                                                \
  EXPECT_PRED_FORMAT2(testing::IsSubstring, part, text)

/// The text of the c10::Error, or "" if there is none.
template <typename Call> std::string errorOf(const Call &call) {
  try {
    call();
  } catch (const c10::Error &error) {
    return error.what_without_backtrace();
  }
  return "";
}
