//===- kernel_call.cpp - Runs one kernel on tensors -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kernel_call.h"

#include "ltc/cpu_kernels.h"
#include "view.h"

namespace ltc::backend::test {
namespace {

/// As in a process that has loaded torch_ltc.
class Installed : public testing::Environment {
  void SetUp() override { installKernels(); }
};
[[maybe_unused]] const auto *const installed =
    testing::AddGlobalTestEnvironment(new Installed);

} // namespace

static std::string typeText(const at::Tensor &tensor) {
  return TensorType{*toDType(tensor.scalar_type()), tensor.sizes().vec()}.str();
}

static std::string typeText(const Operand &operand) {
  if (auto tensor = std::get_if<at::Tensor>(&operand))
    return typeText(*tensor);
  if (std::holds_alternative<double>(operand))
    return "scalar f64";
  return std::holds_alternative<bool>(operand) ? "scalar bool" : "scalar i64";
}

std::string callText(const std::string &call,
                     const std::vector<Operand> &operands,
                     const std::vector<at::Tensor> &results) {
  std::string inputs, names, types, outputs;
  for (size_t i = 0; i < operands.size(); ++i)
    inputs +=
        "  %" + std::to_string(i) + " = input " + typeText(operands[i]) + "\n";
  for (size_t i = 0; i < results.size(); ++i) {
    std::string name = "%" + std::to_string(operands.size() + i);
    names += (i ? ", " : "") + name;
    types += (i ? ", " : "") + typeText(results[i]);
    outputs += "  output " + name + "\n";
  }
  return "graph {\n" + inputs + "  " + names + " = " + call + " : " + types +
         "\n" + outputs + "}\n";
}

static KernelView viewOf(const Operand &operand) {
  if (auto tensor = std::get_if<at::Tensor>(&operand))
    return test::view(*tensor);
  KernelView view;
  view.isScalar = true;
  if (auto real = std::get_if<double>(&operand)) {
    view.dtype = DType::F64;
    view.real = *real;
  } else if (auto flag = std::get_if<bool>(&operand)) {
    view.dtype = DType::Bool;
    view.integer = *flag;
  } else {
    view.dtype = DType::I64;
    view.integer = std::get<int64_t>(operand);
  }
  return view;
}

static void spoil(at::Tensor &result) {
  if (result.is_floating_point() || result.is_complex())
    result.fill_(NAN);
  else if (result.numel())
    result.fill_(result.scalar_type() == at::kBool ? 1 : 77);
}

KernelCall::KernelCall(const std::string &call, std::vector<Operand> operands,
                       const std::vector<at::Tensor> &likeResults)
    : text(callText(call, operands, likeResults)),
      operands(std::move(operands)) {
  for (const at::Tensor &like : likeResults)
    results.push_back(
        at::empty_strided(like.sizes(), like.strides(), like.options()));
}

Status KernelCall::run() {
  if (!kernel) {
    Result<Graph> graph = Graph::parse(text);
    if (!graph)
      return graph.takeError();
    auto resolved = kernels::resolve(*graph);
    if (!resolved)
      return resolved.takeError();
    kernel = std::move(*resolved);
  }
  std::vector<KernelView> operandViews, resultViews;
  for (const Operand &operand : operands)
    operandViews.push_back(viewOf(operand));
  for (at::Tensor &result : results) {
    spoil(result);
    resultViews.push_back(view(result));
  }
  return kernel->run(operandViews, resultViews);
}

Status KernelCall::run(std::vector<Operand> others) {
  operands = std::move(others);
  return run();
}

std::vector<at::Tensor> runCall(const std::string &call,
                                std::vector<Operand> operands,
                                const std::vector<at::Tensor> &likeResults) {
  KernelCall kernel(call, std::move(operands), likeResults);
  Status status = kernel.run();
  EXPECT_TRUE(status) << call << ": " << (status ? "" : status.error().str());
  return kernel.results;
}

testing::AssertionResult same(const at::Tensor &actual,
                              const at::Tensor &wanted) {
  if (actual.sizes() == wanted.sizes() && actual.dtype() == wanted.dtype() &&
      at::allclose(actual, wanted, 0, 0, /*equal_nan=*/true))
    return testing::AssertionSuccess();
  std::ostringstream text;
  text << "got " << actual << "\nwanted " << wanted;
  return testing::AssertionFailure() << text.str();
}

testing::AssertionResult same(const std::vector<at::Tensor> &actual,
                              const std::vector<at::Tensor> &wanted) {
  if (actual.size() != wanted.size())
    return testing::AssertionFailure()
           << "got " << actual.size() << " results, wanted " << wanted.size();
  for (size_t i = 0; i < actual.size(); ++i)
    if (auto result = same(actual[i], wanted[i]); !result)
      return result << "\nin result " << i;
  return testing::AssertionSuccess();
}

} // namespace ltc::backend::test
