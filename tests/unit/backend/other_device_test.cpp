//===- other_device_test.cpp - ATen's kernels on another device -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PrivateUse1 stands in for CUDA: a device with few kernels, whose addresses
// are nobody's in the host. What touches them outside of those kernels crashes.
//
//===----------------------------------------------------------------------===//
#include "kernel_call.h"

#include <ATen/EmptyTensor.h>
#include <c10/core/Allocator.h>
#include <torch/library.h>

#include <cstdlib>
#include <map>

namespace ltc::backend::test {
namespace {

const c10::Device kThere(c10::kPrivateUse1, 0);
/// Lies between an address here and there.
constexpr uintptr_t kShift = uintptr_t(1) << 60;

char *toThere(const void *here) {
  return reinterpret_cast<char *>(reinterpret_cast<uintptr_t>(here) | kShift);
}
char *toHere(const void *there) {
  return reinterpret_cast<char *>(reinterpret_cast<uintptr_t>(there) & ~kShift);
}

std::map<std::string, int> calls; ///< of the device's kernels, by name

class Memory final : public c10::Allocator {
public:
  c10::DataPtr allocate(size_t bytes) override {
    ++calls["allocate"];
    char *there = toThere(std::malloc(bytes + 1));
    return {there, there, &release, kThere};
  }
  void copy_data(void *to, const void *from, size_t bytes) const override {
    std::memcpy(toHere(to), toHere(from), bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }

private:
  static void release(void *there) { std::free(toHere(there)); }
};

/// The same memory as the CPU sees it.
at::Tensor here(const at::Tensor &there) {
  char *data = toHere(there.const_data_ptr());
  return at::from_blob(data, there.sizes(), there.strides(), there.dtype());
}

at::Tensor empty(at::IntArrayRef sizes, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout>, std::optional<at::Device>,
                 std::optional<bool>, std::optional<at::MemoryFormat> format) {
  ++calls["empty"];
  return at::detail::empty_generic(
      sizes, c10::GetAllocator(c10::kPrivateUse1),
      c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), *dtype, format);
}

at::Tensor &addOut(const at::Tensor &a, const at::Tensor &b,
                   const at::Scalar &alpha, at::Tensor &out) {
  ++calls["add.out"];
  at::Tensor result = here(out);
  at::add_out(result, here(a), b.device().is_cpu() ? b : here(b), alpha);
  return out;
}

at::Tensor neg(const at::Tensor &x) {
  ++calls["neg"];
  at::Tensor out = at::empty(x.sizes(), x.options());
  at::Tensor result = here(out);
  at::neg_out(result, here(x));
  return out;
}

at::Tensor full(at::IntArrayRef sizes, const at::Scalar &value,
                std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                std::optional<at::Device> device, std::optional<bool>) {
  ++calls["full"];
  at::Tensor out = at::empty(sizes, at::device(*device).dtype(*dtype));
  here(out).fill_(value);
  return out;
}

/// Gives its result in another layout than row-major.
at::Tensor abs(const at::Tensor &x) {
  ++calls["abs"];
  at::Tensor out = at::empty({x.size(1), x.size(0)}, x.options());
  here(out).copy_(here(x).abs().t());
  out.unsafeGetTensorImpl()->set_sizes_and_strides(x.sizes(), {1, x.size(0)});
  return out;
}

at::Tensor &copy(at::Tensor &to, const at::Tensor &from, bool) {
  ++calls["copy_"];
  here(to).copy_(here(from));
  return to;
}

class OtherDevice : public ::testing::Test {
protected:
  static void SetUpTestSuite() {
    static Memory memory;
    c10::SetAllocator(c10::kPrivateUse1, &memory);
    static auto &aten =
        *new torch::Library(torch::Library::IMPL, "aten",
                            c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
    aten.impl("empty.memory_format", empty);
    aten.impl("add.out", addOut);
    aten.impl("neg", neg);
    aten.impl("abs", abs);
    aten.impl("full", full);
    aten.impl("copy_", copy);
  }
  void SetUp() override {
    installKernels();
    calls.clear();
  }

  /// Runs a call there; the result is given to the CPU's `result`.
  static Status run(const std::string &call, std::vector<at::Tensor> operands,
                    at::Tensor &result) {
    std::vector<Operand> all(operands.begin(), operands.end());
    auto graph = Graph::parse(callText(call, all, {result}));
    EXPECT_TRUE(graph);
    auto kernel = resolveKernel(*graph, kThere);
    if (!kernel)
      return kernel.takeError();
    std::vector<KernelView> views;
    for (const at::Tensor &operand : operands)
      views.push_back(viewOf(operand));
    KernelView out = viewOf(result);
    return (*kernel)->run(views, {&out, 1});
  }

private:
  static KernelView viewOf(const at::Tensor &tensor) {
    KernelView view;
    view.data = toThere(tensor.mutable_data_ptr());
    view.sizes = tensor.sizes().data();
    view.strides = tensor.strides().data();
    view.rank = uint32_t(tensor.dim());
    return view; // f32
  }
};

TEST_F(OtherDevice, WritesIntoTheResultWhereItHasAKernelForThat) {
  at::Tensor x = at::randn({3, 4}), y = at::randn({3, 4});
  at::Tensor result = at::zeros({3, 4});
  Status status =
      run("aten::add.Tensor(self=%0, other=%1, alpha=2)", {x, y}, result);
  ASSERT_TRUE(status) << status.error().str();
  EXPECT_TRUE(same(result, x + 2 * y));
  EXPECT_EQ(calls, (std::map<std::string, int>{{"add.out", 1}}));
}

TEST_F(OtherDevice, AllocatesInTheResult) {
  at::Tensor x = at::randn({3, 4}), result = at::zeros({3, 4});
  Status status = run("aten::neg(self=%0)", {x}, result);
  ASSERT_TRUE(status) << status.error().str();
  EXPECT_TRUE(same(result, -x));
  EXPECT_EQ(calls, (std::map<std::string, int>{{"neg", 1}}));
}

TEST_F(OtherDevice, CopiesThereWhatIsLaidOutInAnotherWay) {
  at::Tensor x = at::randn({3, 4}), result = at::zeros({3, 4});
  Status status = run("aten::abs(self=%0)", {x}, result);
  ASSERT_TRUE(status) << status.error().str();
  EXPECT_TRUE(same(result, x.abs()));
  EXPECT_EQ(calls["abs"], 1);
  EXPECT_GE(calls["copy_"], 1);
}

TEST_F(OtherDevice, FactoriesAreOfThatDevice) {
  at::Tensor result = at::zeros({2, 2});
  Status status = run("aten::full(size=[2, 2], fill_value=3.0)", {}, result);
  ASSERT_TRUE(status) << status.error().str();
  EXPECT_TRUE(same(result, at::full({2, 2}, 3.0)));
  EXPECT_EQ(calls, (std::map<std::string, int>{{"full", 1}}));
}

TEST_F(OtherDevice, WhatItLacksIsSaidWithTheOp) {
  at::Tensor x = at::randn({3, 3}), result = at::zeros({3, 3});
  Status status = run("aten::mm(self=%0, mat2=%0)", {x}, result);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().op, "aten::mm");
  EXPECT_NE(status.error().message.find("privateuseone"), std::string::npos)
      << status.error().message;
  status = run("aten::_fused_dropout(self=%0, p=0.5, seed=%0)", {x}, result);
  EXPECT_FALSE(status);
}

} // namespace
} // namespace ltc::backend::test
