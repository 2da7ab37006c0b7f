//===- data_loader_test.cpp - libtorch's data loaders ---------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <ltc/ltc.h>

#include <gtest/gtest.h>
#include <torch/torch.h>

using torch::Tensor;
namespace data = torch::data;

namespace {

/// Rows of numbers, and what they add up to.
struct Rows : data::datasets::Dataset<Rows> {
  explicit Rows(torch::Device device) : device(device) {}

  data::Example<> get(size_t index) override {
    Tensor row = torch::arange(4.).add(double(index)).sin().to(device);
    return {row, row.sum(0, /*keepdim=*/true)};
  }
  std::optional<size_t> size() const override { return 28; }

  torch::Device device;
};

/// Losses of two epochs. The loader's threads make rows and batches on one
/// device, and the caller's trains on another.
std::vector<double> train(torch::Device made, torch::Device device,
                          size_t workers) {
  torch::manual_seed(2);
  torch::nn::Linear model(4, 1);
  if (device.is_lazy())
    ltc::to(*model, device);
  torch::optim::SGD sgd(model->parameters(), 0.1);
  auto loader = data::make_data_loader<data::samplers::SequentialSampler>(
      Rows(made).map(data::transforms::Stack<>()),
      data::DataLoaderOptions(8).workers(workers)); // the last batch has 4
  std::vector<double> losses;
  for (int epoch = 0; epoch < 2; ++epoch)
    for (const data::Example<> &batch : *loader) {
      Tensor guess = model->forward(batch.data.to(device));
      Tensor loss = torch::mse_loss(guess, batch.target.to(device));
      sgd.zero_grad();
      loss.backward();
      sgd.step();
      losses.push_back(loss.item<double>());
    }
  return losses;
}

TEST(CppData, LoadersFeedTheDevice) {
  std::vector<double> wanted = train(torch::kCPU, torch::kCPU, 0);
  ASSERT_EQ(wanted.size(), 8u);
  torch::Device lazy = ltc::device();
  for (torch::Device made : {torch::Device(torch::kCPU), lazy})
    for (size_t workers : {0, 1, 3}) {
      std::vector<double> found = train(made, lazy, workers);
      ASSERT_EQ(found.size(), wanted.size());
      for (size_t i = 0; i < wanted.size(); ++i)
        EXPECT_NEAR(found[i], wanted[i], 1e-5)
            << "made on " << made << " by " << workers << " threads, step "
            << i;
    }
}

} // namespace
