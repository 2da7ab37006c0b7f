//===- train_digits.cpp - Train on handwritten digits, lazily and not -----===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   train_digits DIGITS [WEIGHTS]
//
// Trains an MLP and a CNN with libtorch's own modules and optimizers, on cpu
// and on lazy in turns, and compares the losses. Exit status 1 if they differ
// by more than rounding, if an op left the graph, or if there were more graphs
// than three. Writes the CNN's weights, for serve_digits.
//
//===----------------------------------------------------------------------===//
#include "digits.h"

#include <ltc/ltc.h>
#include <torch/torch.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>

namespace {

using torch::Tensor;

struct Digits {
  Tensor images, labels; ///< to train on
  Tensor testImages, testLabels;
};

Digits readDigits(const char *path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  TORCH_CHECK(!bytes.empty() && bytes.size() % 65 == 0, path,
              " has no digits; write_digits.py writes the file");
  Tensor rows = torch::from_blob(bytes.data(), {int64_t(bytes.size() / 65), 65},
                                 torch::kUInt8);
  Tensor images = toImages(rows.narrow(1, 0, 64), torch::kDouble);
  Tensor labels = rows.select(1, 64).to(torch::kLong);
  int64_t test = rows.size(0) / 5;
  return {images.slice(0, test), labels.slice(0, test),
          images.slice(0, 0, test), labels.slice(0, 0, test)};
}

/// Of all random numbers, on lazy as on cpu.
at::Generator generator() {
  return at::globalContext().defaultGenerator(torch::kCPU);
}

struct Job {
  const char *title;
  torch::nn::Sequential (*makeModel)();
  bool adam;
};

std::unique_ptr<torch::optim::Optimizer>
makeOptimizer(const Job &job, std::vector<Tensor> parameters) {
  using namespace torch::optim;
  if (job.adam)
    return std::make_unique<AdamW>(std::move(parameters), AdamWOptions(1e-3));
  return std::make_unique<SGD>(
      std::move(parameters), SGDOptions(0.05).momentum(0.9).weight_decay(1e-4));
}

/// One training of a job on one device, an epoch at a time.
class Run {
public:
  Run(const Job &job, torch::Device device, torch::Dtype dtype)
      : device(device), dtype(dtype) {
    torch::manual_seed(0);
    model = job.makeModel();
    if (dtype != torch::kFloat) // which would make floats of counters, too
      model->to(dtype);
    optimizer = makeOptimizer(job, model->parameters());
    if (device.is_lazy()) // where model->to(device) would throw
      ltc::to(*model, device, {optimizer.get()});
    random = generator().get_state();
  }

  void trainEpoch(const Digits &digits) {
    generator().set_state(random); // each run has its own numbers
    Tensor order = torch::randperm(digits.images.size(0));
    std::vector<Tensor> pending;
    auto start = std::chrono::steady_clock::now();
    for (const Tensor &batch : order.split(128)) {
      Tensor x = digits.images.index_select(0, batch).to(device, dtype);
      Tensor y = digits.labels.index_select(0, batch).to(device);
      Tensor loss = torch::nn::functional::cross_entropy(model->forward(x), y);
      optimizer->zero_grad();
      loss.backward();
      optimizer->step();
      pending.push_back(loss.detach());
    }
    for (const Tensor &loss : pending)
      losses.push_back(loss.item<double>());
    seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    random = generator().get_state();
  }

  double accuracy(const Digits &digits) {
    torch::NoGradGuard noGrad;
    model->eval();
    Tensor guess =
        model->forward(digits.testImages.to(device, dtype)).argmax(1);
    return guess.eq(digits.testLabels.to(device))
        .to(dtype)
        .mean()
        .item<double>();
  }

  void save(const char *path) { ltc::save(model, path); }

  std::vector<double> losses;
  double seconds = 0;

private:
  torch::Device device;
  torch::Dtype dtype;
  torch::nn::Sequential model{nullptr};
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  Tensor random;
};

double worstDifference(const Run &a, const Run &b) {
  double worst = 0;
  for (size_t i = 0; i < a.losses.size(); ++i)
    worst = std::max(worst, std::abs(a.losses[i] - b.losses[i]) /
                                std::max(1e-12, std::abs(a.losses[i])));
  return worst;
}

/// How many of what the lazy device has counted.
int64_t counted(const std::string &prefix) {
  int64_t sum = 0;
  for (const auto &[name, count] : ltc::metrics())
    if (name.compare(0, prefix.size(), prefix) == 0)
      sum += count;
  return sum;
}

bool compare(const Job &job, const Digits &digits, torch::Device lazy,
             const char *weights) {
  constexpr int kEpochs = 8;
  int64_t graphs = counted("codegen.graphs"), host = counted("record.fallback");
  Run eager(job, torch::kCPU, torch::kFloat), ours(job, lazy, torch::kFloat);
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    eager.trainEpoch(digits);
    ours.trainEpoch(digits);
    std::printf("%6d  loss on cpu %.6f  on lazy %.6f\n", epoch + 1,
                eager.losses.back(), ours.losses.back());
  }
  double accuracy = ours.accuracy(digits);
  if (weights)
    ours.save(weights);
  graphs = counted("codegen.graphs") - graphs;
  host = counted("record.fallback") - host;

  Run eagerDouble(job, torch::kCPU, torch::kDouble);
  Run oursDouble(job, lazy, torch::kDouble);
  eagerDouble.trainEpoch(digits);
  oursDouble.trainEpoch(digits);
  double difference = worstDifference(eagerDouble, oursDouble);

  double steps = double(eager.losses.size());
  std::printf("%s: differs by %.1e, in double by %.1e; accuracy %.4f on cpu, "
              "%.4f on lazy; %.2f ms a step on cpu, %.2f on lazy; %d graphs, "
              "%d fallbacks\n",
              job.title, worstDifference(eager, ours), difference,
              eager.accuracy(digits), accuracy, 1e3 * eager.seconds / steps,
              1e3 * ours.seconds / steps, int(graphs), int(host));
  return difference < 1e-11 && accuracy > 0.9 && host == 0 && graphs <= 3;
}

} // namespace

int main(int count, char **arguments) try {
  TORCH_CHECK(count == 2 || count == 3, "usage: train_digits DIGITS [WEIGHTS]");
  Digits digits = readDigits(arguments[1]);
  // Eager's own random numbers, so that dropout drops the same elements.
  ltc::initialize({{"rng", "eager"}});
  torch::Device lazy = ltc::device();
  const Job jobs[] = {{"MLP, SGD with momentum", makeMlp, false},
                      {"CNN with BatchNorm, AdamW", makeCnn, true}};
  bool isEqual = true;
  for (const Job &job : jobs)
    isEqual &= compare(job, digits, lazy,
                       job.adam && count > 2 ? arguments[2] : nullptr);
  std::printf("train_digits: %s\n", isEqual ? "ok" : "failed");
  return isEqual ? 0 : 1;
} catch (const c10::Error &error) {
  std::fprintf(stderr, "%s\n", error.what_without_backtrace());
  return 1;
}
