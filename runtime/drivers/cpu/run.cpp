//===- run.cpp - One run of compiled code, and what it may call -*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "run.h"

#include <dlfcn.h>

namespace ltc::cpu {

Run *&Run::current() {
  thread_local Run *run = nullptr;
  return run;
}

void Run::fail(ltc_error_code why, std::string text, int64_t where) {
  if (failed.exchange(true))
    return;
  code = why;
  message = std::move(text);
  site = where;
}

namespace {

/// A parallel loop; its pieces tell their thread whom they work for.
struct Loop {
  Run *run;
  void (*body)(int64_t, int64_t, void *);
  void *argument;

  static void piece(int64_t begin, int64_t end, void *self) {
    auto *loop = static_cast<Loop *>(self);
    Run *before = std::exchange(Run::current(), loop->run);
    loop->body(begin, end, loop->argument);
    Run::current() = before;
  }
};

/// Reads the views of operands and results off the words of a call.
class ViewReader {
public:
  explicit ViewReader(const int64_t *words) : words(words) {}

  ltc_view next(const TensorType &type, bool isScalar) {
    ltc_view view = {};
    view.dtype = uint8_t(type.dtype);
    view.is_scalar = isScalar;
    if (isScalar) {
      view.bits = uint64_t(*words++);
      return view;
    }
    view.data = reinterpret_cast<void *>(*words++);
    view.rank = uint32_t(type.dims.size());
    view.sizes = words;
    view.strides = words + view.rank;
    words += 2 * view.rank;
    return view;
  }

private:
  const int64_t *words;
};

} // namespace

void Run::parallelFor(int64_t n, int64_t grain,
                      void (*body)(int64_t, int64_t, void *), void *argument) {
  if (n <= 0)
    return;
  if (n <= grain)
    return body(0, n, argument);
  Loop loop{this, body, argument};
  host.parallel_for(n, std::max<int64_t>(grain, 1), Loop::piece, &loop);
}

void Run::call(int64_t number, int64_t *words) {
  if (failed)
    return;
  BoundCall &bound = calls[size_t(number)];
  ViewReader reader(words);
  std::vector<ltc_view> views;
  views.reserve(bound.operands.size() + bound.results.size());
  for (const ValueType &type : bound.operands)
    views.push_back(reader.next(type.tensor, type.isScalar));
  for (const TensorType &type : bound.results)
    views.push_back(reader.next(type, false));
  char text[1024] = "";
  size_t operands = bound.operands.size();
  ltc_error_code failure = host.kernel_run(
      bound.kernel.get(), views.data(), operands, views.data() + operands,
      bound.results.size(), text, sizeof(text));
  if (failure != LTC_OK)
    fail(failure, bound.op + ": " + text);
}

namespace {

void parallelForEntry(void *context, int64_t n, int64_t grain,
                      void (*body)(int64_t, int64_t, void *), void *argument) {
  static_cast<Run *>(context)->parallelFor(n, grain, body, argument);
}

void kernelCallEntry(void *context, int64_t call, int64_t *words) {
  static_cast<Run *>(context)->call(call, words);
}

void indexErrorEntry(int64_t site, int64_t index, int64_t bound) {
  if (Run *run = Run::current())
    run->fail(LTC_OUT_OF_RANGE,
              "index out of range: " + std::to_string(index) +
                  " is out of bounds for a dimension of size " +
                  std::to_string(bound),
              site);
}

template <typename Function> void *address(Function *function) {
  return reinterpret_cast<void *>(function);
}

} // namespace

void *findSymbol(const std::string &name) {
  if (name == "ltc_parallel_for")
    return address(parallelForEntry);
  if (name == "ltc_kernel_call")
    return address(kernelCallEntry);
  if (name == "ltc_index_error")
    return address(indexErrorEntry);
  if (void *builtin = findBuiltin(name))
    return builtin;
  // memcpy, expf and their kind: the C library, which this one depends on.
  if (void *known = dlsym(RTLD_DEFAULT, name.c_str()))
    return known;
  // Vector functions of the C library live in one that few programs load.
  if (!name.starts_with("_ZGV"))
    return nullptr;
  static void *vectors = dlopen("libmvec.so.1", RTLD_NOW | RTLD_LOCAL);
  return vectors ? dlsym(vectors, name.c_str()) : nullptr;
}

} // namespace ltc::cpu
