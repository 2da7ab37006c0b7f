//===- graph/lowering_context.h - PyTorch's graph printers ------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// torch._lazy's debug entry points print a computation through a
// LoweringContext. Nothing is compiled here: syncs go through collect().
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc_backend/record/node.h"

#include <torch/csrc/lazy/backend/lowering_context.h>

#include <sstream>

namespace ltc::backend {

class GraphText final : public torch::lazy::LoweringContext {
public:
  using LoweringContext::LoweringContext;
  GraphText(const std::string &name, torch::lazy::BackendDevice device,
            c10::ArrayRef<const torch::lazy::Node *> postOrder,
            torch::lazy::Util::EmissionMap status)
      : LoweringContext(name, device, postOrder, status) {
    for (const torch::lazy::Node *node : postOrder)
      text << *node << "\n";
  }
  size_t AddResult(const torch::lazy::Output &output) override {
    text << "result " << *output.node << "\n";
    return results++;
  }
  void AddParameter(const torch::lazy::Output &, size_t,
                    const torch::lazy::Shape &, const std::string &) override {}
  torch::lazy::ComputationPtr Build() override {
    return std::make_shared<Text>(text.str());
  }

private:
  struct Text final : torch::lazy::Computation {
    explicit Text(std::string text) : text(std::move(text)) {}
    int parameters_size() const override { return 0; }
    const std::vector<torch::lazy::Shape> &parameter_shapes() const override {
      return none;
    }
    const std::vector<std::string> &parameter_names() const override {
      return noNames;
    }
    const torch::lazy::Shape &result_shape() const override { return shape; }
    const std::string to_string() const override { return text; }

    std::string text;
    std::vector<torch::lazy::Shape> none;
    std::vector<std::string> noNames;
    torch::lazy::Shape shape;
  };
  std::ostringstream text;
  size_t results = 0;
};

} // namespace ltc::backend
