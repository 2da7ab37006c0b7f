//===- run.cpp - One run of compiled code, and what it may call -----------===//
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

void Run::failIndex(int64_t where, int64_t index, int64_t size) {
  fail(LTC_OUT_OF_RANGE, steps.indexError(where, index, size), where);
}

void Run::failValue(int64_t where) {
  fail(LTC_INVALID_ARGUMENT, steps.valueError(where), where);
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
  BoundCall &bound = calls[size_t(number)];
  bound.read(words);
  char text[1024] = "";
  ltc_error_code failure =
      host.kernel_run(bound.kernel.get(), bound.views.data(), bound.operands,
                      bound.views.data() + bound.operands,
                      bound.views.size() - bound.operands, text, sizeof(text));
  if (failure != LTC_OK)
    fail(failure, text, steps.sites() + number);
}

namespace {

void indexErrorEntry(int64_t site, int64_t index, int64_t bound) {
  if (Run *run = Run::current())
    run->failIndex(site, index, bound);
}

void valueErrorEntry(int64_t site) {
  if (Run *run = Run::current())
    run->failValue(site);
}

template <typename Function> void *address(Function *function) {
  return reinterpret_cast<void *>(function);
}

} // namespace

void *findSymbol(const std::string &name) {
  if (name == "ltc_index_error")
    return address(indexErrorEntry);
  if (name == "ltc_value_error")
    return address(valueErrorEntry);
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
