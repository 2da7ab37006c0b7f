# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A policy gradient in a game of one number, which Python plays."""

import torch
from torch import nn
from torch.distributions import Categorical

where = "lazy"


class Game:
    def __init__(self):
        self.place = 0

    def look(self):
        return torch.tensor([self.place / 4, 1.0])

    def step(self, action):
        self.place += 1 if action else -1
        done = abs(self.place) >= 4
        reward = 1.0 if self.place >= 4 else -0.1
        if done:
            self.place = 0
        return reward, done


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 16)
        self.head = nn.Linear(16, 2)

    def forward(self, x):
        return self.head(torch.tanh(self.body(x)))


torch.manual_seed(2)
policy = Policy().to(where)
optimizer = torch.optim.RMSprop(policy.parameters(), 1e-2)
game = Game()
for _ in range(4):
    chances, rewards = [], []
    for _ in range(8):
        choice = Categorical(logits=policy(game.look().to(where)))
        action = choice.sample()
        chances.append(choice.log_prob(action))
        reward, done = game.step(action.item())
        rewards.append(reward)
        if done:
            break
    gains = torch.tensor(rewards).flip(0).cumsum(0).flip(0).to(where)
    loss = -(torch.stack(chances) * gains).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    torch._lazy.mark_step()
    print(f"reward {sum(rewards):.1f}")
