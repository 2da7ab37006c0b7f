//===- training_test.cpp - Training as on the CPU -------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <ltc/ltc.h>

#include <gtest/gtest.h>
#include <torch/torch.h>

using torch::Tensor;
namespace nn = torch::nn;
namespace optim = torch::optim;

namespace {

nn::Sequential makeMlp() {
  return nn::Sequential(nn::Linear(6, 16), nn::ReLU(), nn::Dropout(0.2),
                        nn::LayerNorm(nn::LayerNormOptions({16})),
                        nn::Linear(16, 3));
}

nn::Sequential makeCnn() {
  return nn::Sequential(nn::Unflatten(nn::UnflattenOptions(1, {1, 2, 3})),
                        nn::Conv2d(nn::Conv2dOptions(1, 4, 3).padding(1)),
                        nn::BatchNorm2d(4), nn::ReLU(),
                        nn::MaxPool2d(nn::MaxPool2dOptions(2)), nn::Flatten(),
                        nn::Linear(4, 3));
}

nn::Sequential makeEncoder() {
  return nn::Sequential(
      nn::Unflatten(nn::UnflattenOptions(1, {3, 2})),
      nn::TransformerEncoderLayer(
          nn::TransformerEncoderLayerOptions(2, 1).dim_feedforward(8)),
      nn::Flatten(), nn::Linear(6, 3));
}

struct Job {
  const char *name;
  nn::Sequential (*makeModel)();
  std::unique_ptr<optim::Optimizer> (*makeOptimizer)(std::vector<Tensor>);
};

std::unique_ptr<optim::Optimizer> sgd(std::vector<Tensor> parameters) {
  return std::make_unique<optim::SGD>(
      std::move(parameters),
      optim::SGDOptions(0.1).momentum(0.9).weight_decay(1e-3));
}
std::unique_ptr<optim::Optimizer> adam(std::vector<Tensor> parameters) {
  return std::make_unique<optim::Adam>(std::move(parameters),
                                       optim::AdamOptions(0.01).amsgrad(true));
}
std::unique_ptr<optim::Optimizer> adamw(std::vector<Tensor> parameters) {
  return std::make_unique<optim::AdamW>(std::move(parameters),
                                        optim::AdamWOptions(0.01));
}
std::unique_ptr<optim::Optimizer> rmsprop(std::vector<Tensor> parameters) {
  return std::make_unique<optim::RMSprop>(
      std::move(parameters),
      optim::RMSpropOptions(0.01).momentum(0.5).centered(true));
}
std::unique_ptr<optim::Optimizer> adagrad(std::vector<Tensor> parameters) {
  return std::make_unique<optim::Adagrad>(std::move(parameters),
                                          optim::AdagradOptions(0.01));
}

class Training : public testing::TestWithParam<Job> {
protected:
  /// Losses of some steps, the first `stepsBefore` of them on the CPU.
  std::vector<double> train(torch::Device device, int stepsBefore) {
    torch::manual_seed(3);
    nn::Sequential model = GetParam().makeModel();
    model->to(torch::kDouble);
    auto optimizer = GetParam().makeOptimizer(model->parameters());
    std::vector<Tensor> losses;
    for (int step = 0; step < 12; ++step) {
      if (step == stepsBefore && device.is_lazy())
        ltc::to(*model, device, {optimizer.get()});
      torch::Device now = model->parameters()[0].device();
      Tensor x = torch::randn({8, 6}, torch::kDouble).to(now);
      Tensor y = torch::randint(3, {8}).to(now);
      Tensor loss = nn::functional::cross_entropy(model->forward(x), y);
      optimizer->zero_grad();
      loss.backward();
      optimizer->step();
      if (now.is_lazy())
        ltc::mark_step();
      losses.push_back(loss.detach());
    }
    std::vector<double> values;
    for (const Tensor &loss : losses)
      values.push_back(loss.item<double>());
    return values;
  }

  void expectAsOnCpu(int stepsBefore) {
    ltc::initialize({{"rng", "eager"}, {"fallback", "error"}});
    std::vector<double> wanted = train(torch::kCPU, 0);
    std::vector<double> found = train(ltc::device(), stepsBefore);
    ltc::initialize({{"rng", "fast"}, {"fallback", "cpu"}});
    for (size_t i = 0; i < wanted.size(); ++i)
      EXPECT_NEAR(found[i], wanted[i], 1e-11) << "step " << i;
  }
};

TEST_P(Training, EqualsTheCpus) { expectAsOnCpu(/*stepsBefore=*/0); }

TEST_P(Training, GoesOnFromTheCpus) { expectAsOnCpu(/*stepsBefore=*/4); }

TEST_P(Training, CompilesAFewGraphs) {
  int64_t before = ltc::metrics()["codegen.graphs"];
  train(ltc::device(), 0);
  EXPECT_LE(ltc::metrics()["codegen.graphs"] - before, 3);
}

INSTANTIATE_TEST_SUITE_P(Jobs, Training,
                         testing::Values(Job{"MlpSgd", makeMlp, sgd},
                                         Job{"MlpAdam", makeMlp, adam},
                                         Job{"MlpRmsprop", makeMlp, rmsprop},
                                         Job{"MlpAdagrad", makeMlp, adagrad},
                                         Job{"CnnAdamw", makeCnn, adamw},
                                         Job{"EncoderAdam", makeEncoder, adam}),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

struct Cube : torch::autograd::Function<Cube> {
  static Tensor forward(torch::autograd::AutogradContext *context,
                        const Tensor &x) {
    context->save_for_backward({x});
    return x * x * x;
  }
  static torch::autograd::variable_list
  backward(torch::autograd::AutogradContext *context,
           torch::autograd::variable_list grads) {
    Tensor x = context->get_saved_variables()[0];
    return {grads[0] * 3 * x * x};
  }
};

TEST(CppAutograd, TakesCustomFunctions) {
  Tensor x = torch::arange(4., ltc::device()).requires_grad_();
  Cube::apply(x).sum().backward();
  EXPECT_TRUE(x.grad().cpu().equal(3 * torch::arange(4.).square()));
}

} // namespace
