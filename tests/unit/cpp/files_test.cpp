//===- files_test.cpp - What programs save and load -----------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "errors.h"

#include <ltc/ltc.h>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <filesystem>
#include <sstream>
#include <unistd.h>

using torch::Tensor;
namespace nn = torch::nn;
namespace optim = torch::optim;

namespace {

nn::Sequential makeModel() {
  return nn::Sequential(nn::Linear(4, 8), nn::BatchNorm1d(8), nn::Tanh(),
                        nn::Linear(8, 1));
}

/// A model and its optimizer, on the device or not.
struct Training {
  using Make = std::unique_ptr<optim::Optimizer> (*)(std::vector<Tensor>);
  Training(Make make, torch::Device device) : device(device) {
    torch::manual_seed(5);
    if (device.is_lazy())
      ltc::to(*model, device);
    optimizer = make(model->parameters());
  }

  std::vector<double> train(int steps, int first) {
    std::vector<double> losses;
    for (int step = first; step < first + steps; ++step) {
      torch::manual_seed(step);
      Tensor x = torch::randn({6, 4}).to(device);
      auto closure = [&] {
        optimizer->zero_grad();
        Tensor loss = (model->forward(x) - x.sum(1, true)).square().mean();
        loss.backward();
        return loss;
      };
      losses.push_back(optimizer->step(closure).item<double>());
    }
    return losses;
  }

  torch::Device device;
  nn::Sequential model = makeModel();
  std::unique_ptr<optim::Optimizer> optimizer;
};

template <typename Kind, typename Options>
std::unique_ptr<optim::Optimizer> make(std::vector<Tensor> parameters) {
  Options options(0.05);
  if constexpr (std::is_same_v<Kind, optim::SGD>)
    options.momentum(0.9);
  return std::make_unique<Kind>(std::move(parameters), options);
}

// libtorch itself cannot save LBFGS's state.
const std::pair<const char *, Training::Make> kOptimizers[] = {
    {"SGD", make<optim::SGD, optim::SGDOptions>},
    {"Adam", make<optim::Adam, optim::AdamOptions>},
    {"AdamW", make<optim::AdamW, optim::AdamWOptions>},
    {"RMSprop", make<optim::RMSprop, optim::RMSpropOptions>},
    {"Adagrad", make<optim::Adagrad, optim::AdagradOptions>},
};

TEST(Files, TrainingGoesOnFromThem) {
  for (auto [name, make] : kOptimizers) {
    SCOPED_TRACE(name);
    Training first(make, ltc::device());
    first.train(3, 0);
    std::stringstream model, optimizer;
    ltc::save(first.model, model);
    ltc::save(*first.optimizer, optimizer);
    std::vector<double> wanted = first.train(3, 3);

    Training second(make, ltc::device());
    second.train(1, 7); // has a state of its own, which goes
    ltc::load(second.model, model);
    ltc::load(*second.optimizer, optimizer);
    for (const Tensor &buffer : second.model->buffers())
      EXPECT_TRUE(buffer.is_lazy());
    EXPECT_EQ(second.train(3, 3), wanted);
  }
}

TEST(Files, AreAsIfWrittenOnTheCpu) {
  std::string path = std::filesystem::temp_directory_path() /
                     ("ltc_files_" + std::to_string(getpid()));
  Training lazy(kOptimizers[1].second, ltc::device());
  lazy.train(2, 0);
  ltc::save(lazy.model, path);
  Training eager(kOptimizers[1].second, torch::kCPU);
  torch::load(eager.model, path);
  for (size_t i = 0; i < eager.model->parameters().size(); ++i)
    EXPECT_TRUE(
        eager.model->parameters()[i].equal(lazy.model->parameters()[i].cpu()));
  for (size_t i = 0; i < eager.model->buffers().size(); ++i)
    EXPECT_TRUE(
        eager.model->buffers()[i].equal(lazy.model->buffers()[i].cpu()));
  // And the other way round, with what torch::save() wrote on the CPU.
  eager.train(2, 2);
  torch::save(eager.model, path);
  ltc::load(lazy.model, path);
  EXPECT_TRUE(
      lazy.model->parameters()[0].cpu().equal(eager.model->parameters()[0]));
  std::filesystem::remove(path);
}

TEST(Files, HoldTensors) {
  Tensor saved = torch::arange(6., ltc::device()).view({2, 3}).mul(2);
  saved.requires_grad_();
  Tensor loaded;
  for (bool byTorch : {false, true}) {
    std::stringstream file;
    byTorch ? torch::save(saved, file) : ltc::save(saved, file);
    ltc::load(loaded, file, ltc::device());
    EXPECT_EQ(loaded.device(), ltc::device());
    EXPECT_TRUE(loaded.requires_grad());
    EXPECT_TRUE(loaded.cpu().equal(saved.cpu()));
  }
  std::stringstream file;
  ltc::save(saved, file);
  torch::load(loaded = Tensor(), file);
  EXPECT_TRUE(loaded.device().is_cpu() && loaded.equal(saved.cpu()));
}

TEST(Files, KeepWhatSharesMemory) {
  Tensor base = torch::arange(6., ltc::device());
  std::vector<Tensor> saved{base, base.view({2, 3}).select(1, 1),
                            torch::ones({2}, ltc::device()), base};
  for (bool byTorch : {false, true}) {
    std::stringstream file;
    byTorch ? torch::save(saved, file) : ltc::save(saved, file);
    std::vector<Tensor> loaded;
    ltc::load(loaded, file);
    ASSERT_EQ(loaded.size(), saved.size());
    loaded[0].add_(10);
    loaded[2].add_(10);
    EXPECT_TRUE(loaded[1].cpu().equal(torch::tensor({11., 14.})));
    EXPECT_TRUE(loaded[3].cpu().equal(loaded[0].cpu()));
    EXPECT_TRUE(loaded[2].cpu().equal(torch::full({2}, 11.)));
  }
}

TEST(Files, ThatDoNotFitAreRefused) {
  nn::Sequential other = makeModel();
  other->to(torch::kDouble); // the counters, too
  std::stringstream file;
  ltc::save(other, file);
  nn::Sequential model = makeModel();
  ltc::to(*model, ltc::device());
  EXPECT_SAYS(errorOf([&] { ltc::load(model, file); }),
              "Could not set tensor of type double to a tensor of type float");
}

TEST(Files, AreRefusedByAModuleThatIsElsewhere) {
  std::stringstream file, empty;
  ltc::save(makeModel(), file);
  nn::Sequential onCpu = makeModel();
  EXPECT_SAYS(errorOf([&] { ltc::load(onCpu, file); }),
              "was given a module on cpu, and wants one on lazy:0");
  Tensor none;
  EXPECT_SAYS(errorOf([&] { ltc::load(none, empty); }), "reader failed");
}

} // namespace
