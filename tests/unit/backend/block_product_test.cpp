//===- block_product_test.cpp - Blocks against float64 ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kernels/cpu/product/block_product.h"

#include "vectors_test.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

using namespace ltc::kernels;
using ltc::backend::test::VectorsTest;

namespace {

class BlockOfProduct : public VectorsTest {};

/// Rows of a panel, and zeros up to its width.
at::Tensor panel(int64_t depth, int64_t cols) {
  at::Tensor made = at::zeros({depth, kPanelCols});
  made.slice(1, 0, cols).normal_();
  return made;
}

/// The product into rows wider than it, beyond which nothing may be written.
at::Tensor product(const at::Tensor &a, const at::Tensor &b, int64_t cols,
                   bool accumulate, int64_t pieces = 1) {
  at::Tensor wide = at::full({a.size(0), cols + 3}, 7.0f);
  int64_t depth = a.size(1) / pieces;
  multiplyBlock({.rows = a.size(0),
                 .cols = cols,
                 .depth = depth,
                 .a = {a.const_data_ptr<float>(), a.stride(0), a.stride(1),
                       pieces, depth * a.stride(1)},
                 .b = b.const_data_ptr<float>(),
                 .accumulate = accumulate,
                 .c = {wide.mutable_data_ptr<float>(), wide.stride(0)},
                 .prefetch = {b.const_data_ptr<float>(), kPanelCols, 2}});
  EXPECT_TRUE((wide.slice(1, cols) == 7).all().item<bool>());
  return wide.slice(1, 0, cols);
}

TEST_F(BlockOfProduct, AgreesInEverySize) {
  for (int64_t rows = 1; rows <= 19; ++rows)
    for (int64_t cols : {1, 5, 16, 17, 32, 40, 48, 63, 64})
      for (int64_t depth : {1, 2, 33})
        for (bool byColumns : {false, true})
          for (bool accumulate : {false, true}) {
            at::Tensor a = byColumns ? at::randn({depth, rows}).t()
                                     : at::randn({rows, depth});
            at::Tensor b = panel(depth, cols);
            at::Tensor wanted =
                a.to(at::kDouble).mm(b.slice(1, 0, cols).to(at::kDouble));
            if (accumulate)
              wanted += 7;
            at::Tensor found = product(a, b, cols, accumulate);
            EXPECT_TRUE(at::allclose(found.to(at::kDouble), wanted, 1e-5, 1e-5))
                << rows << " by " << depth << " by " << cols;
          }
}

TEST_F(BlockOfProduct, AddsUpPieces) {
  at::Tensor a = at::randn({13, 24}), b = panel(24, 64);
  EXPECT_TRUE(
      product(a, b, 64, false, /*pieces=*/3).equal(product(a, b, 64, false)));
}

TEST_F(BlockOfProduct, CarriesWhatIsNotFinite) {
  at::Tensor a = at::ones({7, 3}), b = panel(3, 20);
  a[4][1] = std::numeric_limits<float>::infinity();
  a[5][2] = std::numeric_limits<float>::quiet_NaN();
  at::Tensor found = product(a, b, 20, false);
  EXPECT_TRUE(found.slice(0, 0, 4).isfinite().all().item<bool>());
  EXPECT_TRUE(found[4].isinf().all().item<bool>());
  EXPECT_TRUE(found[5].isnan().all().item<bool>());
  EXPECT_TRUE(found[6].isfinite().all().item<bool>());
}

} // namespace
