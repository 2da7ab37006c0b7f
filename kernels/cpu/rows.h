//===- rows.h - The library's kernels, one row each -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "arguments.h"

namespace ltc::kernels {

/// A call of one op, bound to its attributes. One thread at a time.
class OwnKernel {
public:
  virtual ~OwnKernel() = default;

  /// Writes all results, or says false: another library is faster for these
  /// operands, or knows them better. What has been written is of no value.
  virtual bool run(Views operands, Views results) = 0;

  /// The same by plain loops, for a process without another library. False: not
  /// for these operands. An error: an index is out of range.
  virtual Result<bool> runPlainly(Views /*operands*/, Views /*results*/) {
    return false;
  }
};

/// A kernel as the table has it.
struct Row {
  std::string_view name;
  /// For a graph of one node of that name; null where its attributes are not
  /// for us.
  std::unique_ptr<OwnKernel> (*bind)(const Graph &call);
  /// It serves all calls: no other library is asked.
  bool isAlone = false;
};

/// The row of an op, or null.
const Row *findRow(std::string_view op);

template <typename K> std::unique_ptr<OwnKernel> bindAs(const Graph &call) {
  return std::make_unique<K>(Arguments(call));
}

// Where the rows are made.
std::unique_ptr<OwnKernel> bindMm(const Graph &call);
std::unique_ptr<OwnKernel> bindAddmm(const Graph &call);
std::unique_ptr<OwnKernel> bindConvolution(const Graph &call);
std::unique_ptr<OwnKernel> bindConvolutionBackward(const Graph &call);
std::unique_ptr<OwnKernel> bindAttention(const Graph &call);
std::unique_ptr<OwnKernel> bindAttentionBackward(const Graph &call);
std::unique_ptr<OwnKernel> bindConcatenation(const Graph &call);
std::unique_ptr<OwnKernel> bindRunningSums(const Graph &call);
std::unique_ptr<OwnKernel> bindIndexCopy(const Graph &call);
std::unique_ptr<OwnKernel> bindIndexPut(const Graph &call);
std::unique_ptr<OwnKernel> bindLayer(const Graph &call);
std::unique_ptr<OwnKernel> bindUniform(const Graph &call);
std::unique_ptr<OwnKernel> bindNormal(const Graph &call);
std::unique_ptr<OwnKernel> bindExponential(const Graph &call);
std::unique_ptr<OwnKernel> bindBernoulli(const Graph &call);
std::unique_ptr<OwnKernel> bindDropout(const Graph &call);

} // namespace ltc::kernels
