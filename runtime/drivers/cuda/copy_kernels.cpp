//===- copy_kernels.cpp - Copies of memory as kernels ---------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "copy_kernels.h"

namespace ltc::cuda {

namespace {

constexpr unsigned kCopyThreads = 256, kMoveThreads = 1024;
/// Units that a thread reads before it writes one.
constexpr unsigned kAhead = 4;

std::string number(uint64_t value) { return std::to_string(value); }

/// One thread's unit between memory and its registers number `n` times four.
struct Unit {
  unsigned bytes;

  std::string load(unsigned n, const std::string &address) const {
    return "ld.global." + type() + " " + registers(n) + ", [" + address +
           "];\n";
  }
  std::string store(unsigned n, const std::string &address) const {
    return "st.global." + type() + " [" + address + "], " + registers(n) +
           ";\n";
  }

private:
  std::string type() const {
    return bytes == 16 ? "v4.b32" : bytes == 4 ? "b32" : "b8";
  }
  std::string registers(unsigned n) const {
    std::string first = "%r" + number(4 * n);
    if (bytes < 16)
      return first;
    std::string all = "{" + first;
    for (unsigned i = 1; i < 4; ++i)
      all += ", %r" + number(4 * n + i);
    return all + "}";
  }
};

/// %to, %from and %bytes are its words; %at and %i are for offsets.
std::string begin(const std::string &name, unsigned threads) {
  return ".visible .entry " + name + "(.param .align 8 .b8 " + name +
         "_words[24])\n.reqntid " + number(threads) +
         "\n{\n"
         ".reg .pred %p<8>;\n.reg .b32 %r<16>, %thread, %block;\n"
         ".reg .b64 %to, %from, %bytes, %at, %i, %last, %a, %b;\n"
         "ld.param.b64 %to, [" +
         name + "_words];\nld.param.b64 %from, [" + name +
         "_words+8];\nld.param.b64 %bytes, [" + name +
         "_words+16];\n"
         "cvta.to.global.u64 %to, %to;\ncvta.to.global.u64 %from, %from;\n"
         "mov.u32 %thread, %tid.x;\nmov.u32 %block, %ctaid.x;\n";
}

/// Each block does kAhead units a thread.
std::string copyKernel(unsigned bytes) {
  Unit unit{bytes};
  std::string text = begin("ltc_copy_" + number(bytes), kCopyThreads);
  text += "mul.wide.u32 %at, %thread, " + number(bytes) + ";\n";
  text += "mul.wide.u32 %i, %block, " + number(bytes * kCopyThreads * kAhead) +
          ";\nadd.s64 %at, %at, %i;\n";
  std::string loads, stores;
  for (unsigned n = 0; n < kAhead; ++n) {
    std::string guard = "%p" + number(n);
    std::string behind = number(uint64_t(n) * bytes * kCopyThreads);
    text += "add.s64 %i, %at, " + behind + ";\nsetp.lt.u64 " + guard +
            ", %i, %bytes;\n";
    loads += "@" + guard + " " + unit.load(n, "%a+" + behind);
    stores += "@" + guard + " " + unit.store(n, "%b+" + behind);
  }
  return text + "add.s64 %a, %from, %at;\nadd.s64 %b, %to, %at;\n" + loads +
         stores + "ret;\n}\n";
}

/// One block reads a row of units, waits, and writes it: from the front if the
/// target lies before the source, else from the back.
std::string moveKernel(unsigned bytes) {
  Unit unit{bytes};
  uint64_t row = uint64_t(bytes) * kMoveThreads;
  std::string text = begin("ltc_move_" + number(bytes), kMoveThreads);
  text += "setp.lt.u64 %p0, %to, %from;\n"
          "add.s64 %last, %bytes, -1;\n"
          "div.u64 %last, %last, " +
          number(row) + ";\nmul.lo.s64 %last, %last, " + number(row) +
          ";\nmov.u64 %i, 0;\n$next_" + number(bytes) +
          ":\n"
          "sub.s64 %at, %last, %i;\nselp.b64 %at, %i, %at, %p0;\n"
          "mul.wide.u32 %a, %thread, " +
          number(bytes) +
          ";\nadd.s64 %at, %at, %a;\n"
          "setp.lt.u64 %p1, %at, %bytes;\n"
          "add.s64 %a, %from, %at;\nadd.s64 %b, %to, %at;\n";
  text += "@%p1 " + unit.load(0, "%a") + "bar.sync 0;\n@%p1 " +
          unit.store(0, "%b") + "bar.sync 0;\n";
  return text + "add.s64 %i, %i, " + number(row) +
         ";\nsetp.lt.u64 %p2, %i, %bytes;\n@%p2 bra $next_" + number(bytes) +
         ";\nret;\n}\n";
}

bool isOverlap(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return to < from + bytes && from < to + bytes;
}

} // namespace

Outcome CopyKernels::load(std::unique_ptr<CopyKernels> &kernels) {
  std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n";
  for (unsigned unit : kUnits)
    text += copyKernel(unit) + moveKernel(unit);
  CUmodule module = nullptr;
  CUresult result =
      api().cuModuleLoadDataEx(&module, text.c_str(), 0, nullptr, nullptr);
  if (result != CUDA_SUCCESS)
    return outcomeOf(result, "load the code of copies");
  std::unique_ptr<CopyKernels> made(new CopyKernels(module));
  auto find = [&](CUfunction &function, std::string name) {
    if (result == CUDA_SUCCESS)
      result = api().cuModuleGetFunction(&function, module, name.c_str());
  };
  for (size_t i = 0; i < kUnits.size(); ++i) {
    find(made->copies[i], "ltc_copy_" + number(kUnits[i]));
    find(made->moves[i], "ltc_move_" + number(kUnits[i]));
  }
  if (Outcome outcome = outcomeOf(result, "find the kernels of copies"))
    return outcome;
  kernels = std::move(made);
  return std::nullopt;
}

CopyLaunch CopyKernels::launch(CUdeviceptr to, CUdeviceptr from,
                               size_t bytes) const {
  size_t i = 0;
  while ((to | from | bytes) % kUnits[i])
    ++i;
  if (isOverlap(to, from, bytes))
    return {moves[i], 1, kMoveThreads};
  size_t each = size_t(kUnits[i]) * kCopyThreads * kAhead;
  return {copies[i], unsigned((bytes + each - 1) / each), kCopyThreads};
}

} // namespace ltc::cuda
