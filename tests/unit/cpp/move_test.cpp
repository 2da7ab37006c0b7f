//===- move_test.cpp - Modules to the device and back ---------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "errors.h"

#include <ltc/ltc.h>

#include <gtest/gtest.h>
#include <torch/torch.h>

using torch::Tensor;
namespace nn = torch::nn;

namespace {

struct Tied : nn::Module {
  Tied() {
    register_module("in", in);
    register_module("out", out);
    scale = register_parameter("scale", torch::ones({4}));
    // The same tensor under another name.
    register_parameter("again", scale);
    shift = register_buffer("shift", torch::zeros({4}));
  }
  Tensor forward(const Tensor &x) { return out(in(x)) * scale + shift; }

  nn::Linear in{4, 4}, out{4, 4};
  Tensor scale, shift;
};

void expectClose(const Tensor &found, const Tensor &wanted) {
  EXPECT_TRUE(torch::allclose(found.cpu(), wanted.cpu(), 1e-5, 1e-6))
      << found.cpu() << wanted.cpu();
}

/// Moved there and back, it computes what it did.
template <typename Module, typename... Inputs>
void goThereAndBack(Module module, const Inputs &...inputs) {
  module->eval();
  auto run = [&](torch::Device device) {
    return module->forward(inputs.to(device)...);
  };
  Tensor wanted, found, again;
  auto first = [](auto result) -> Tensor {
    if constexpr (std::is_same_v<decltype(result), Tensor>)
      return result;
    else
      return std::get<0>(result);
  };
  torch::NoGradGuard noGrad;
  wanted = first(run(torch::kCPU));
  SCOPED_TRACE(module->name());
  ASSERT_EQ(errorOf([&] { ltc::to(*module, ltc::device()); }), "");
  for (const Tensor &tensor : module->parameters())
    EXPECT_TRUE(tensor.is_lazy());
  for (const Tensor &tensor : module->buffers())
    EXPECT_TRUE(tensor.is_lazy());
  found = first(run(ltc::device()));
  EXPECT_TRUE(found.is_lazy());
  expectClose(found, wanted);
  ASSERT_EQ(errorOf([&] { ltc::to(*module, torch::kCPU); }), "");
  again = first(run(torch::kCPU));
  EXPECT_TRUE(again.equal(wanted));
}

TEST(MoveModule, MovesEveryKindOfModule) {
  torch::manual_seed(1);
  Tensor rows = torch::randn({4, 6}), images = torch::randn({2, 4, 5, 5});
  Tensor series = torch::randn({3, 2, 6}),
         volume = torch::randn({1, 4, 3, 3, 3});
  Tensor words = torch::tensor({{1, 2}, {0, 4}});
  goThereAndBack(nn::Linear(6, 3), rows);
  goThereAndBack(nn::Bilinear(6, 6, 2), rows, rows);
  goThereAndBack(nn::Conv1d(4, 3, 3), images.flatten(2));
  goThereAndBack(nn::Conv2d(4, 3, 3), images);
  goThereAndBack(nn::Conv3d(4, 3, 2), volume);
  goThereAndBack(nn::ConvTranspose1d(4, 3, 3), images.flatten(2));
  goThereAndBack(nn::ConvTranspose2d(4, 3, 3), images);
  goThereAndBack(nn::BatchNorm1d(6), rows);
  goThereAndBack(nn::BatchNorm2d(4), images);
  goThereAndBack(nn::BatchNorm3d(4), volume);
  goThereAndBack(nn::InstanceNorm2d(nn::InstanceNorm2dOptions(4).affine(true)),
                 images);
  goThereAndBack(nn::LayerNorm(nn::LayerNormOptions({6})), rows);
  goThereAndBack(nn::GroupNorm(2, 4), images);
  goThereAndBack(nn::PReLU(), rows);
  goThereAndBack(nn::Embedding(5, 3), words);
  goThereAndBack(nn::EmbeddingBag(5, 3), words);
  goThereAndBack(nn::RNN(6, 3), series);
  goThereAndBack(nn::LSTM(6, 3), series);
  goThereAndBack(nn::GRU(6, 3), series);
  goThereAndBack(nn::RNNCell(6, 3), rows);
  goThereAndBack(nn::LSTMCell(6, 3), rows);
  goThereAndBack(nn::GRUCell(6, 3), rows);
  goThereAndBack(nn::MultiheadAttention(6, 2), series, series, series);
  goThereAndBack(
      nn::TransformerEncoderLayer(
          nn::TransformerEncoderLayerOptions(6, 2).dim_feedforward(8)),
      series);
  auto makeLoss = [] { // with options that are gone, and keep no handle
    return nn::BCELoss(nn::BCELossOptions().weight(torch::rand({6})));
  };
  goThereAndBack(makeLoss(), rows.sigmoid(), rows.ge(0).to(torch::kFloat));
}

TEST(MoveModule, KeepsWhatIsShared) {
  auto module = std::make_shared<Tied>();
  Tensor x = torch::randn({2, 4});
  Tensor wanted = module->forward(x).detach();
  ltc::to(*module, ltc::device(), {}, {&module->scale, &module->shift});
  auto named = module->named_parameters();
  EXPECT_TRUE(named["scale"].is_same(named["again"]));
  EXPECT_TRUE(named["scale"].is_same(module->scale));
  EXPECT_TRUE(module->named_buffers()["shift"].is_same(module->shift));
  EXPECT_TRUE(named["scale"].requires_grad());
  EXPECT_FALSE(module->shift.requires_grad());
  expectClose(module->forward(x.to(ltc::device())), wanted);
}

TEST(MoveModule, MovesGradients) {
  nn::Linear module(3, 2);
  module(torch::ones({1, 3})).sum().backward();
  ltc::to(*module, ltc::device());
  expectClose(module->weight.grad(), torch::ones({2, 3}));
  EXPECT_TRUE(module->weight.grad().is_lazy());
}

TEST(MoveModule, RefusesToLeaveAHandleBehind) {
  auto module = std::make_shared<Tied>();
  std::string error = errorOf([&] { ltc::to(*module, ltc::device()); });
  EXPECT_SAYS(error, "1 handle of it is kept elsewhere");
  EXPECT_TRUE(module->in->weight.is_cpu() && module->scale.is_cpu());
  torch::optim::SGD sgd(module->in->parameters(), 0.1);
  error = errorOf([&] { ltc::to(*module->in, ltc::device()); });
  EXPECT_SAYS(error, "third argument");
  ltc::to(*module->in, ltc::device(), {&sgd});
  EXPECT_TRUE(sgd.parameters()[0].is_same(module->in->weight));
}

TEST(MoveModule, RefusesHooks) {
  nn::Linear module(3, 2);
  module->weight.register_hook([](Tensor grad) { return grad; });
  EXPECT_SAYS(errorOf([&] { ltc::to(*module, ltc::device()); }),
              "cannot move 'weight': it has hooks");
}

TEST(MoveModule, RefusesStateThatItDoesNotKnow) {
  nn::Linear module(3, 2);
  torch::optim::LBFGS lbfgs(module->parameters());
  lbfgs.step([&] {
    lbfgs.zero_grad();
    Tensor loss = module(torch::ones({1, 3})).square().sum();
    loss.backward();
    return loss;
  });
  EXPECT_SAYS(errorOf([&] { ltc::to(*module, ltc::device(), {&lbfgs}); }),
              "whose state it does not know");
}

TEST(MoveModule, SavesAndLoads) {
  nn::Linear module(3, 2), loaded(3, 2);
  ltc::to(*module, ltc::device());
  std::stringstream file;
  torch::save(module, file);
  torch::load(loaded, file, torch::kCPU);
  EXPECT_TRUE(loaded->weight.equal(module->weight.cpu()));
}

} // namespace
