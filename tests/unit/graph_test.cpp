//===- graph_test.cpp - Text, checks and keys of graphs ---------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/graph.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace ltc;

namespace {

constexpr std::string_view headerExample = R"(graph {
  %0 = input f32[8, 512]
  %1 = input scalar f64
  %2 = aten::add.Tensor(self=%0, other=%0, alpha=%1) : f32[8, 512] loc "train.py":41 "forward"
  %3, %4 = aten::max.dim(self=%2, dim=1, keepdim=false) : f32[8], i64[8]
  %5 = aten::cat(tensors=[%2, %0], dim=0) : f32[16, 512]
  output %3
  output %5
  output %2 donates %0
}
)";

Graph parse(std::string_view text) {
  Result<Graph> graph = Graph::parse(text);
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().str());
  return graph ? *graph : Graph();
}

std::string parseError(std::string_view text) {
  Result<Graph> graph = Graph::parse(text);
  return graph ? "parsed" : graph.error().message;
}

std::string verifyError(std::string_view text) {
  Status status = parse(text).verify();
  return status ? "valid" : status.error().message;
}

/// A graph of one node with one attribute.
Graph withAttribute(Attribute value) {
  Graph graph;
  graph.inputs = {{TensorType{DType::F32, {4}}, false}};
  Node node;
  node.op = "aten::op";
  node.arguments = {{"self", ValueId(0)}, {"value", std::move(value)}};
  node.results = {TensorType{DType::F32, {4}}};
  graph.nodes = {node};
  graph.outputs = {{1, std::nullopt}};
  return graph;
}

TEST(GraphText, ParsesTheExampleOfTheHeader) {
  Graph graph = parse(headerExample);
  ASSERT_TRUE(graph.verify());
  EXPECT_EQ(graph.str(), headerExample);
  ASSERT_EQ(graph.nodes.size(), 3u);
  EXPECT_EQ(sourceOf(graph.nodes[0].source),
            (Source{"train.py", 41, "forward"}));
  EXPECT_EQ(graph.nodes[1].results[1], (TensorType{DType::I64, {8}}));
  EXPECT_EQ(std::get<std::vector<ValueId>>(graph.nodes[2].arguments[0].value),
            (std::vector<ValueId>{2, 0}));
  EXPECT_EQ(graph.outputs[2].donated, 0u);
  EXPECT_EQ(graph.typeOf(1).str(), "scalar f64");
  EXPECT_EQ(graph.typeOf(4).str(), "i64[8]");
  EXPECT_EQ(graph.typeOf(99), ValueType());
}

TEST(GraphText, EveryKindOfAttributeRoundTrips) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<Attribute> attributes = {
      std::monostate(),
      true,
      false,
      int64_t(-3),
      int64_t(INT64_MIN),
      1.0,
      -0.0,
      0.1,
      1e300,
      5e-324,
      inf,
      -inf,
      std::string("a \"quoted\"\n\x01 \\ text é"),
      std::string(),
      DType::BF16,
      DType::Bool,
      std::vector<int64_t>{},
      std::vector<int64_t>{1, -1},
      std::vector<double>{},
      std::vector<double>{1.0, inf, 0.25},
      std::vector<bool>{},
      std::vector<bool>{true, false}};
  for (const Attribute &attribute : attributes) {
    Graph graph = withAttribute(attribute);
    Graph again = parse(graph.str());
    ASSERT_EQ(again.nodes.size(), 1u) << graph.str();
    EXPECT_EQ(again.nodes[0].arguments, graph.nodes[0].arguments)
        << graph.str();
    EXPECT_EQ(again.hash(), graph.hash()) << graph.str();
    EXPECT_EQ(again.str(), graph.str());
  }
}

TEST(GraphText, NanRoundTrips) {
  Graph graph = withAttribute(-std::nan("7"));
  EXPECT_NE(graph.str().find("value=nan"), std::string::npos);
  EXPECT_EQ(parse(graph.str()).hash(), graph.hash());
}

TEST(GraphText, OptionalListsAndEmptyListsRoundTrip) {
  Graph graph = withAttribute(std::monostate());
  for (std::vector<ValueId> list :
       {std::vector<ValueId>{}, {kNoValue}, {kNoValue, 0}}) {
    graph.nodes[0].arguments[1].value = list;
    EXPECT_EQ(parse(graph.str()).nodes[0].arguments, graph.nodes[0].arguments)
        << graph.str();
  }
}

TEST(GraphText, CommentsAndSpacesDoNotCount) {
  Graph graph = parse("graph{ // nothing here\n%0=input f32[ 3 ,2]\n"
                      "output %0 }  // end");
  EXPECT_EQ(graph.typeOf(0).str(), "f32[3, 2]");
  EXPECT_EQ(graph.str(), "graph {\n  %0 = input f32[3, 2]\n  output %0\n}\n");
}

TEST(GraphText, ErrorsNameTheLineAndWhatWasWanted) {
  EXPECT_EQ(parseError("graph {\n  %0 = input f33[2]\n}"),
            "graph text, line 2: wanted an element type, found 'f33[2]'");
  EXPECT_EQ(parseError("graph {\n  %1 = input f32[2]\n}"),
            "graph text, line 2: wanted value %0 before, found '= input "
            "f32[2]'");
  EXPECT_EQ(parseError("graph {\n  %0 = input f32[-2]\n}"),
            "graph text, line 2: wanted a dimension, found ']'");
  EXPECT_EQ(parseError("graph {"),
            "graph text, line 1: wanted '%', found 'the end'");
  EXPECT_EQ(parseError("graph {\n}\nmore"),
            "graph text, line 3: wanted nothing after the graph, found 'more'");
  EXPECT_EQ(parseError("graph {\n%0 = aten::f(x=[1, true]) : f32[]\n}"),
            "graph text, line 2: wanted a list of one kind before, found ']) "
            ": f32[]'");
  EXPECT_EQ(parseError("graph {\n%0 = aten::f(x=\"\\q\") : f32[]\n}"),
            "graph text, line 2: wanted an escape: \\\", \\\\ or \\x and two "
            "digits, found '\\q\") : f32[]'");
}

TEST(GraphText, NoTruncatedTextParses) {
  std::string_view text = headerExample;
  // The last two bytes are "}\n".
  for (size_t size = 0; size + 2 <= text.size(); ++size)
    EXPECT_FALSE(Graph::parse(text.substr(0, size))) << text.substr(0, size);
}

TEST(GraphVerify, RefusesWhatCannotRun) {
  EXPECT_EQ(
      verifyError("graph {\n%0 = input scalar f32\n}"),
      "the graph is not valid: input %0 is a scalar of f32[]; a scalar is "
      "f64, i64 or bool");
  EXPECT_EQ(verifyError("graph {\n%0 = aten::f(x=%0) : f32[]\n}"),
            "the graph is not valid: argument 'x' of node 0 reads %0, which is "
            "not defined before it");
  EXPECT_EQ(verifyError("graph {\n%0 = aten::f(x=[none, %9]) : f32[]\n}"),
            "the graph is not valid: argument 'x' of node 0 reads %9, which is "
            "not defined before it");
  EXPECT_EQ(verifyError("graph {\n%0 = f(x=1) : f32[]\n}"),
            "the graph is not valid: node 0 has the op name 'f'; wanted is "
            "'namespace::name.overload'");
  EXPECT_EQ(verifyError("graph {\n%0 = aten::f(x=1, x=2) : f32[]\n}"),
            "the graph is not valid: node 0 has two arguments 'x'");
  EXPECT_EQ(verifyError("graph {\noutput %0\n}"),
            "the graph is not valid: output %0 is not defined");
  EXPECT_EQ(
      verifyError("graph {\n%0 = input scalar i64\noutput %0\n}"),
      "the graph is not valid: output %0 is a scalar; wanted is a tensor");
  EXPECT_EQ(verifyError("graph {\n%0 = input "
                        "f32[9000000000, 9000000000]\n}"),
            "the graph is not valid: input %0 has no possible type");
}

TEST(GraphVerify, ChecksDonations) {
  std::string inputs = "graph {\n%0 = input f32[2]\n%1 = input f32[3]\n";
  EXPECT_EQ(verifyError(inputs + "output %0 donates %0\n}"), "valid");
  EXPECT_EQ(verifyError(inputs + "output %0 donates %7\n}"),
            "the graph is not valid: output %0 donates input %7, which does "
            "not exist");
  EXPECT_EQ(verifyError(inputs + "output %0 donates %1\n}"),
            "the graph is not valid: output %0 of f32[2] donates input %1 of "
            "another type, f32[3]");
  EXPECT_EQ(
      verifyError(inputs + "output %0 donates %0\noutput %0 donates %0\n}"),
      "the graph is not valid: input %0 is donated twice");
}

TEST(GraphVerify, ErrorsNameTheOpAndTheLine) {
  Graph graph = parse("graph {\n%0 = aten::f(x=%5) : f32[] loc \"a.py\":7\n}");
  Status status = graph.verify();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().op, "aten::f");
  EXPECT_EQ(status.error().source.str(), "a.py:7");
}

// These values are in the keys of caches on users' disks: whoever changes them
// must also change the format of the cache.
TEST(GraphHash, IsTheSameForEver) {
  EXPECT_EQ(parse(headerExample).hash().str(),
            "00385245ee0e82a0f70c9852ca424d4e");
  EXPECT_EQ(parse(headerExample).nodes[0].signature().str(),
            "b749ecf8db1f0c2d71b027450293b784");
  EXPECT_EQ(Graph().hash().str(), "5160b82efe8d86b28812b5e795ce75a6");
  EXPECT_EQ(withAttribute(std::vector<double>{1.5, 2.5}).hash().str(),
            "463503d5d9825d3e9be7de70c93801d1");
}

TEST(GraphHash, AHasherFedByHandAgrees) {
  Graph graph = parse(headerExample);
  GraphHasher hasher;
  hasher.input({TensorType{DType::F32, {8, 512}}, false});
  hasher.input(ValueType::scalar(DType::F64));
  hasher.node(graph.nodes[0].signature(), std::vector<ValueId>{0, 0, 1});
  hasher.node(graph.nodes[1].signature(), std::vector<ValueId>{2});
  hasher.node(graph.nodes[2].signature(), std::vector<ValueId>{2, 0});
  hasher.output({3, std::nullopt});
  hasher.output({5, std::nullopt});
  hasher.output({2, 0});
  EXPECT_EQ(hasher.finish(), graph.hash());
}

TEST(GraphHash, SourcesDoNotCountAndAllElseDoes) {
  const Graph graph = parse(headerExample);
  Graph other = graph;
  other.nodes[0].source = internSource({"other.py", 1, "f"});
  EXPECT_EQ(other.hash(), graph.hash());

  auto differs = [&](auto change) {
    Graph changed = graph;
    change(changed);
    return changed.hash() != graph.hash();
  };
  EXPECT_TRUE(differs([](Graph &g) { g.inputs[0].tensor.dims[1] = 511; }));
  EXPECT_TRUE(differs([](Graph &g) { g.inputs[0].tensor.dtype = DType::F16; }));
  EXPECT_TRUE(differs([](Graph &g) { g.inputs[1].isScalar = false; }));
  EXPECT_TRUE(differs([](Graph &g) { g.nodes[0].op = "aten::sub.Tensor"; }));
  EXPECT_TRUE(differs([](Graph &g) { g.nodes[1].arguments[1].name = "d"; }));
  EXPECT_TRUE(differs(
      [](Graph &g) { g.nodes[1].arguments[1].value = Attribute(1.0); }));
  EXPECT_TRUE(
      differs([](Graph &g) { g.nodes[0].arguments[0].value = ValueId(1); }));
  EXPECT_TRUE(differs([](Graph &g) { g.nodes[2].results[0].dims[0] = 15; }));
  EXPECT_TRUE(differs([](Graph &g) { g.outputs[2].donated.reset(); }));
  EXPECT_TRUE(differs([](Graph &g) { g.outputs.pop_back(); }));
  // Where one list ends and the next begins counts too.
  EXPECT_TRUE(differs([](Graph &g) {
    auto &list = std::get<std::vector<ValueId>>(g.nodes[2].arguments[0].value);
    list.pop_back();
    g.nodes[2].arguments.insert(g.nodes[2].arguments.begin() + 1,
                                Argument{"extra", ValueId(0)});
  }));
}

TEST(Types, NamesRoundTrip) {
  for (int i = 0; i <= int(DType::C32); ++i)
    EXPECT_EQ(parseDType(name(DType(i))), DType(i)) << name(DType(i));
  EXPECT_EQ(parseDType("float"), std::nullopt);
  EXPECT_EQ((TensorType{DType::C128, {2, 3}}.bytes()), 96u);
  EXPECT_FALSE((TensorType{DType::F32, {2, symbolicSize(0)}}.isStatic()));
  EXPECT_TRUE(isFloat(DType::F8E5M2));
  EXPECT_TRUE(isInteger(DType::U64));
  EXPECT_FALSE(isInteger(DType::Bool));
  EXPECT_TRUE(isComplex(DType::C32));
}

} // namespace
