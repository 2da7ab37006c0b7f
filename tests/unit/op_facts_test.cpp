//===- op_facts_test.cpp - Ops find their rows in the tables --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/op_facts.h"

#include <gtest/gtest.h>

using namespace ltc;

namespace {

/// Facts of an op, as the table writes them.
std::vector<std::string_view> namesOf(std::string_view op) {
  std::vector<std::string_view> names;
  OpFacts facts = factsOf(op);
#define LTC_FACT(name, meaning)                                                \
  if (facts.has(OpFact::name))                                                 \
    names.push_back(#name);
#include "ltc/op_facts.def"
  return names;
}

using Names = std::vector<std::string_view>;

TEST(OpFacts, ALineWithoutOverloadIsForTheOneWithoutAName) {
  EXPECT_EQ(namesOf("aten::max"), (Names{"SizesOfArguments", "ExactOnHost"}));
  EXPECT_EQ(namesOf("aten::max.dim"), Names{});
  EXPECT_EQ(namesOf("aten::max_pool2d_with_indices"), Names{});
}

TEST(OpFacts, ALineWithAnOverloadIsForThatAlone) {
  EXPECT_EQ(namesOf("aten::scatter.src"),
            (Names{"OverwritesSelf", "WritesByIndex"}));
  EXPECT_EQ(namesOf("aten::scatter.reduce"), Names{});
  EXPECT_EQ(namesOf("aten::scatter"), Names{});
}

TEST(OpFacts, ALineForAllOverloadsIsForNoLongerName) {
  for (const char *op : {"aten::range", "aten::range.step"})
    EXPECT_TRUE(factsOf(op).has(OpFact::MakesRange)) << op;
  EXPECT_EQ(namesOf("aten::ranges"), Names{});
  EXPECT_EQ(namesOf("aten::rang"), Names{});
}

TEST(OpFacts, AFamilyAddsToWhatALineSays) {
  EXPECT_EQ(namesOf("aten::_fft_c2c"),
            (Names{"SizesOfArguments", "NeverFails"}));
  EXPECT_EQ(namesOf("aten::_fft_c2r"), (Names{"StridesMislead", "NeverFails"}));
  EXPECT_EQ(namesOf("aten::_fused_adamw.tensor_lr"), Names{"FusedStep"});
  EXPECT_EQ(namesOf("ltc::gru_layer"),
            (Names{"Products", "NeverFails", "OwnKernel"}));
}

TEST(OpFacts, AnOpInPlaceHasThoseOfTheOpThatWritesNothing) {
  EXPECT_EQ(namesOf("aten::index_add_"), namesOf("aten::index_add"));
  EXPECT_EQ(namesOf("aten::fill_.Scalar"), namesOf("aten::fill.Scalar"));
}

TEST(OpFacts, OtherOpsHaveNone) {
  for (const char *op : {"aten::relu", "mylib::addmm", "aten::", "", ".", "_"})
    EXPECT_EQ(namesOf(op), Names{}) << op;
}

TEST(OpFacts, EveryLineIsFound) {
#define LTC_OP(ops, facts)                                                     \
  {                                                                            \
    std::string op = ops;                                                      \
    if (op.ends_with('*'))                                                     \
      op.replace(op.size() - 1, 1, "other");                                   \
    EXPECT_NE(namesOf(op), Names{}) << op;                                     \
  }
#include "ltc/op_facts.def"
}

TEST(OpFacts, KernelsHaveWordsForAnIndexOutOfRange) {
  EXPECT_EQ(indexWords("aten::nll_loss2d_forward"),
            "Target {index} is out of bounds.");
  EXPECT_NE(indexWords("aten::gather").find("{dim}"), std::string_view::npos);
  EXPECT_EQ(indexWords("aten::index_add"), "");
}

TEST(OpFacts, IntegersThatMayVaryAreSizesDataOrPositions) {
  using enum IntegerKind;
  EXPECT_EQ(kindOfInteger("aten::view_copy", "size"), ResultSize);
  EXPECT_EQ(kindOfInteger("mylib::any", "start"), Position);
  EXPECT_EQ(kindOfInteger("aten::topk", "k"), ResultSize);
  EXPECT_EQ(kindOfInteger("aten::kthvalue", "k"), Data);
  EXPECT_EQ(kindOfInteger("aten::diag", "k"), std::nullopt);
  EXPECT_EQ(kindOfInteger("aten::as_strided_copy", "stride"), ResultSize);
  EXPECT_EQ(kindOfInteger("aten::convolution", "stride"), std::nullopt);
}

TEST(OpFacts, WhatDecidesAShapeOrAKindStaysAnAttribute) {
  for (auto [op, argument] : {std::pair{"aten::arange.start_step", "end"},
                              {"aten::pow.Tensor_Scalar", "exponent"},
                              {"aten::pow_.Scalar", "exponent"},
                              {"aten::_foreach_pow.Scalar", "exponent"},
                              {"aten::norm.ScalarOpt_dim", "p"},
                              {"aten::linalg_vector_norm", "ord"},
                              {"aten::_foreach_norm.Scalar", "ord"},
                              {"aten::_cdist_forward", "p"},
                              {"aten::renorm", "p"},
                              {"aten::renorm", "maxnorm"}, // refused below 0
                              {"aten::huber_loss", "delta"},
                              {"aten::celu", "alpha"},
                              {"aten::histc", "max"},
                              {"aten::upsample_nearest2d", "scales_h"},
                              {"aten::var.correction", "correction"}})
    EXPECT_TRUE(scalarIsAttribute(op, argument)) << op << " " << argument;
  for (auto [op, argument] : {std::pair{"aten::add.Tensor", "alpha"},
                              {"aten::addmm", "beta"},
                              {"aten::mul.Scalar", "other"},
                              {"aten::pow.Scalar", "self"},
                              {"aten::lerp.Scalar", "weight"},
                              {"aten::addcdiv", "value"},
                              {"aten::native_layer_norm", "eps"},
                              {"aten::native_dropout", "p"},
                              {"aten::full", "fill_value"},
                              {"aten::__and__.Scalar", "other"}})
    EXPECT_FALSE(scalarIsAttribute(op, argument)) << op << " " << argument;
}

} // namespace
