//===- raise.cpp - From ltc::Error to exceptions and back -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "raise.h"

#include <atomic>
#include <new>

namespace ltc::backend {

static std::atomic<RaiseHook> raiseHook{nullptr};

LtcError::LtcError(ltc::Error error)
    : c10::Error(error.str(), nullptr), cause(std::move(error)) {}

LtcError::~LtcError() = default;

void setRaiseHook(RaiseHook hook) { raiseHook.store(hook); }

void raise(const Error &error) {
  if (RaiseHook hook = raiseHook.load())
    hook(error);
  throw LtcError(error);
}

/// ATen reports some of these only in words.
static ErrorCode codeFromWords(std::string_view message) {
  auto says = [&](std::string_view words) {
    return message.find(words) != std::string_view::npos;
  };
  if (says("INTERNAL ASSERT FAILED"))
    return ErrorCode::Internal;
  if (says("can't allocate memory") || says("not enough memory") ||
      says("out of memory"))
    return ErrorCode::OutOfMemory;
  if (says("out of bounds") || says("out of range"))
    return ErrorCode::OutOfRange;
  if (says("not implemented for") || says("is not available"))
    return ErrorCode::Unsupported;
  return ErrorCode::InvalidArgument;
}

Error currentError(Stage stage, std::string_view op) {
  Error error;
  error.stage = stage;
  error.op = op;
  try {
    throw;
  } catch (const LtcError &caught) {
    error = caught.error();
    if (error.op.empty())
      error.op = op;
  } catch (const c10::OutOfMemoryError &caught) {
    error.code = ErrorCode::OutOfMemory;
    error.message = caught.what_without_backtrace();
  } catch (const c10::IndexError &caught) {
    error.code = ErrorCode::OutOfRange;
    error.message = caught.what_without_backtrace();
  } catch (const c10::LinAlgError &caught) {
    error.code = ErrorCode::LinearAlgebra;
    error.message = caught.what_without_backtrace();
  } catch (const c10::NotImplementedError &caught) {
    error.code = ErrorCode::Unsupported;
    error.message = caught.what_without_backtrace();
  } catch (const c10::Error &caught) {
    error.message = caught.what_without_backtrace();
    error.code = codeFromWords(error.message);
  } catch (const std::bad_alloc &) {
    error.code = ErrorCode::OutOfMemory;
    error.message = "out of memory";
  } catch (const std::exception &caught) {
    error.message = caught.what();
    error.code = codeFromWords(error.message);
  } catch (...) {
    error.message = "unknown exception";
  }
  return error;
}

} // namespace ltc::backend
