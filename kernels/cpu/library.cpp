//===- library.cpp - The kernels of a call, ours and others' --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lent.h"
#include "rows.h"
#include "threads/parallel.h"
#include "vectors.h"

#include <new>

namespace ltc::kernels {
namespace {

// Never destroyed: a queue drained at exit may still call a kernel.
Lent &whatIsLent() {
  static auto *it = new Lent;
  return *it;
}

Error failure(ErrorCode code, const std::string &op, std::string message) {
  Error error;
  error.code = code;
  error.stage = Stage::Execute;
  error.op = op;
  error.message = std::move(message);
  return error;
}

Error noKernel(const std::string &op) {
  Error error = failure(ErrorCode::Unsupported, op,
                        op + " needs a library kernel, and this process has "
                             "none for these operands");
  error.hint = "run the graph from Python, where torch serves it";
  return error;
}

/// Ours, then another library's, then plain loops.
class Chosen final : public Kernel {
public:
  Chosen(std::string op, std::unique_ptr<OwnKernel> own,
         std::unique_ptr<Kernel> other)
      : op(std::move(op)), own(std::move(own)), other(std::move(other)) {}

  Status run(Views operands, Views results) override {
    Result<bool> isDone = runOwn(operands, results);
    if (!isDone)
      return isDone.takeError();
    if (*isDone)
      return {};
    return other ? other->run(operands, results) : noKernel(op);
  }

private:
  Result<bool> runOwn(Views operands, Views results) {
    try {
      if (own->run(operands, results))
        return true;
      return other ? false : own->runPlainly(operands, results);
    } catch (const std::bad_alloc &) {
      return failure(ErrorCode::OutOfMemory, op,
                     "no memory for a kernel's own use");
    }
  }

  std::string op;
  std::unique_ptr<OwnKernel> own;
  std::unique_ptr<Kernel> other;
};

} // namespace

const Lent &lent() { return whatIsLent(); }

void install(Lent lent) {
  whatIsLent() = std::move(lent);
  setHostServices({resolve, parallelFor, stayAlone, borrowThread, waitingTeam,
                   rest, threadCount, whatIsLent().onDevices,
                   whatIsLent().settingsOnDevices});
}

Result<std::unique_ptr<Kernel>> resolve(const Graph &call) {
  const std::string &op = call.nodes[0].op;
  const Row *row = findRow(op);
  std::unique_ptr<OwnKernel> own = row ? row->bind(call) : nullptr;
  std::unique_ptr<Kernel> other;
  const KernelProvider &others = lent().others;
  if (others && !(own && row->isAlone)) {
    Result<std::unique_ptr<Kernel>> found = others(call);
    if (!found)
      return found.takeError();
    other = std::move(*found);
  }
  if (!own)
    return other ? Result<std::unique_ptr<Kernel>>(std::move(other))
                 : noKernel(op);
  return std::unique_ptr<Kernel>(
      new Chosen(op, std::move(own), std::move(other)));
}

bool hasOwn(const Graph &call) {
  const Row *row = findRow(call.nodes[0].op);
  return row && row->bind(call);
}

bool hasRecurrentLayers() { return hasVectors(); }

} // namespace ltc::kernels
