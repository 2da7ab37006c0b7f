//===- step_end_test.cpp - Steps that end by themselves -------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <ltc/ltc.h>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <thread>

using torch::Tensor;
namespace nn = torch::nn;
namespace optim = torch::optim;

namespace {

int64_t graphsEnded() {
  auto metrics = ltc::metrics();
  return metrics["execute.launches"] + metrics["execute.interpreted"];
}

/// A linear layer, and how many graphs end while it is trained in some way.
class StepEnd : public testing::Test {
protected:
  StepEnd() {
    ltc::to(*model, ltc::device());
    // The first graph has the moves in it.
    ltc::synchronize();
  }
  ~StepEnd() override { ltc::initialize({{"auto_step", "true"}}); }

  Tensor loss() {
    return model->forward(torch::ones({2, 4}, ltc::device())).square().sum();
  }

  template <typename Turn> int64_t endedIn(int turns, const Turn &turn) {
    int64_t before = graphsEnded();
    for (int i = 0; i < turns; ++i)
      turn();
    return graphsEnded() - before;
  }

  int64_t endedBy(optim::Optimizer &optimizer) {
    return endedIn(4, [&] {
      optimizer.zero_grad();
      loss().backward();
      optimizer.step();
    });
  }

  nn::Linear model{4, 3};
};

// The fourth ends when the program goes on.
TEST_F(StepEnd, ComesAfterEachOptimizer) {
  std::vector<Tensor> all = model->parameters();
  optim::SGD sgd(all, optim::SGDOptions(0.01));
  optim::SGD momentum(all, optim::SGDOptions(0.01).momentum(0.9));
  optim::Adam adam(all);
  optim::AdamW adamw(all);
  optim::RMSprop rmsprop(all);
  optim::Adagrad adagrad(all);
  for (optim::Optimizer *each : std::initializer_list<optim::Optimizer *>{
           &sgd, &momentum, &adam, &adamw, &rmsprop, &adagrad}) {
    EXPECT_EQ(endedBy(*each), 3);
    EXPECT_EQ(endedIn(1, [&] { loss(); }), 1);
    ltc::synchronize();
  }
}

TEST_F(StepEnd, ComesAfterAnUpdateByHand) {
  int64_t ended = endedIn(4, [&] {
    model->zero_grad();
    loss().backward();
    torch::NoGradGuard noGrad;
    for (Tensor &parameter : model->parameters())
      parameter -= 0.01 * parameter.grad();
  });
  EXPECT_EQ(ended, 3);
}

TEST_F(StepEnd, ComesOnceForClippingAndSeveralOptimizers) {
  optim::Adam weight({model->weight}), bias({model->bias});
  int64_t ended = endedIn(4, [&] {
    model->zero_grad();
    loss().backward();
    nn::utils::clip_grad_value_(model->parameters(), 0.5);
    weight.step();
    bias.step();
    torch::NoGradGuard noGrad;
    model->weight.clamp_(-1, 1);
  });
  EXPECT_EQ(ended, 3);
}

TEST_F(StepEnd, LeavesViewsToTheStepThatReadsThem) {
  ltc::initialize({{"tiers", "off"}});
  optim::SGD sgd(model->parameters(), 0.01);
  auto compiledByEpoch = [&] {
    int64_t before = ltc::metrics()["codegen.graphs"];
    Tensor loss;
    for (int step = 0; step < 3; ++step) {
      Tensor x = torch::ones({2, 2, 2}).to(ltc::device());
      loss = model->forward(x.flatten(1)).square().sum();
      sgd.zero_grad();
      loss.backward();
      sgd.step();
    }
    model->weight.cpu();
    loss.item<float>();
    return ltc::metrics()["codegen.graphs"] - before;
  };
  EXPECT_GT(compiledByEpoch(), 0);
  EXPECT_EQ(compiledByEpoch(), 0);
  ltc::initialize({{"tiers", "auto"}});
}

TEST_F(StepEnd, ComesNotWhereGradientsAccumulate) {
  optim::SGD sgd(model->parameters(), 0.01);
  int64_t ended = endedIn(3, [&] {
    sgd.zero_grad();
    for (int part = 0; part < 4; ++part)
      loss().backward();
    sgd.step();
  });
  EXPECT_EQ(ended, 2);
}

TEST_F(StepEnd, ComesNotAfterWritesToAnythingElse) {
  Tensor average = torch::zeros({4}, ltc::device());
  int64_t ended = endedIn(4, [&] {
    {
      torch::NoGradGuard noGrad;
      average.mul_(0.9).add_(1);
      model->weight.clamp_(-1, 1); // has no gradient yet
    }
    Tensor x = average.relu();
    x.add_(1);
  });
  EXPECT_EQ(ended, 0);
}

TEST_F(StepEnd, ComesOnceWhereTheProgramEndsIt) {
  optim::Adam adam(model->parameters());
  int64_t ended = endedIn(4, [&] {
    adam.zero_grad();
    loss().backward();
    adam.step();
    ltc::mark_step();
  });
  EXPECT_EQ(ended, 4);
}

TEST_F(StepEnd, ComesNotWithoutTheSetting) {
  ltc::initialize({{"auto_step", "false"}});
  optim::Adam adam(model->parameters());
  EXPECT_EQ(endedBy(adam), 0);
}

TEST_F(StepEnd, IsEachThreadsOwn) {
  optim::Adam adam(model->parameters());
  adam.zero_grad();
  loss().backward();
  adam.step();
  int64_t ended = 1;
  std::thread other([&] {
    ended = endedIn(1, [] { torch::ones({3}, ltc::device()).add(1); });
  });
  other.join();
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(endedIn(1, [&] { loss(); }), 1);
}

} // namespace
