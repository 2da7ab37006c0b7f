//===- driver_headers_test.cpp - The headers for drivers in C -------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/linalg_text.h"
#include "ltc/plugin_defaults.h"
#include "ltc/real_ops.h"
#include "ltc/types.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr std::string_view kModule = R"("builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x3xf32>, i64) -> (), sym_name = "main"}> ({
  ^bb0(%arg0: tensor<2x3xf32>, %arg1: i64):
    %0 = "arith.constant"() <{value = 0xFF800000 : f32}> : () -> f32
    %1 = "tensor.empty"() : () -> tensor<3x2xf32>
    %2 = "linalg.transpose"(%arg0, %1) <{permutation = array<i64: 1, 0>}> ({
    ^bb0(%arg4: f32, %arg5: f32):
      "linalg.yield"(%arg4) : (f32) -> ()
    }) : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
    %3:2 = "func.call"(%2) <{callee = @"a \"{strange}\" name"}> : (tensor<3x2xf32>) -> (tensor<2xf32>, tensor<?x1xcomplex<f64>>)
    %4 = "linalg.generic"(%0, %3#0, %2) <{indexing_maps = [affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%arg6: f32, %arg7: f32, %arg8: f32):
      %5 = "arith.cmpf"(%arg6, %arg7) <{predicate = 4 : i64}> : (f32, f32) -> i1
      %6 = "arith.select"(%5, %arg7, %arg8) : (i1, f32, f32) -> f32
      "linalg.yield"(%6) : (f32) -> ()
    }) {note, other = [1, 2]} : (f32, tensor<2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
    "func.return"() : () -> ()
  }) : () -> ()
}) {ltc.hand_over = 1 : i64} : () -> ()
)";

std::string text(ltc_chars chars) {
  return chars.begin ? std::string(chars.begin, chars.end) : "none";
}

class MlirText : public ::testing::Test {
protected:
  void SetUp() override {
    const char *wrong = ltc_mlir_read(&module, kModule.data(), kModule.size());
    ASSERT_EQ(wrong, nullptr) << wrong << " at " << module.at;
  }
  void TearDown() override { ltc_mlir_free(&module); }

  const ltc_mlir_op *find(std::string_view name) const {
    for (uint32_t i = 0; i < module.op_count; ++i)
      if (text(module.ops[i].name) == name)
        return &module.ops[i];
    ADD_FAILURE() << "there is no " << name;
    return module.ops;
  }
  /// The number of the value that is operand `i`.
  uint32_t operand(const ltc_mlir_op &op, uint32_t i) const {
    return module.operands[op.first_operand + i];
  }

  ltc_mlir module = {};
};

TEST_F(MlirText, HasOpsWithTheirBlocks) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < module.op_count; ++i)
    names.push_back(text(module.ops[i].name));
  EXPECT_EQ(names, (std::vector<std::string>{
                       "builtin.module", "func.func", "arith.constant",
                       "tensor.empty", "linalg.transpose", "linalg.yield",
                       "func.call", "linalg.generic", "arith.cmpf",
                       "arith.select", "linalg.yield", "func.return"}));
  EXPECT_EQ(module.ops[0].end, module.op_count);
  EXPECT_EQ(module.ops[4].end, 6u);
  EXPECT_EQ(module.ops[7].end, 11u);
  EXPECT_EQ(module.ops[1].arguments, 2u);
  EXPECT_EQ(module.ops[7].arguments, 3u);
}

TEST_F(MlirText, HasValuesWithTheirTypes) {
  const ltc_mlir_op &call = *find("func.call");
  ASSERT_EQ(call.results, 2u);
  ltc_mlir_type type = module.types[call.first_result + 1];
  EXPECT_EQ(text(type.element), "complex<f64>");
  ASSERT_EQ(type.rank, 2u);
  EXPECT_EQ(module.sizes[type.first_size], -1);
  EXPECT_EQ(module.sizes[type.first_size + 1], 1);
  const ltc_mlir_op &generic = *find("linalg.generic");
  EXPECT_EQ(operand(generic, 1), call.first_result);
  EXPECT_EQ(operand(generic, 0), find("arith.constant")->first_result);
  EXPECT_EQ(operand(*find("arith.select"), 2), generic.first_argument + 2);
  EXPECT_FALSE(module.types[operand(generic, 0)].is_tensor);
}

TEST_F(MlirText, FindsAttributes) {
  const ltc_mlir_op &generic = *find("linalg.generic");
  EXPECT_EQ(text(ltc_mlir_attribute(&generic, "operandSegmentSizes")),
            "array<i32: 2, 1>");
  EXPECT_EQ(text(ltc_mlir_attribute(&generic, "other")), "[1, 2]");
  EXPECT_EQ(text(ltc_mlir_attribute(&generic, "note")), "");
  EXPECT_EQ(text(ltc_mlir_attribute(&generic, "maps")), "none");
  EXPECT_EQ(text(ltc_mlir_attribute(find("func.call"), "callee")),
            R"(@"a \"{strange}\" name")");
  EXPECT_EQ(text(ltc_mlir_attribute(&module.ops[0], "ltc.hand_over")),
            "1 : i64");
}

TEST_F(MlirText, HasLoopsOfLinalg) {
  ltc_linalg_loops nest;
  ASSERT_TRUE(ltc_linalg_read(&nest, &module, find("linalg.transpose")));
  ASSERT_EQ(nest.loops, 2u);
  EXPECT_EQ(ltc_linalg_points(&nest), 6);
  // Element (2, 1) of the result is (1, 2) of the operand.
  EXPECT_EQ(ltc_linalg_place(&nest, 1, 5), 5);
  EXPECT_EQ(ltc_linalg_place(&nest, 0, 4), 2);
  ASSERT_TRUE(ltc_linalg_read(&nest, &module, find("linalg.generic")));
  EXPECT_EQ(nest.sizes[0], 3);
  EXPECT_EQ(nest.strides[0][0] + nest.strides[0][1], 0);
  EXPECT_EQ(nest.strides[1][1], 1);
  EXPECT_EQ(nest.strides[2][0], 2);
  EXPECT_FALSE(ltc_linalg_read(&nest, &module, find("tensor.empty")));
}

TEST_F(MlirText, RefusesWhatIsCutOrBroken) {
  ltc_mlir other;
  for (size_t size = 0; size + 2 < kModule.size(); ++size) {
    // Of its own memory, for a sanitizer to see where reading ends.
    std::vector<char> part(kModule.begin(), kModule.begin() + long(size));
    EXPECT_NE(ltc_mlir_read(&other, part.data(), size), nullptr) << size;
  }
  for (auto [from, to] : {std::pair("%3#0", "%9"),
                          {"%3#0", "%3#900"},
                          {"(%arg0: ", "(%arg0 "},
                          {"%3:2", "%3:3"},
                          {"tensor<2x3xf32>, i64)", "tensor<2x3xf32>, i64"},
                          {"-> i1\n", "-> i1, i1\n"}}) {
    std::string broken(kModule);
    broken.replace(broken.find(from), std::strlen(from), to);
    EXPECT_NE(ltc_mlir_read(&other, broken.data(), broken.size()), nullptr)
        << from << " " << to;
  }
  std::string deep;
  for (int i = 0; i < 1000; ++i)
    deep += "\"a\"() ({\n";
  EXPECT_NE(ltc_mlir_read(&other, deep.data(), deep.size()), nullptr);
}

TEST(RealOps, ReadsNumbers) {
  auto read = [](std::string_view all) {
    return ltc_read_real({all.data(), all.data() + all.size()});
  };
  EXPECT_EQ(read("1.500000e+00 : f32"), 1.5);
  EXPECT_EQ(read("-3 : i64"), -3);
  EXPECT_EQ(read("true"), 1);
  EXPECT_EQ(read("false"), 0);
  EXPECT_EQ(read("0xFF800000 : f32"), -INFINITY);
  EXPECT_EQ(read("0x7FF0000000000000 : f64"), INFINITY);
  EXPECT_TRUE(std::isnan(read("dense<1.0> : tensor<4xf32>")));
  EXPECT_TRUE(std::isnan(ltc_read_real({nullptr, nullptr})));
}

TEST(RealOps, ComparesAsArithDoes) {
  // false, oeq, ogt, oge, olt, ole, one, ord, ueq, ugt, uge, ult, ule, une, ...
  auto all = [](double x, double y) {
    std::string answers;
    for (int p = 0; p < 16; ++p)
      answers += char('0' + ltc_compare_reals(p, x, y));
    return answers;
  };
  EXPECT_EQ(all(1, 1), "0101010110101001");
  EXPECT_EQ(all(2, 1), "0011001101100101");
  EXPECT_EQ(all(1, 2), "0000111100011101");
  EXPECT_EQ(all(NAN, 2), "0000000011111111");
}

TEST(PluginDefaults, KnowsTheBytesOfEachType) {
  for (uint32_t dtype = 0; dtype <= uint32_t(ltc::DType::C32); ++dtype)
    EXPECT_EQ(ltc_dtype_bytes(dtype),
              int64_t(ltc::byteSize(ltc::DType(dtype))));
  EXPECT_EQ(ltc_dtype_bytes(uint32_t(ltc::DType::C32) + 1), 0);
}

TEST(PluginDefaults, KeepsAnAccount) {
  ltc_account account = {};
  const ltc_property options[] = {{"memory_limit", "100"}};
  EXPECT_EQ(ltc_account_open(&account, options, 1), nullptr);
  EXPECT_TRUE(ltc_account_take(&account, 60));
  EXPECT_FALSE(ltc_account_take(&account, 41));
  EXPECT_FALSE(ltc_account_take(&account, SIZE_MAX));
  EXPECT_TRUE(ltc_account_take(&account, 40));
  ltc_account_give(&account, 60);
  ltc_memory memory = {};
  ltc_account_read(&account, &memory, 0);
  EXPECT_EQ(memory.allocated, 40u);
  EXPECT_EQ(memory.max_allocated, 100u);
  ltc_account_read(&account, &memory, 1);
  EXPECT_EQ(memory.max_allocated, 40u);
}

TEST(PluginDefaults, TellsTheFirstFailureOnceAndSkips) {
  ltc_outcome outcome = {};
  ltc_outcome_add(&outcome, nullptr);
  EXPECT_EQ(ltc_outcome_take(&outcome).code, LTC_OK);
  ltc_outcome_add(&outcome, ltc_fail(LTC_OUT_OF_RANGE, "index %d", 7));
  ltc_outcome_add(&outcome, ltc_fail(LTC_SKIPPED, "behind it"));
  EXPECT_TRUE(outcome.skips);
  ltc_error told = ltc_outcome_take(&outcome);
  EXPECT_EQ(told.code, LTC_OUT_OF_RANGE);
  EXPECT_STREQ(told.message, "index 7");
  EXPECT_EQ(ltc_outcome_take(&outcome).code, LTC_OK);
  ltc_error *again = ltc_error_again(&told);
  EXPECT_STREQ(again->message, "index 7");
  ltc_free_error(again);
}

} // namespace
