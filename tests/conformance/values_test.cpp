//===- values_test.cpp - A graph for each kind of kernel ------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the compiler makes for a device, without PyTorch: loops over points,
// rows and columns, in whole vectors and with rests, in several types.
//
//===----------------------------------------------------------------------===//
#include "real_host.h"

using namespace conformance;

namespace {

class ValuesOf : public RealHost {
protected:
  /// Of a graph with a line for each op, behind inputs of these types.
  void expectValues(const std::vector<std::string> &inputs,
                    const std::vector<std::string> &lines,
                    double tolerance = 1e-5, int64_t bound = 2) {
    std::string text = "graph {\n";
    size_t number = 0;
    for (const std::string &input : inputs)
      text += "  %" + std::to_string(number++) + " = input " + input + "\n";
    for (const std::string &line : lines)
      text += "  %" + std::to_string(number++) + " = aten::" + line + "\n";
    text += "  output %" + std::to_string(number - 1) + "\n}";
    expectEqual(text, tolerance, bound);
  }
};

TEST_F(ValuesOf, Points) {
  for (std::string shape : {"[37, 1000]", "[7, 13]", "[1]", "[5, 0]"}) {
    std::string type = "f32" + shape;
    expectValues({type, type, type},
                 {"mul.Tensor(self=%0, other=%1) : " + type,
                  "tanh(self=%3) : " + type, "exp(self=%2) : " + type,
                  "gt.Tensor(self=%0, other=%1) : bool" + shape,
                  "where.self(condition=%6, self=%4, other=%5) : " + type});
  }
}

TEST_F(ValuesOf, PointsOfDoubles) {
  expectValues({"f64[37, 100]", "f64[37, 100]"},
               {"exp(self=%0) : f64[37, 100]", "erf(self=%1) : f64[37, 100]",
                "div.Tensor(self=%2, other=%3) : f64[37, 100]"},
               1e-11);
}

TEST_F(ValuesOf, PointsOfShortTypes) {
  for (std::string type : {"f16", "bf16"}) {
    std::string shape = "[37, 100]", to = ", non_blocking=false, "
                                          "memory_format=none) : ";
    expectValues(
        {"f32" + shape, "f32" + shape},
        {"_to_copy(self=%0, dtype=" + type + to + type + shape,
         "_to_copy(self=%1, dtype=" + type + to + type + shape,
         "add.Tensor(self=%2, other=%3, alpha=1) : " + type + shape,
         "mul.Tensor(self=%4, other=%2) : " + type + shape,
         "_softmax(self=%5, dim=1, half_to_float=false) : " + type + shape,
         "_to_copy(self=%6, dtype=f32" + to + "f32" + shape},
        2e-2);
  }
}

TEST_F(ValuesOf, Integers) {
  expectValues({"i64[40, 33]", "i64[40, 33]"},
               {"add.Tensor(self=%0, other=%0, alpha=1) : i64[40, 33]",
                "bitwise_or.Tensor(self=%2, other=%0) : i64[40, 33]",
                "mul.Tensor(self=%3, other=%1) : i64[40, 33]",
                "sum.dim_IntList(self=%4, dim=[1], keepdim=false, "
                "dtype=none) : i64[40]"},
               0, 1000);
}

TEST_F(ValuesOf, Broadcasts) {
  expectValues({"f32[37, 1000]", "f32[1000]", "f32[37, 1]"},
               {"mul.Tensor(self=%0, other=%1) : f32[37, 1000]",
                "add.Tensor(self=%3, other=%2, alpha=1) : f32[37, 1000]"});
}

TEST_F(ValuesOf, Rows) {
  for (std::string shape : {"[37, 1000]", "[300, 6]", "[3, 4099]", "[1, 1]"}) {
    std::string type = "f32" + shape;
    expectValues({type},
                 {"_softmax(self=%0, dim=1, half_to_float=false) : " + type});
    expectValues({type},
                 {"_log_softmax(self=%0, dim=1, half_to_float=false) : " + type,
                  "exp(self=%1) : " + type});
  }
  expectValues({"f32[37, 1000]"},
               {"var.correction(self=%0, dim=[1], correction=1, "
                "keepdim=false) : f32[37]"});
  expectValues({"f32[37, 1000]"},
               {"amax(self=%0, dim=[1], keepdim=false) : f32[37]"});
}

TEST_F(ValuesOf, Columns) {
  for (std::string columns : {"1000", "257", "3"}) {
    std::string type = "f32[600, " + columns + "]";
    expectValues({type},
                 {"sum.dim_IntList(self=%0, dim=[0], keepdim=false, "
                  "dtype=none) : f32[" +
                  columns + "]"},
                 1e-4);
  }
  expectValues({"f32[37, 1000]"},
               {"_softmax(self=%0, dim=0, half_to_float=false) : "
                "f32[37, 1000]"});
}

TEST_F(ValuesOf, WholeSums) {
  expectValues({"f32[37, 1000]"}, {"sum(self=%0, dtype=none) : f32[]"}, 1e-3);
  expectValues({"f32[1000000]"}, {"sum(self=%0, dtype=none) : f32[]"}, 1e-3);
}

TEST_F(ValuesOf, PlacesOfMaxima) {
  expectValues({"f32[37, 1000]"},
               {"argmax(self=%0, dim=1, keepdim=false) : i64[37]"}, 0);
  // The first of equals.
  expectValues({"i64[40, 33]"},
               {"argmax(self=%0, dim=1, keepdim=false) : i64[40]"}, 0);
}

TEST_F(ValuesOf, Indices) {
  expectValues({"f32[37, 100]", "i64[33]"},
               {"index.Tensor(self=%0, indices=[%1]) : f32[33, 100]",
                "mul.Tensor(self=%2, other=%2) : f32[33, 100]"},
               1e-5, 37);
}

TEST_F(ValuesOf, TransposesAndPieces) {
  expectValues({"f32[37, 100]"}, {"t_copy(self=%0) : f32[100, 37]",
                                  "exp(self=%1) : f32[100, 37]"});
  expectValues({"f32[37, 10]", "f32[37, 25]"},
               {"cat(tensors=[%0, %1], dim=1) : f32[37, 35]",
                "tanh(self=%2) : f32[37, 35]"});
}

TEST_F(ValuesOf, Windows) {
  expectValues({"f32[2, 3, 16, 16]"},
               {"avg_pool2d(self=%0, kernel_size=[3, 3], stride=[], "
                "padding=[1, 1], ceil_mode=false, count_include_pad=true, "
                "divisor_override=none) : f32[2, 3, 6, 6]"});
}

} // namespace
