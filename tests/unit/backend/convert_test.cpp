//===- convert_test.cpp - Schema arguments and attributes -------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/convert.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include <set>

using namespace ltc;
using namespace ltc::backend;
using c10::IValue;

namespace {

const c10::FunctionSchema &schemaOf(const char *name, const char *overload) {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow(name, overload)
      .schema();
}

const c10::Argument &argument(const char *name, const char *overload,
                              const std::string &wanted) {
  for (const auto &argument : schemaOf(name, overload).arguments())
    if (argument.name() == wanted)
      return argument;
  throw std::runtime_error("no argument " + wanted);
}

TEST(ConvertDType, IsItsOwnInverse) {
  int count = 0;
  for (int i = 0; i < int(at::ScalarType::NumOptions); ++i)
    if (auto dtype = toDType(at::ScalarType(i))) {
      EXPECT_EQ(toScalarType(*dtype), at::ScalarType(i));
      EXPECT_EQ(byteSize(*dtype), c10::elementSize(at::ScalarType(i)));
      ++count;
    }
  EXPECT_EQ(count, 18); // every DType
  EXPECT_FALSE(toDType(at::kQInt8));
  EXPECT_FALSE(toDType(at::ScalarType::Undefined));
}

/// To an attribute, and back to the same value.
void expectRoundTrip(const IValue &value, const c10::Argument &argument,
                     const Attribute &wanted) {
  auto attribute = toAttribute(value, argument);
  ASSERT_TRUE(attribute) << argument.name();
  EXPECT_TRUE(*attribute == wanted) << argument.name();
  auto back = toIValue(*attribute, argument);
  ASSERT_TRUE(back) << argument.name();
  EXPECT_EQ(*back, value) << argument.name();
}

TEST(ConvertAttribute, EveryKindOfArgument) {
  auto sum = [](const char *name) {
    return argument("aten::sum", "dim_IntList", name);
  };
  expectRoundTrip(true, sum("keepdim"), true);
  expectRoundTrip(IValue(), sum("dim"), std::monostate());
  expectRoundTrip(std::vector<int64_t>{0, -1}, sum("dim"),
                  std::vector<int64_t>{0, -1});
  expectRoundTrip(int64_t(at::kDouble), sum("dtype"), DType::F64);
  expectRoundTrip(int64_t(3), argument("aten::softmax", "int", "dim"),
                  int64_t(3));
  expectRoundTrip(0.5, argument("aten::native_dropout", "", "p"), 0.5);
  expectRoundTrip("tanh", argument("aten::gelu", "", "approximate"), "tanh");
  expectRoundTrip(std::vector<double>{2.0, 1.5},
                  argument("aten::upsample_nearest2d", "vec", "scale_factors"),
                  std::vector<double>{2.0, 1.5});
  expectRoundTrip(c10::List<bool>({true, false, true}),
                  argument("aten::convolution_backward", "", "output_mask"),
                  std::vector<bool>{true, false, true});
  expectRoundTrip(int64_t(at::MemoryFormat::ChannelsLast),
                  argument("aten::clone", "", "memory_format"),
                  int64_t(at::MemoryFormat::ChannelsLast));
  auto &alpha = argument("aten::add", "Tensor", "alpha");
  expectRoundTrip(2.5, alpha, 2.5);
  expectRoundTrip(int64_t(2), alpha, int64_t(2));
  expectRoundTrip(true, alpha, true);
  expectRoundTrip(c10::complex<double>(1, 2), alpha, std::vector<double>{1, 2});
  expectRoundTrip(c10::complex<double>(1, 2), alpha, std::vector<double>{1, 2});
}

TEST(ConvertAttribute, RefusesWhatAGraphCannotHold) {
  auto &alpha = argument("aten::add", "Tensor", "alpha");
  auto &scalars = argument("aten::_foreach_add", "ScalarList", "scalars");
  c10::List<at::Scalar> mixed({at::Scalar(1), at::Scalar(2.5)});
  EXPECT_FALSE(toAttribute(mixed, scalars));
  auto &dtype = argument("aten::sum", "", "dtype");
  EXPECT_FALSE(toAttribute(int64_t(at::kQInt8), dtype));
  EXPECT_FALSE(toAttribute(at::ones({2}), argument("aten::sum", "", "self")));
  EXPECT_FALSE(toIValue("text", alpha));
  EXPECT_FALSE(toIValue(std::monostate(), alpha)); // not optional
}

TEST(ConvertAttribute, AcceptsOtherSpellings) {
  auto &stride = argument("aten::max_pool2d", "", "kernel_size");
  EXPECT_EQ(toIValue(int64_t(3), stride)->toIntVector(),
            (std::vector<int64_t>{3, 3}));
  auto &p = argument("aten::native_dropout", "", "p");
  EXPECT_EQ(toIValue(int64_t(1), p)->toDouble(), 1.0);
  auto &mask = argument("aten::convolution_backward", "", "output_mask");
  EXPECT_TRUE(toIValue(std::vector<int64_t>(), mask)->isBoolList());
}

/// Every argument of every ATen operator is of a kind that we know what to do
/// with. A new kind in a new PyTorch shows up here.
TEST(ConvertSchemas, OnlyKnownTypesAreRefused) {
  std::set<std::string> refused;
  size_t arguments = 0;
  for (const auto &name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (!name.name.starts_with("aten::"))
      continue;
    auto op = c10::Dispatcher::singleton().findSchema(name);
    if (!op)
      continue;
    for (const c10::Argument &argument : op->schema().arguments()) {
      ++arguments;
      if (kindOf(argument) == ArgumentKind::Refused)
        refused.insert(argument.real_type()->str());
    }
  }
  EXPECT_GT(arguments, 10000u);
  EXPECT_EQ(refused, (std::set<std::string>{
                         "Storage", "Stream",
                         "__torch__.torch.classes.rnn.CellParamsBase[]"}));
}

/// The default of every attribute can be said in a graph.
TEST(ConvertSchemas, EveryDefaultSurvives) {
  for (const auto &name : c10::Dispatcher::singleton().getAllOpNames()) {
    auto op = c10::Dispatcher::singleton().findSchema(name);
    if (!op || !name.name.starts_with("aten::"))
      continue;
    for (const c10::Argument &argument : op->schema().arguments()) {
      auto kind = kindOf(argument);
      auto value = argument.default_value();
      if (!value || kind == ArgumentKind::Placement ||
          kind == ArgumentKind::Refused)
        continue;
      auto attribute = toAttribute(*value, argument);
      ASSERT_TRUE(attribute) << name << " " << argument.name();
      auto back = toIValue(*attribute, argument);
      ASSERT_TRUE(back) << name << " " << argument.name();
      EXPECT_EQ(*back, *value) << name << " " << argument.name();
    }
  }
}

} // namespace
