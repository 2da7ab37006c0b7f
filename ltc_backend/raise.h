//===- raise.h - From ltc::Error to exceptions and back ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only place where an exception of ours starts, and the place where those
// of ATen end.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/error.h"

#include <c10/util/Exception.h>

namespace ltc::backend {

/// What C++ callers catch. As a c10::Error it is a RuntimeError in Python even
/// where no bindings are loaded. what() is error().str().
class LTC_API LtcError : public c10::Error {
public:
  explicit LtcError(ltc::Error error);
  ~LtcError() override;
  const ltc::Error &error() const { return cause; }

private:
  ltc::Error cause;
};

/// Throws LtcError, unless the raise hook throws first. Any thread.
[[noreturn]] LTC_API void raise(const Error &error);

/// Throws when the status or result is a failure, else returns its value.
inline void raiseIfFailed(Status status) {
  if (!status)
    raise(status.error());
}
template <typename T> T valueOrRaise(Result<T> result) {
  if (!result)
    raise(result.error());
  return std::move(*result);
}

/// Called by raise() first. The Python bindings set one that throws
/// `python_error` holding a torch_ltc.Error or its subclass for the code; it
/// returns when this thread cannot run Python. nullptr removes it.
using RaiseHook = void (*)(const Error &error);
LTC_API void setRaiseHook(RaiseHook hook);

/// The exception in flight as an Error; call inside a catch block. Torch's
/// exception types choose the code; an LtcError keeps its own Error and gets
/// `op` if it has none.
LTC_API Error currentError(Stage stage, std::string_view op);

} // namespace ltc::backend
