//===- training_test.cpp - Whole steps of training ------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// training.ltc is one step of a network of two layers: the loss, its gradients
// and SGD with momentum, which updates all in place.
//
//===----------------------------------------------------------------------===//
#include "real_host.h"

using namespace conformance;
using namespace ltc;

namespace conformance {
extern "C" const char conformance_training_begin[], conformance_training_end[];
}

namespace {

/// Inputs of training.ltc.
constexpr size_t kState[] = {0, 1, 3, 4, 6, 7, 8, 9}, kFirstMomentum = 4;
constexpr size_t kMomentum = 10, kRate = 11, kDampening = 12;
constexpr int kSteps = 25;

struct Trained {
  Values losses;
  std::vector<Values> state;
};

class Training : public RealHost {
protected:
  static Graph step() {
    return parse({conformance_training_begin, conformance_training_end});
  }

  /// Losses are read at the end: steps wait for nothing.
  std::optional<Trained> train(Engine &on) {
    Graph graph = step();
    std::vector<LaunchArgument> state;
    for (size_t i = 0; i < std::size(kState); ++i) {
      Value value = made(graph.inputs[kState[i]], i);
      for (double &element : value.values)
        element *= i < kFirstMomentum ? 0.3 : 0;
      state.push_back(upload(on, value));
    }
    std::vector<BufferPtr> losses;
    for (int n = 0; n < kSteps; ++n) {
      auto results = run(on, graph, argumentsOf(on, graph, state, n));
      if (!results)
        return std::nullopt;
      losses.push_back((*results)[0]);
      for (size_t i = 0; i < state.size(); ++i)
        state[i].buffer = (*results)[1 + i];
    }
    Trained trained;
    for (const BufferPtr &loss : losses)
      trained.losses.push_back(download(on, loss)[0]);
    for (const LaunchArgument &one : state)
      trained.state.push_back(download(on, one.buffer));
    return trained;
  }

private:
  std::vector<LaunchArgument>
  argumentsOf(Engine &on, const Graph &graph,
              const std::vector<LaunchArgument> &state, int n) {
    std::vector<LaunchArgument> arguments(graph.inputs.size());
    for (size_t i = 0; i < state.size(); ++i)
      arguments[kState[i]] = state[i];
    arguments[2] = upload(on, made(graph.inputs[2], 100 + uint64_t(n % 4)));
    arguments[5] = upload(on, made(graph.inputs[5], 200 + uint64_t(n % 4)));
    arguments[kMomentum].real = 0.8;
    arguments[kRate].real = 0.1 / (1 + 0.1 * n);
    arguments[kDampening].real = 0;
    return arguments;
  }
};

TEST_F(Training, LossesAndWeightsAreTheReferences) {
  std::optional<Trained> mine = train(*engine);
  if (!mine)
    return;
  std::optional<Trained> wanted = train(*reference);
  ASSERT_TRUE(wanted);
  expectClose(mine->losses, wanted->losses, 1e-3, "the losses");
  EXPECT_LT(mine->losses.back(), 0.8 * mine->losses.front());
  for (size_t i = 0; i < mine->state.size(); ++i)
    expectClose(mine->state[i], wanted->state[i], 1e-3,
                "state " + std::to_string(i));
}

TEST_F(Training, TrainsTheSameAgain) {
  std::optional<Trained> first = train(*engine);
  if (!first)
    return;
  std::optional<Trained> second = train(*engine);
  ASSERT_TRUE(second);
  expectClose(second->losses, first->losses, 1e-6, "the losses");
}

TEST_F(Training, AFailedStepLosesNothing) {
  Graph graph = parse(R"(graph {
  %0 = input f32[4, 3]
  %1 = input i64[2]
  %2 = aten::index_select(self=%0, dim=0, index=%1) : f32[2, 3]
  %3 = aten::sum(self=%2, dtype=none) : f32[]
  %4 = aten::add.Tensor(self=%0, other=%3, alpha=1) : f32[4, 3]
  output %4 donates %0
})");
  Value weight = made(graph.inputs[0], 1), good = made(graph.inputs[1], 2, 4);
  Value bad = good;
  bad.values[1] = 9;
  std::vector<LaunchArgument> arguments = {upload(*engine, weight),
                                           upload(*engine, good)};
  auto first = run(*engine, graph, arguments);
  if (!first)
    return;
  Values before = download(*engine, (*first)[0]);
  LaunchArgument trained;
  trained.buffer = (*first)[0];
  arguments = {trained, upload(*engine, bad)};
  Result<ExecutablePtr> executable = engine->compile(graph);
  ASSERT_TRUE(executable);
  auto failed = engine->launch(*executable, arguments);
  ASSERT_TRUE(failed);
  Status status = (*failed)[0]->wait();
  ASSERT_FALSE(status) << "an index of 9 among 4 rows";
  EXPECT_EQ(status.error().code, ErrorCode::OutOfRange);
  expectClose(download(*engine, (*first)[0]), before, 0, "the weight");
  (void)engine->synchronize();
  arguments = {trained, upload(*engine, good)};
  EXPECT_TRUE(run(*engine, graph, arguments)) << "the step after it";
}

} // namespace
