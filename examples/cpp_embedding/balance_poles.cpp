//===- balance_poles.cpp - A network inside a simulation in C++ -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   balance_poles [DIRECTORY]
//
// A simulation of carts with poles, plain C++ that knows nothing of tensors,
// and a policy that learns by REINFORCE to balance them. The policy is on the
// lazy device; compiled graphs are kept in DIRECTORY, so that the next start
// compiles nothing. Exit status 1 if the poles do not stand longer than at
// first.
//
//===----------------------------------------------------------------------===//
#include <ltc/ltc.h>
#include <torch/torch.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>

namespace {

constexpr int kCarts = 64, kTicks = 100, kRounds = 30;

/// What the program had before it had a network.
class Simulation {
public:
  using State = std::array<float, 4>; ///< place, speed, angle, its speed

  explicit Simulation(unsigned seed) {
    std::mt19937 random(seed);
    for (State &cart : carts)
      for (float &value : cart)
        value = uniform(random) * 0.1f - 0.05f;
  }

  /// Pushes each cart to one side for 20 ms.
  void tick(const std::array<bool, kCarts> &right) {
    for (int i = 0; i < kCarts; ++i) {
      auto &[place, speed, angle, spin] = carts[i];
      float sine = std::sin(angle), cosine = std::cos(angle);
      float push =
          ((right[i] ? 10.f : -10.f) + 0.05f * spin * spin * sine) / 1.1f;
      float turn = (9.8f * sine - cosine * push) /
                   (0.5f * (4.f / 3 - 0.1f * cosine * cosine / 1.1f));
      place += 0.02f * speed;
      speed += 0.02f * (push - 0.05f * turn * cosine / 1.1f);
      angle += 0.02f * spin;
      spin += 0.02f * turn;
      stands[i] =
          stands[i] && std::abs(angle) < 0.21f && std::abs(place) < 2.4f;
    }
  }

  /// The same numbers with any standard library.
  static float uniform(std::mt19937 &random) {
    return float(random()) / 4294967296.f;
  }

  std::array<State, kCarts> carts;
  std::array<bool, kCarts> stands = [] {
    std::array<bool, kCarts> all;
    all.fill(true);
    return all;
  }();
};

torch::nn::Sequential makePolicy() {
  using namespace torch::nn;
  return Sequential(Linear(4, 32), Tanh(), Linear(32, 1));
}

/// A round of the simulation, and what is learnt from.
struct Round {
  torch::Tensor seen = torch::zeros({kTicks, kCarts, 4});
  torch::Tensor wentRight = torch::zeros({kTicks, kCarts});
  torch::Tensor stood = torch::zeros({kTicks, kCarts});
};

Round play(torch::nn::Sequential &policy, torch::Device device,
           std::mt19937 &random) {
  torch::NoGradGuard noGrad;
  Round round;
  Simulation simulation{unsigned(random())};
  for (int tick = 0; tick < kTicks; ++tick) {
    torch::Tensor seen =
        torch::from_blob(simulation.carts.data(), {kCarts, 4}).clone();
    round.seen[tick] = seen;
    torch::Tensor chance =
        policy->forward(seen.to(device)).sigmoid().flatten().cpu();
    std::array<bool, kCarts> right;
    for (int i = 0; i < kCarts; ++i) {
      right[i] = Simulation::uniform(random) < chance.data_ptr<float>()[i];
      round.wentRight[tick].data_ptr<float>()[i] = right[i];
      round.stood[tick].data_ptr<float>()[i] = simulation.stands[i];
    }
    simulation.tick(right);
  }
  return round;
}

void learn(torch::nn::Sequential &policy, torch::optim::Optimizer &optimizer,
           const Round &round, torch::Device device) {
  torch::Tensor stood = round.stood.to(device);
  torch::Tensor after = stood.flip(0).cumsum(0).flip(0);
  torch::Tensor better = (after - after.mean(1, true)) / (after.std() + 1e-6);
  torch::Tensor odds = policy->forward(round.seen.to(device)).squeeze(-1);
  torch::Tensor surprise = torch::binary_cross_entropy_with_logits(
      odds, round.wentRight.to(device), {}, {}, at::Reduction::None);
  torch::Tensor loss = (surprise * better * stood).sum() / stood.sum();
  optimizer.zero_grad();
  loss.backward();
  optimizer.step();
}

} // namespace

int main(int count, char **arguments) try {
  auto start = std::chrono::steady_clock::now();
  if (count > 1)
    ltc::initialize({{"cache", "rw"}, {"cache_dir", arguments[1]}});
  torch::Device device = ltc::device();
  torch::manual_seed(0);
  torch::nn::Sequential policy = makePolicy();
  ltc::to(*policy, device);
  torch::optim::Adam optimizer(policy->parameters(), 0.03);
  std::mt19937 random(1);
  float first = 0, last = 0;
  for (int i = 0; i < kRounds; ++i) {
    Round round = play(policy, device, random);
    last = round.stood.sum(0).mean().item<float>();
    if (i == 0)
      first = last;
    learn(policy, optimizer, round, device);
    if (i % 10 == 9)
      std::printf("round %2d: poles stand for %.1f ticks\n", i + 1, last);
  }
  ltc::synchronize();
  auto metrics = ltc::metrics();
  std::printf(
      "balance_poles: %s, from %.1f to %.1f ticks in %.2f s; %d graphs "
      "compiled, %d from disk\n",
      last > 1.5f * first ? "ok" : "failed", first, last,
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count(),
      int(metrics["codegen.graphs"]), int(metrics["cache.hit.disk"]));
  return last > 1.5f * first ? 0 : 1;
} catch (const c10::Error &error) {
  std::fprintf(stderr, "%s\n", error.what_without_backtrace());
  return 1;
}
