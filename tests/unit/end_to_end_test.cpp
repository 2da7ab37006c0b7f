//===- end_to_end_test.cpp - From graph text to results on the CPU --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/engine.h"
#include "ltc/kernels.h"
#include "ltc/metrics.h"
#include "ltc/settings.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <thread>

using namespace ltc;

namespace {

/// aten::mm over strided views, as a library would lend it.
class MatrixProduct final : public Kernel {
public:
  Status run(std::span<const KernelView> operands,
             std::span<const KernelView> results) override {
    const KernelView &a = operands[0], &b = operands[1], &c = results[0];
    for (int64_t i = 0; i < c.sizes[0]; ++i)
      for (int64_t j = 0; j < c.sizes[1]; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < a.sizes[1]; ++k)
          sum += at(a, i, k) * at(b, k, j);
        at(c, i, j) = sum;
      }
    return {};
  }

private:
  static float &at(const KernelView &view, int64_t i, int64_t j) {
    return static_cast<float *>(
        view.data)[i * view.strides[0] + j * view.strides[1]];
  }
};

Result<std::unique_ptr<Kernel>> provide(const Graph &call) {
  if (call.nodes[0].op == "aten::mm")
    return std::unique_ptr<Kernel>(std::make_unique<MatrixProduct>());
  return Error{ErrorCode::Unsupported,
               Stage::Execute,
               "not in this library",
               "",
               {},
               ""};
}

void twoThreads(int64_t n, int64_t grain,
                void (*body)(int64_t, int64_t, void *), void *argument) {
  int64_t half = std::max(grain, (n + 1) / 2);
  if (half >= n)
    return body(0, n, argument);
  std::thread other(body, half, n, argument);
  body(0, half, argument);
  other.join();
}

class EndToEnd : public ::testing::Test {
protected:
  static void SetUpTestSuite() { setHostServices({provide, twoThreads}); }
  void SetUp() override {
    ASSERT_TRUE(set("device", "cpu"));
    ASSERT_TRUE(set("cache", "off"));
    Result<Engine *> opened = engineFor(0);
    ASSERT_TRUE(opened) << opened.error().str();
    engine = *opened;
  }

  ExecutablePtr compile(std::string_view text) {
    Result<Graph> graph = Graph::parse(text);
    EXPECT_TRUE(graph) << graph.error().str();
    Result<ExecutablePtr> executable = engine->compile(*graph);
    EXPECT_TRUE(executable) << executable.error().str();
    return executable ? *executable : nullptr;
  }

  template <typename T>
  LaunchArgument tensor(std::vector<int64_t> dims, std::vector<T> values) {
    DType dtype = std::is_same_v<T, float> ? DType::F32 : DType::I64;
    return {*engine->upload({dtype, std::move(dims)}, values.data()), {}};
  }
  static LaunchArgument scalar(double value) {
    LaunchArgument argument;
    argument.real = value;
    return argument;
  }
  std::vector<BufferPtr> launch(const ExecutablePtr &executable,
                                std::vector<LaunchArgument> arguments) {
    auto results = engine->launch(executable, std::move(arguments));
    EXPECT_TRUE(results) << results.error().str();
    return results ? *results : std::vector<BufferPtr>();
  }
  std::vector<float> read(const BufferPtr &buffer) {
    std::vector<float> values(size_t(buffer->type().elements()));
    Status status = engine->download(buffer, values.data());
    EXPECT_TRUE(status) << status.error().str();
    return values;
  }

  Engine *engine = nullptr;
};

TEST_F(EndToEnd, AStepInPlaceWithAScalarThatChanges) {
  ExecutablePtr step = compile(R"(graph {
  %0 = input f32[300, 70]
  %1 = input f32[70]
  %2 = input scalar f64
  %3 = aten::add.Tensor(self=%0, other=%1, alpha=%2) : f32[300, 70]
  %4 = aten::sum.dim_IntList(self=%3, dim=[1], keepdim=false, dtype=none) : f32[300]
  output %3 donates %0
  output %4
})");
  ASSERT_NE(step, nullptr);
  std::vector<float> x(300 * 70), y(70);
  std::iota(x.begin(), x.end(), 0.0f);
  std::iota(y.begin(), y.end(), 1.0f);
  LaunchArgument parameter = tensor({300, 70}, x);
  LaunchArgument gradient = tensor({70}, y);
  size_t before = engine->memory().allocated;
  for (double rate : {0.5, -2.0, 0.25}) {
    std::vector<BufferPtr> results =
        launch(step, {parameter, gradient, scalar(rate)});
    ASSERT_EQ(results.size(), 2u);
    parameter.buffer = results[0];
    for (size_t i = 0; i < x.size(); ++i)
      x[i] += float(rate) * y[i % 70];
    EXPECT_EQ(read(results[0]), x);
    std::vector<float> sums = read(results[1]);
    for (size_t row = 0; row < 300; ++row) {
      double sum = std::accumulate(&x[row * 70], &x[row * 70] + 70, 0.0);
      EXPECT_NEAR(sums[row], sum, std::fabs(sum) * 1e-6) << row;
    }
  }
  // The parameter was updated in its own memory.
  EXPECT_TRUE(engine->synchronize());
  EXPECT_LE(engine->memory().allocated,
            before + size_t(*step->artifact().arenaBytes({})) + 4096);
}

TEST_F(EndToEnd, LibraryCallsStandInsideTheGraph) {
  ExecutablePtr layer = compile(R"(graph {
  %0 = input f32[2, 3]
  %1 = input f32[3, 2]
  %2 = aten::mm(self=%0, mat2=%1) : f32[2, 2]
  %3 = aten::relu(self=%2) : f32[2, 2]
  output %3
})");
  ASSERT_NE(layer, nullptr);
  EXPECT_EQ(layer->artifact().calls.size(), 1u);
  auto results = launch(layer, {tensor<float>({2, 3}, {1, 2, 3, -1, -2, -3}),
                                tensor<float>({3, 2}, {1, 0, 0, 1, 1, 1})});
  EXPECT_EQ(read(results[0]), (std::vector<float>{4, 5, 0, 0}));
}

TEST_F(EndToEnd, AnOpThatNobodyHasIsNamed) {
  auto failed = engine->compile(*Graph::parse(R"(graph {
  %0 = input f32[4]
  %1 = aten::no_such_op(self=%0) : f32[4]
  output %1
})"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::Unsupported);
  EXPECT_NE(failed.error().str().find("aten::no_such_op"), std::string::npos)
      << failed.error().str();
}

TEST_F(EndToEnd, AnIndexOutOfRangeNamesOpShapesAndLine) {
  ExecutablePtr select = compile(R"(graph {
  %0 = input f32[5, 3]
  %1 = input i64[2]
  %2 = aten::index_select(self=%0, dim=0, index=%1) : f32[2, 3] loc "train.py":41 "forward"
  output %2
})");
  ASSERT_NE(select, nullptr);
  std::vector<float> table(15);
  std::iota(table.begin(), table.end(), 0.0f);
  LaunchArgument x = tensor({5, 3}, table);
  BufferPtr bad = launch(select, {x, tensor<int64_t>({2}, {1, 5})})[0];
  BufferPtr good = launch(select, {x, tensor<int64_t>({2}, {4, 0})})[0];
  Status status = bad->wait();
  ASSERT_FALSE(status);
  const Error &error = status.error();
  EXPECT_EQ(error.code, ErrorCode::OutOfRange);
  EXPECT_EQ(error.op, "aten::index_select");
  EXPECT_EQ(error.source.str(), "train.py:41 in forward");
  EXPECT_NE(error.message.find("f32[5, 3]"), std::string::npos)
      << error.message;
  EXPECT_NE(error.message.find("5 is out of bounds"), std::string::npos)
      << error.message;
  EXPECT_EQ(read(good), (std::vector<float>{12, 13, 14, 0, 1, 2}));
  EXPECT_TRUE(engine->synchronize()); // seen already
}

TEST_F(EndToEnd, EqualGraphsGiveEqualArtifacts) {
  std::string_view text = "graph {\n  %0 = input f32[64]\n  %1 = "
                          "aten::exp(self=%0) : f32[64]\n  output %1\n}\n";
  ExecutablePtr first = compile(text);
  engine->clearCache();
  ExecutablePtr second = compile(text);
  ASSERT_NE(first, second);
  EXPECT_EQ(first->artifact().serialize(), second->artifact().serialize());
  EXPECT_EQ(first->artifact().graphText, text);
}

} // namespace
