//===- digits.h - Handwritten digits, and networks that read them ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include <torch/torch.h>

inline torch::nn::Sequential makeMlp() {
  using namespace torch::nn;
  return Sequential(Flatten(), Linear(64, 512), ReLU(), Dropout(0.1),
                    Linear(512, 512), ReLU(), Dropout(0.1), Linear(512, 10));
}

inline torch::nn::Sequential makeCnn() {
  using namespace torch::nn;
  return Sequential(Conv2d(Conv2dOptions(1, 32, 3).padding(1)), BatchNorm2d(32),
                    ReLU(), Conv2d(Conv2dOptions(32, 64, 3).padding(1)),
                    BatchNorm2d(64), ReLU(), MaxPool2d(2), Flatten(),
                    Dropout(0.1), Linear(1024, 10));
}

/// Images of 64 bytes, each of them brightness from 0 to 16.
inline torch::Tensor toImages(torch::Tensor bytes, torch::Dtype dtype) {
  return bytes.to(dtype).div(16).view({-1, 1, 8, 8});
}
