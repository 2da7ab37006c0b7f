//===- error.h - The one error type, and Result<T> --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every failure a user can meet is an ltc::Error. It is returned, never
// thrown: exceptions start only in ltc_backend/raise.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/source.h"

#include <string>
#include <utility>
#include <variant>

namespace ltc {

/// As in docs/ARCHITECTURE.md; folders, spans, metrics and logs use the names.
enum class Stage : uint8_t {
  Record,
  Graph,
  Import,
  Lower,
  Optimize,
  Codegen,
  Cache,
  Execute,
};
LTC_API std::string_view name(Stage stage);

enum class ErrorCode : uint8_t {
  InvalidArgument, ///< the caller's values are wrong
  Unsupported,     ///< right, but we cannot do it
  OutOfRange,      ///< an index met at run time
  OutOfMemory,
  CompileFailed,
  DeviceFailed,
  Interrupted,
  Internal,          ///< our own mistake
  LinearAlgebra,     ///< a matrix that has no inverse, no factors, ...
  UnexpectedCompile, ///< a CompileGuard is broken; no driver's
  UnexpectedSync,    ///< a syncs::Guard allows none; no driver's
  NotFinite,         ///< a NaN or Inf, which setting `detect_nan` finds
  Miscompiled,       ///< other values than ATen's, which `verify` finds
};
LTC_API std::string_view name(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::Internal;
  Stage stage = Stage::Execute;
  std::string message; ///< what was done, found and wanted; one sentence
  std::string op;      ///< ATen name, or empty
  Source source;       ///< the user's line, or empty
  std::string hint;    ///< what to try, or empty

  /// The whole message as a user reads it, several lines.
  LTC_API std::string str() const;
};

/// Either a value or an Error. `if (!r) return r.takeError();`
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state.index() == 0; }
  T &operator*() { return std::get<0>(state); }
  const T &operator*() const { return std::get<0>(state); }
  T *operator->() { return &std::get<0>(state); }
  const T *operator->() const { return &std::get<0>(state); }
  const Error &error() const { return std::get<1>(state); }
  Error takeError() { return std::move(std::get<1>(state)); }

private:
  std::variant<T, Error> state;
};

/// Success, or an Error.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error error) : failure(std::move(error)) {}

  explicit operator bool() const { return !failure; }
  const Error &error() const { return *failure; }
  Error takeError() { return std::move(*failure); }

private:
  std::optional<Error> failure;
};

} // namespace ltc
