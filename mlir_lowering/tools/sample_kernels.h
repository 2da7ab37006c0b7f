//===- sample_kernels.h - Library kernels without torch ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain loops for aten::mm, aten::addmm and aten::bmm in f32, so that common
// graphs run where there is no torch.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/kernels.h"

namespace ltc::tools {

inline float &element(const KernelView &view,
                      std::initializer_list<int64_t> at) {
  auto *data = static_cast<float *>(view.data);
  size_t dim = view.rank - at.size(); // leading dimensions are at 0
  for (int64_t index : at)
    data += index * view.strides[dim++];
  return *data;
}

class MatrixProduct final : public Kernel {
public:
  explicit MatrixProduct(bool adds) : adds(adds) {}

  Status run(std::span<const KernelView> operands,
             std::span<const KernelView> results) override {
    KernelView a = operands[adds ? 1 : 0], b = operands[adds ? 2 : 1],
               c = results[0];
    double beta = adds && operands.size() > 3 ? scalar(operands[3]) : 1;
    double alpha = adds && operands.size() > 4 ? scalar(operands[4]) : 1;
    int64_t batches = c.rank == 3 ? c.sizes[0] : 1;
    for (int64_t batch = 0; batch < batches; ++batch) {
      product(a, b, c, adds ? &operands[0] : nullptr, alpha, beta);
      for (KernelView *view : {&a, &b, &c})
        if (c.rank == 3)
          view->data = static_cast<float *>(view->data) + view->strides[0];
    }
    return {};
  }

private:
  static double scalar(const KernelView &view) {
    return view.dtype == DType::F64 ? view.real : double(view.integer);
  }

  static float broadcast(const KernelView &view, int64_t i, int64_t j) {
    if (view.rank == 0)
      return *static_cast<float *>(view.data);
    int64_t column = view.sizes[view.rank - 1] == 1 ? 0 : j;
    if (view.rank == 1)
      return element(view, {column});
    return element(view, {view.sizes[0] == 1 ? 0 : i, column});
  }

  static void product(const KernelView &a, const KernelView &b,
                      const KernelView &c, const KernelView *added,
                      double alpha, double beta) {
    unsigned r = c.rank;
    int64_t rows = c.sizes[r - 2], columns = c.sizes[r - 1],
            inner = a.sizes[r - 1];
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < inner; ++k)
          sum += double(element(a, {i, k})) * double(element(b, {k, j}));
        double bias = added ? beta * broadcast(*added, i, j) : 0;
        element(c, {i, j}) = float(alpha * sum + bias);
      }
  }

  bool adds;
};

inline KernelProvider sampleKernels() {
  return [](const Graph &call) -> Result<std::unique_ptr<Kernel>> {
    const std::string &op = call.nodes.front().op;
    bool single = call.nodes.front().results.front().dtype == DType::F32;
    if (single && (op == "aten::mm" || op == "aten::bmm"))
      return std::unique_ptr<Kernel>(std::make_unique<MatrixProduct>(false));
    if (single && op == "aten::addmm")
      return std::unique_ptr<Kernel>(std::make_unique<MatrixProduct>(true));
    return Error{ErrorCode::Unsupported,
                 Stage::Execute,
                 op +
                     " needs a library kernel, and without torch there is none",
                 op,
                 {},
                 "run the graph from Python, where torch serves it"};
  };
}

} // namespace ltc::tools
