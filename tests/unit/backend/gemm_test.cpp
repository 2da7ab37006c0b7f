//===- gemm_test.cpp - Products of matrices against float64 -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kernels/cpu/product/gemm.h"

#include "kernels/cpu/product/pack.h"
#include "kernels/cpu/product/packing_habit.h"
#include "kernels/cpu/threads/parallel.h"
#include "vectors_test.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

using namespace ltc::kernels;
using ltc::backend::test::VectorsTest;

namespace {

MatrixView operand(const at::Tensor &t) {
  return {t.const_data_ptr<float>(), t.size(0), t.size(1), t.stride(0),
          t.stride(1)};
}

/// A random matrix that lies in memory by rows, or by columns.
at::Tensor matrix(int64_t rows, int64_t cols, bool byColumns) {
  return byColumns ? at::randn({cols, rows}).t() : at::randn({rows, cols});
}

at::Tensor product(const at::Tensor &a, const at::Tensor &b,
                   const at::Tensor &addend = {}) {
  // Wider than the result, so that a store beyond a row is seen.
  at::Tensor wide = at::full({a.size(0), b.size(1) + 3}, 7.0f);
  MatrixView added{};
  if (addend.defined())
    added = operand(addend.expand({a.size(0), b.size(1)}));
  gemm(operand(a), operand(b), added,
       {wide.mutable_data_ptr<float>(), wide.stride(0)});
  EXPECT_TRUE((wide.slice(1, b.size(1)) == 7).all().item<bool>());
  return wide.slice(1, 0, b.size(1));
}

void expectClose(const at::Tensor &found, const at::Tensor &a,
                 const at::Tensor &b, const at::Tensor &addend = {}) {
  at::Tensor left = a.to(at::kDouble), right = b.to(at::kDouble);
  at::Tensor wanted = left.mm(right), bound = left.abs().mm(right.abs());
  if (addend.defined()) {
    wanted = wanted + addend.to(at::kDouble);
    bound = bound + addend.to(at::kDouble).abs();
  }
  // A sum of k products may be off by k roundings of its terms (N. Higham,
  // "Accuracy and Stability of Numerical Algorithms", 3.1).
  double unit = 6e-8 * double(a.size(1) + 2);
  at::Tensor error = (found.to(at::kDouble) - wanted).abs();
  EXPECT_TRUE((error <= bound * unit).all().item<bool>())
      << a.sizes() << " by " << b.sizes();
}

class Gemm : public VectorsTest {};

TEST_F(Gemm, MultipliesEveryLayout) {
  for (auto [m, k, n] : {std::tuple{8, 4, 4},
                         {2, 4, 5},
                         {4, 16, 16},
                         {1, 100, 37},
                         {3, 33, 4},
                         {5, 15, 66},
                         {7, 300, 131},
                         {8, 64, 64},
                         {63, 65, 1},
                         {64, 1024, 64},
                         {65, 1025, 129},
                         {9, 1500, 200},
                         {130, 17, 2049},
                         {300, 2100, 70}})
    for (bool left : {false, true})
      for (bool right : {false, true}) {
        at::Tensor a = matrix(m, k, left), b = matrix(k, n, right);
        expectClose(product(a, b), a, b);
      }
}

TEST_F(Gemm, AddsABiasOrAMatrix) {
  for (int64_t rows : {70, 5})
    for (bool right : {false, true}) {
      at::Tensor a = matrix(rows, 1100, false), b = matrix(1100, 90, right);
      for (const at::Tensor &addend :
           {at::randn({90}), at::randn({rows, 1}), at::randn({rows, 90}),
            at::randn({90, rows}).t(), at::randn({1, 1})})
        expectClose(product(a, b, addend), a, b, addend);
    }
}

TEST_F(Gemm, AddsToWhatIsThere) {
  for (auto [m, k] : {std::pair{200, 1300}, {20, 300}, {3, 77}})
    for (bool right : {false, true}) {
      at::Tensor a = matrix(m, k, true), b = matrix(k, 90, right);
      at::Tensor c = at::randn({m, 90}), before = c.clone();
      gemm(operand(a), operand(b), operand(c),
           {c.mutable_data_ptr<float>(), 90});
      expectClose(c, a, b, before);
    }
}

TEST_F(Gemm, CarriesWhatIsNotFinite) {
  for (int64_t rows : {70, 64, 4})
    for (bool right : {false, true}) {
      at::Tensor a = at::ones({rows, 70}), b = matrix(70, 64, right).fill_(1);
      a[3][69] = std::numeric_limits<float>::infinity();
      b[7][9] = std::numeric_limits<float>::quiet_NaN();
      at::Tensor c = product(a, b);
      EXPECT_TRUE(at::equal(c.isnan().nonzero().select(1, 1),
                            at::full({rows}, 9, at::kLong)));
      EXPECT_EQ(c.isinf().sum().item<int64_t>(), 63);
    }
}

TEST_F(Gemm, IsTheSameOnAnyNumberOfThreads) {
  for (auto [rows, right] :
       {std::pair{200, false}, {200, true}, {5, false}, {5, true}}) {
    at::Tensor a = matrix(rows, 1500, true), b = matrix(1500, 700, right);
    at::Tensor bias = at::randn({700});
    at::set_num_threads(1);
    noteThreadCount();
    at::Tensor alone = product(a, b, bias);
    at::set_num_threads(4);
    noteThreadCount();
    for (int round = 0; round < 20; ++round)
      EXPECT_TRUE(at::equal(product(a, b, bias), alone));
  }
}

class StreamedPanels : public VectorsTest {};

TEST_F(StreamedPanels, AreWhatIsPacked) {
  for (auto [rows, cols] : {std::pair{1, 64}, {40, 200}, {257, 128}})
    for (bool byColumns : {false, true}) {
      at::Tensor from = matrix(rows, cols, byColumns);
      at::Tensor room = at::zeros({2, Panels::roomFor(rows, cols)});
      Panels packed{room[0].mutable_data_ptr<float>(), rows, cols};
      Panels streamed{room[1].mutable_data_ptr<float>(), rows, cols};
      for (int64_t p = 0; p < packed.count(); ++p) {
        packed.pack(operand(from), p);
        streamed.stream(operand(from), p);
        for (int64_t row = 0; row < rows; ++row)
          for (int64_t col = 0; col < packed.width(p); ++col)
            ASSERT_EQ(streamed.at(p, row)[col], packed.at(p, row)[col]);
      }
    }
}

TEST(PackingHabit, StreamsWhilePackingIsSlow) {
  constexpr int64_t lines = PackingHabit::kTellingLines;
  PackingHabit habit;
  EXPECT_FALSE(habit.streams());
  habit.packed(lines, lines * PackingHabit::kFar);
  EXPECT_FALSE(habit.streams());
  habit.packed(lines - 1, std::chrono::seconds(1));
  EXPECT_FALSE(habit.streams());
  habit.packed(lines, 2 * lines * PackingHabit::kFar);
  for (int call = 0; call < PackingHabit::kStreamed; ++call)
    EXPECT_TRUE(habit.streams());
  EXPECT_FALSE(habit.streams()); // measured again
}

TEST_F(Gemm, LeavesVectorsAndOddStridesToATen) {
  EXPECT_FALSE(
      gemmPays(operand(at::randn({1, 64})), operand(at::randn({64, 64}))));
  EXPECT_FALSE(
      gemmPays(operand(at::randn({64, 64})), operand(at::randn({64, 1}))));
  at::Tensor everySecond = at::randn({64, 128}).slice(1, 0, 128, 2);
  EXPECT_FALSE(gemmPays(operand(everySecond), operand(at::randn({64, 64}))));
}

} // namespace
