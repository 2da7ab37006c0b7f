//===- artifact_test.cpp - Artifacts as bytes -------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/artifact.h"

#include <gtest/gtest.h>

using namespace ltc;

namespace {

Artifact sample() {
  Artifact artifact;
  artifact.compiler = "1234-llvm-22";
  artifact.target = "cpu:x86_64-linux:znver4:+avx512f";
  artifact.entry = "entry";
  artifact.objects = {"", std::string("\x7f"
                                      "ELF\0code",
                                      9)};
  artifact.arenaBytes = Formula::symbol(0) * 256 + 4096;
  artifact.kernels = 7;
  artifact.calls = {{*Graph::parse("graph {\n  symbol s0 = 3\n  %0 = input "
                                   "f32[4*s0, 2]\n  %1 = "
                                   "aten::mm(self=%0, k=[]) : f32[2, 2]\n  "
                                   "output %1\n}\n"),
                     7}};
  artifact.errorSites = {{"aten::embedding", 3, "no {index}"},
                         {"aten::gather", Artifact::kNoNode, ""}};
  artifact.formulas = {Formula::symbol(0) * 4};
  artifact.symbols = 1;
  artifact.inputs = {{TensorType{DType::BF16, {2, symbolicSize(0)}}, false},
                     ValueType::scalar(DType::I64)};
  artifact.results = {TensorType{DType::F32, {}}, TensorType{DType::C32, {0}}};
  artifact.donated = {std::nullopt, 0};
  artifact.graphText = "graph {\n}\n";
  return artifact;
}

TEST(Artifact, RoundTrips) {
  Artifact artifact = sample();
  std::string bytes = artifact.serialize();
  Result<Artifact> again = Artifact::deserialize(bytes);
  ASSERT_TRUE(again) << again.error().str();
  EXPECT_EQ(again->compiler, artifact.compiler);
  EXPECT_EQ(again->target, artifact.target);
  EXPECT_EQ(again->entry, artifact.entry);
  EXPECT_EQ(again->objects, artifact.objects);
  EXPECT_EQ(again->codeBytes(), 9u);
  EXPECT_EQ(again->arenaBytes, artifact.arenaBytes);
  EXPECT_EQ(again->kernels, artifact.kernels);
  ASSERT_EQ(again->calls.size(), 1u);
  EXPECT_EQ(again->calls[0].graph.str(), artifact.calls[0].graph.str());
  EXPECT_EQ(again->calls[0].node, 7u);
  EXPECT_EQ(again->errorSites, artifact.errorSites);
  EXPECT_EQ(again->formulas, artifact.formulas);
  EXPECT_EQ(again->symbols, 1u);
  EXPECT_EQ(again->inputs, artifact.inputs);
  EXPECT_EQ(again->results, artifact.results);
  EXPECT_EQ(again->donated, artifact.donated);
  EXPECT_EQ(again->graphText, artifact.graphText);
  EXPECT_EQ(again->serialize(), bytes);
  EXPECT_EQ(Artifact::deserialize(Artifact().serialize())->serialize(),
            Artifact().serialize());
}

TEST(Artifact, TheLinesOfAProgramAreNotInItsBytes) {
  Artifact here = sample(), there = sample();
  here.calls[0].graph.nodes[0].source = internSource({"here.py", 1, "f"});
  EXPECT_EQ(here.serialize(), there.serialize());
}

// Whoever changes the bytes must raise the format version.
TEST(Artifact, TheFormatIsTheSameForEver) {
  std::string bytes = sample().serialize();
  EXPECT_EQ(bytes.substr(0, 9), "LTCARTI\n\7");
  EXPECT_EQ(Hasher().add(bytes).finish().str(),
            "d2b6f435236ef160f5fe204c26f25689");
}

TEST(Artifact, OnlyACallMaySpoilDonatedMemory) {
  Artifact artifact = sample();
  EXPECT_FALSE(artifact.spoils(0));
  EXPECT_FALSE(artifact.spoils(1));
  EXPECT_FALSE(artifact.spoils(2));
  artifact.calls[0].spoils = true;
  artifact = *Artifact::deserialize(artifact.serialize());
  EXPECT_FALSE(artifact.spoils(1));
  EXPECT_TRUE(artifact.spoils(2));
  EXPECT_TRUE(artifact.spoils(3)); // unknown
}

TEST(Artifact, RefusesEveryFlippedBit) {
  std::string bytes = sample().serialize();
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = char(flipped[bit / 8] ^ (1 << (bit % 8)));
    Result<Artifact> result = Artifact::deserialize(flipped);
    ASSERT_FALSE(result) << "bit " << bit;
    EXPECT_EQ(result.error().stage, Stage::Cache);
  }
}

TEST(Artifact, RefusesEveryOtherLength) {
  std::string bytes = sample().serialize();
  for (size_t size = 0; size < bytes.size(); ++size)
    ASSERT_FALSE(Artifact::deserialize(bytes.substr(0, size))) << size;
  EXPECT_FALSE(Artifact::deserialize(bytes + '\0'));
  EXPECT_FALSE(Artifact::deserialize(bytes + bytes));
}

TEST(Artifact, RefusesSizesThatItsSymbolsDoNotGive) {
  auto isTaken = [](auto spoil) {
    Artifact artifact = sample();
    spoil(artifact);
    return bool(Artifact::deserialize(artifact.serialize()));
  };
  EXPECT_TRUE(isTaken([](Artifact &) {}));
  EXPECT_FALSE(isTaken([](Artifact &a) { a.symbols = 0; }));
  EXPECT_FALSE(isTaken([](Artifact &a) { a.formulas.clear(); }));
  EXPECT_FALSE(isTaken([](Artifact &a) { a.arenaBytes = Formula::symbol(1); }));
  EXPECT_FALSE(
      isTaken([](Artifact &a) { a.formulas.push_back(Formula::symbol(1)); }));
  EXPECT_FALSE(
      isTaken([](Artifact &a) { a.results[0].dims = {symbolicSize(1)}; }));
}

/// The header that serialize() would write before this payload.
std::string framed(const std::string &payload) {
  Hash128 hash = Hasher().add(payload).finish();
  uint64_t words[] = {7, payload.size(), hash.low, hash.high};
  return "LTCARTI\n" +
         std::string(reinterpret_cast<char *>(words), sizeof(words)) + payload;
}

TEST(Artifact, RefusesWrongContentBehindARightChecksum) {
  std::string payload = sample().serialize().substr(40);
  ASSERT_TRUE(Artifact::deserialize(framed(payload)));
  EXPECT_FALSE(Artifact::deserialize(framed(payload + "more")));
  EXPECT_FALSE(Artifact::deserialize(framed("")));
  EXPECT_FALSE(Artifact::deserialize(framed(std::string(400, '\xff'))));
  // Lengths that lie, a word at a time.
  for (size_t at = 0; at + 8 <= payload.size(); at += 8) {
    std::string changed = payload;
    changed.replace(at, 8, "\xff\xff\xff\xff\xff\xff\xff\x7f");
    Result<Artifact> result = Artifact::deserialize(framed(changed));
    if (result) { // it fell into a field that takes any value
      EXPECT_EQ(result->serialize(), framed(changed));
    }
  }
}

} // namespace
