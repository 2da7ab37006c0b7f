//===- no_torch_test.cpp - Library calls in a process without torch -------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/cpu_kernels.h"
#include "ltc/engine.h"
#include "ltc/settings.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <fstream>
#include <random>
#include <set>
#include <thread>

using namespace ltc;

namespace {

using Values = std::vector<float>;

/// Graphs compiled and run as an ahead-of-time program would.
class NoTorch : public ::testing::Test {
protected:
  static void SetUpTestSuite() { kernels::install(); }
  void SetUp() override {
    ASSERT_TRUE(set("device", "cpu"));
    ASSERT_TRUE(set("cache", "off"));
    Result<Engine *> opened = engineFor(0);
    ASSERT_TRUE(opened) << opened.error().str();
    engine = *opened;
  }

  Values random(size_t count) {
    std::uniform_real_distribution<float> numbers(-1, 1);
    Values values(count);
    for (float &value : values)
      value = numbers(generator);
    return values;
  }

  /// The results of a graph whose inputs are these.
  std::vector<Values>
  runAll(const std::string &text,
         std::vector<std::pair<std::vector<int64_t>, Values>> inputs) {
    Result<Graph> graph = Graph::parse(text);
    EXPECT_TRUE(graph) << graph.error().str();
    Result<ExecutablePtr> executable = engine->compile(*graph);
    if (!executable) {
      ADD_FAILURE() << executable.error().str();
      return {};
    }
    std::vector<LaunchArgument> arguments;
    for (auto &[dims, values] : inputs)
      arguments.push_back(
          {*engine->upload({DType::F32, dims}, values.data()), {}});
    auto results = engine->launch(*executable, std::move(arguments));
    EXPECT_TRUE(results) << results.error().str();
    std::vector<Values> all;
    for (const BufferPtr &result : *results) {
      Values &found = all.emplace_back(size_t(result->type().elements()));
      Status status = engine->download(result, found.data());
      EXPECT_TRUE(status) << status.error().str();
    }
    return all;
  }
  Values run(const std::string &text,
             std::vector<std::pair<std::vector<int64_t>, Values>> inputs) {
    std::vector<Values> all = runAll(text, std::move(inputs));
    return all.empty() ? Values() : all[0];
  }

  Engine *engine = nullptr;
  std::mt19937 generator{7};
};

/// Sums of k products of numbers below 1.
void expectClose(const Values &found, const Values &wanted, int64_t k) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i)
    ASSERT_NEAR(found[i], wanted[i], 1e-6 * double(k)) << i;
}

/// a (m, k) by b (k, n), or with `turned` by its transpose (n, k).
Values product(const float *a, const float *b, int64_t m, int64_t k, int64_t n,
               bool turned = false) {
  Values c;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum +=
            double(a[i * k + l]) * double(turned ? b[j * k + l] : b[l * n + j]);
      c.push_back(float(sum));
    }
  return c;
}

std::string size(std::initializer_list<int64_t> dims) {
  return TensorType{DType::F32, dims}.str();
}

TEST_F(NoTorch, MultipliesMatrices) {
  for (auto [m, k, n] : {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1},
                         {2, 3, 1},
                         {7, 64, 33},
                         {128, 300, 70},
                         {65, 1100, 130}}) {
    Values a = random(m * k), b = random(k * n);
    expectClose(run("graph {\n  %0 = input " + size({m, k}) +
                        "\n  %1 = input " + size({k, n}) +
                        "\n  %2 = aten::mm(self=%0, mat2=%1) : " +
                        size({m, n}) + "\n  output %2\n}\n",
                    {{{m, k}, a}, {{k, n}, b}}),
                product(a.data(), b.data(), m, k, n), k);
  }
}

/// A layer: a transposed weight, a bias along the rows, factors of both.
TEST_F(NoTorch, AddsToProducts) {
  for (double factor : {1.0, 0.5}) {
    int64_t m = 40, k = 96, n = 50;
    Values a = random(m * k), b = random(n * k), bias = random(n);
    Values wanted = product(a.data(), b.data(), m, k, n, /*turned=*/true);
    for (int64_t i = 0; i < m * n; ++i)
      wanted[i] = float(factor * wanted[i] + factor * bias[i % n]);
    std::string number = factor == 1 ? "1" : "0.5";
    expectClose(run("graph {\n  %0 = input f32[50]\n  %1 = input f32[40, 96]\n"
                    "  %2 = input f32[50, 96]\n"
                    "  %3 = aten::t(self=%2) : f32[96, 50]\n"
                    "  %4 = aten::addmm(self=%0, mat1=%1, mat2=%3, beta=" +
                        number + ", alpha=" + number +
                        ") : f32[40, 50]\n  output %4\n}\n",
                    {{{n}, bias}, {{m, k}, a}, {{n, k}, b}}),
                wanted, k);
  }
}

TEST_F(NoTorch, MultipliesBatches) {
  int64_t batches = 5, m = 12, k = 33, n = 20;
  Values a = random(batches * m * k), b = random(batches * k * n), wanted;
  for (int64_t i = 0; i < batches; ++i) {
    Values one = product(&a[i * m * k], &b[i * k * n], m, k, n);
    wanted.insert(wanted.end(), one.begin(), one.end());
  }
  expectClose(
      run("graph {\n  %0 = input f32[5, 12, 33]\n  %1 = input f32[5, 33, 20]\n"
          "  %2 = aten::bmm(self=%0, mat2=%1) : f32[5, 12, 20]\n"
          "  output %2\n}\n",
          {{{batches, m, k}, a}, {{batches, k, n}, b}}),
      wanted, k);
}

/// 3x3 with a border of zeros, by plain sums and, of many channels, by
/// Winograd's method where the processor has the vectors for it.
TEST_F(NoTorch, Convolves) {
  for (int64_t channels : {3, 64}) {
    int64_t side = 20, plane = side * side, kernels = channels;
    Values image = random(2 * channels * plane),
           weight = random(kernels * channels * 9), bias = random(kernels);
    Values wanted;
    for (int64_t n = 0; n < 2; ++n)
      for (int64_t k = 0; k < kernels; ++k)
        for (int64_t p = 0; p < plane; ++p) {
          double sum = bias[k];
          for (int64_t tap = 0; tap < channels * 9; ++tap) {
            int64_t y = p / side + tap % 9 / 3 - 1, x = p % side + tap % 3 - 1;
            if (y >= 0 && y < side && x >= 0 && x < side)
              sum +=
                  double(
                      image[(n * channels + tap / 9) * plane + y * side + x]) *
                  double(weight[k * channels * 9 + tap]);
          }
          wanted.push_back(float(sum));
        }
    std::vector<int64_t> images{2, channels, side, side},
        weights{kernels, channels, 3, 3};
    std::string type = TensorType{DType::F32, images}.str();
    expectClose(
        run("graph {\n  %0 = input " + type + "\n  %1 = input " +
                TensorType{DType::F32, weights}.str() + "\n  %2 = input " +
                size({kernels}) +
                "\n  %3 = aten::convolution(input=%0, weight=%1, bias=%2, "
                "stride=[1, 1], padding=[1, 1], dilation=[1, 1], "
                "transposed=false, output_padding=[0, 0], groups=1) : " +
                type + "\n  output %3\n}\n",
            {{images, image}, {weights, weight}, {{kernels}, bias}}),
        wanted, channels * 9);
  }
}

/// Every other place, two groups, a window with gaps; and the transposed one
/// that goes the same way back.
TEST_F(NoTorch, ConvolvesInAnyGeometry) {
  Values ones(2 * 4 * 9 * 9, 1), weight(4 * 2 * 2 * 2, 1);
  Values found = run(
      "graph {\n  %0 = input f32[2, 4, 9, 9]\n  %1 = input f32[4, 2, 2, 2]\n"
      "  %2 = aten::convolution(input=%0, weight=%1, bias=none, stride=[2, 2], "
      "padding=[1, 0], dilation=[3, 3], transposed=false, "
      "output_padding=[0, 0], groups=2) : f32[2, 4, 4, 3]\n  output %2\n}\n",
      {{{2, 4, 9, 9}, ones}, {{4, 2, 2, 2}, weight}});
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_EQ(found[i], i / 3 % 4 == 0 ? 4 : 8) << i; // a line outside
  Values back = run(
      "graph {\n  %0 = input f32[1, 2, 2, 2]\n  %1 = input f32[2, 1, 3, 3]\n"
      "  %2 = aten::convolution(input=%0, weight=%1, bias=none, stride=[2, 2], "
      "padding=[0, 0], dilation=[1, 1], transposed=true, "
      "output_padding=[0, 0], groups=1) : f32[1, 1, 5, 5]\n  output %2\n}\n",
      {{{1, 2, 2, 2}, Values(8, 1)}, {{2, 1, 3, 3}, Values(18, 1)}});
  for (int64_t y = 0; y < 5; ++y)
    for (int64_t x = 0; x < 5; ++x)
      EXPECT_EQ(back[y * 5 + x], 2 * (y == 2 ? 2 : 1) * (x == 2 ? 2 : 1));
}

/// One head of causal attention and its gradients, from the definition.
struct Head {
  Head(const float *q, const float *k, const float *v, const float *grad,
       int64_t length, int64_t width) {
    std::vector<double> dq(length * width), dk(dq), dv(dq);
    double scale = 1 / std::sqrt(double(width));
    auto dot = [&](const float *a, const float *b) {
      double sum = 0;
      for (int64_t i = 0; i < width; ++i)
        sum += double(a[i]) * double(b[i]);
      return sum;
    };
    for (int64_t i = 0; i < length; ++i) {
      std::vector<double> weights(i + 1), row(width);
      double sum = 0, along = 0;
      for (int64_t j = 0; j <= i; ++j)
        sum += weights[j] = std::exp(scale * dot(q + i * width, k + j * width));
      for (int64_t j = 0; j <= i; ++j)
        for (int64_t c = 0; c < width; ++c)
          row[c] += (weights[j] / sum) * v[j * width + c];
      for (int64_t c = 0; c < width; ++c)
        along += row[c] * grad[i * width + c];
      output.insert(output.end(), row.begin(), row.end());
      for (int64_t j = 0; j <= i; ++j) {
        double weight = weights[j] / sum;
        double score =
            scale * weight * (dot(grad + i * width, v + j * width) - along);
        for (int64_t c = 0; c < width; ++c) {
          dv[j * width + c] += weight * grad[i * width + c];
          dq[i * width + c] += score * k[j * width + c];
          dk[j * width + c] += score * q[i * width + c];
        }
      }
    }
    gradients = {Values(dq.begin(), dq.end()), Values(dk.begin(), dk.end()),
                 Values(dv.begin(), dv.end())};
  }

  Values output;
  std::vector<Values> gradients;
};

/// Keys that are turned over, and blocks of panels, by the library's own.
TEST_F(NoTorch, Attends) {
  if (!kernels::hasRecurrentLayers())
    GTEST_SKIP() << "no AVX2";
  std::vector<int64_t> shape{1, 2, 150, 20};
  std::vector<std::pair<std::vector<int64_t>, Values>> inputs;
  for (int i = 0; i < 4; ++i)
    inputs.push_back({shape, random(2 * 150 * 20)});
  std::vector<Values> found = runAll(
      R"(graph {
  %0 = input f32[1, 2, 150, 20]
  %1 = input f32[1, 2, 150, 20]
  %2 = input f32[1, 2, 150, 20]
  %3 = input f32[1, 2, 150, 20]
  %4, %5 = aten::_scaled_dot_product_flash_attention_for_cpu(query=%0, key=%1, value=%2, dropout_p=0.0, is_causal=true, attn_mask=none, scale=none) : f32[1, 2, 150, 20], f32[1, 2, 150]
  %6, %7, %8 = aten::_scaled_dot_product_flash_attention_for_cpu_backward(grad_out=%3, query=%0, key=%1, value=%2, out=%4, logsumexp=%5, dropout_p=0.0, is_causal=true, attn_mask=none, scale=none) : f32[1, 2, 150, 20], f32[1, 2, 150, 20], f32[1, 2, 150, 20]
  output %4
  output %6
  output %7
  output %8
})",
      inputs);
  ASSERT_EQ(found.size(), 4u);
  std::vector<Values> wanted(4);
  for (int64_t head = 0; head < 2; ++head) {
    auto of = [&](size_t input) { return &inputs[input].second[head * 3000]; };
    Head one(of(0), of(1), of(2), of(3), 150, 20);
    one.gradients.insert(one.gradients.begin(), one.output);
    for (size_t i = 0; i < 4; ++i)
      wanted[i].insert(wanted[i].end(), one.gradients[i].begin(),
                       one.gradients[i].end());
  }
  for (size_t i = 0; i < 4; ++i)
    expectClose(found[i], wanted[i], 20);
}

/// The library's own threads, with none lent.
TEST_F(NoTorch, SharesLoops) {
  struct Loop {
    std::vector<std::atomic<int>> visits = std::vector<std::atomic<int>>(1000);
  } loop;
  std::thread([&] {
    for (int round = 0; round < 3; ++round)
      hostServices().parallelFor(
          1000, 1,
          [](int64_t begin, int64_t end, void *data) {
            for (int64_t i = begin; i < end; ++i)
              ++static_cast<Loop *>(data)->visits[i];
          },
          &loop);
  }).join();
  for (const std::atomic<int> &visits : loop.visits)
    EXPECT_EQ(visits, 3);
  EXPECT_EQ(hostThreads(), std::thread::hardware_concurrency());
}

TEST_F(NoTorch, SaysWhatItHasNoKernelFor) {
  Result<Graph> graph =
      Graph::parse("graph {\n  %0 = input f32[3, 3]\n  %1, %2 = aten::qr("
                   "self=%0, some=true) : f32[3, 3], f32[3, 3]\n"
                   "  output %1\n  output %2\n}\n");
  ASSERT_TRUE(graph);
  auto kernel = kernels::resolve(*graph);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().code, ErrorCode::Unsupported);
  EXPECT_NE(kernel.error().str().find("aten::qr needs a library kernel"),
            std::string::npos);
}

TEST_F(NoTorch, MapsNoTorch) {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  bool mapsKernels = false;
  while (std::getline(maps, line)) {
    EXPECT_EQ(line.find("libtorch"), std::string::npos) << line;
    EXPECT_EQ(line.find("libc10"), std::string::npos) << line;
    mapsKernels |= line.find("libltc_kernels_cpu") != std::string::npos;
  }
  EXPECT_TRUE(mapsKernels);
}

} // namespace
