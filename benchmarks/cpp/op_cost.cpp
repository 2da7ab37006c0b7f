//===- op_cost.cpp - What an op costs a C++ program, lazily and not -------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   op_cost            times loops of tiny ops on cpu and on lazy in turns
//   op_cost DEVICE     trains a little MLP there: the first step, later ones,
//                      and the process's peak memory
//
//===----------------------------------------------------------------------===//
#include <ltc/ltc.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>

namespace {

using torch::Tensor;
using Clock = std::chrono::steady_clock;

double nanosSince(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

constexpr int kOps = 300, kRounds = 200;

/// Ops on 16 elements, each of which needs the one before it.
Tensor chain(Tensor x, const Tensor &y) {
  for (int i = 0; i < kOps / 3; ++i)
    x = x.add(y).mul(y).tanh();
  return x;
}

double median(std::vector<double> values) {
  auto middle = values.begin() + int64_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Nanoseconds an op: of the calls alone, and with all that ends a step.
struct Cost {
  std::vector<double> calls, all;

  void round(torch::Device device, const Tensor &x, const Tensor &y) {
    auto start = Clock::now();
    Tensor result = chain(x, y);
    calls.push_back(nanosSince(start) / kOps);
    if (device.is_lazy())
      ltc::mark_step(/*wait=*/true);
    all.push_back(nanosSince(start) / kOps);
  }
};

void timeOps(bool withGradients) {
  torch::Device devices[] = {torch::kCPU, ltc::device()};
  Cost costs[2];
  std::vector<Tensor> x, y;
  for (torch::Device device : devices) {
    x.push_back(torch::full({16}, 0.5).to(device));
    y.push_back(torch::full({16}, 0.9).to(device));
    x.back().set_requires_grad(withGradients);
  }
  ltc::synchronize();
  for (int i = 0; i < kRounds; ++i)
    for (int d : {0, 1})
      costs[d].round(devices[d], x[d], y[d]);
  double eager = median(costs[0].calls), recorded = median(costs[1].calls),
         loop = median(costs[1].all);
  std::printf("%-14s eager %5.0f ns an op, recorded %5.0f (%.2f), recorded and "
              "run %5.0f (%.2f)\n",
              withGradients ? "for autograd" : "plain", eager, recorded,
              recorded / eager, loop, loop / eager);
}

std::string peakMemory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0)
      return line.substr(line.find_first_not_of(" \t", 6));
  return "unknown";
}

void train(torch::Device device, Clock::time_point start) {
  torch::nn::Sequential model(torch::nn::Linear(64, 256), torch::nn::ReLU(),
                              torch::nn::Linear(256, 10));
  if (device.is_lazy())
    ltc::to(*model, device);
  torch::optim::AdamW optimizer(model->parameters());
  double first = 0;
  auto later = start;
  constexpr int kSteps = 200;
  for (int step = 0; step < kSteps; ++step) {
    Tensor x = torch::ones({32, 64}).to(device);
    Tensor loss = model->forward(x).square().mean();
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    if (step && step < kSteps - 1)
      continue;
    loss.item<float>();
    if (!step) {
      first = nanosSince(start) / 1e6;
      later = Clock::now();
    }
  }
  auto metrics = ltc::metrics();
  std::printf("%s: first step after %.0f ms, later ones %.2f ms; at most %s; "
              "%d graphs compiled, %d from disk\n",
              device.str().c_str(), first,
              nanosSince(later) / 1e6 / (kSteps - 1), peakMemory().c_str(),
              int(metrics["codegen.graphs"]), int(metrics["cache.hit.disk"]));
}

} // namespace

int main(int count, char **arguments) try {
  auto start = Clock::now();
  if (count > 1) {
    train(torch::Device(arguments[1]), start);
  } else {
    timeOps(/*withGradients=*/false);
    timeOps(/*withGradients=*/true);
  }
} catch (const c10::Error &error) {
  std::fprintf(stderr, "%s\n", error.what_without_backtrace());
  return 1;
}
