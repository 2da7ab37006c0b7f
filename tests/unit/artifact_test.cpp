//===- artifact_test.cpp - Artifacts as bytes -------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/artifact.h"

#include <gtest/gtest.h>

using namespace ltc;

extern "C" const char *describe_program(const void *bytes, size_t size,
                                        const int64_t *symbols, char *text,
                                        size_t capacity);

namespace {

Artifact sample() {
  Artifact artifact;
  artifact.compiler = "1234-llvm-22";
  artifact.target = "cpu:x86_64-linux:znver4:+avx512f";
  artifact.blobs = {{"elf", ""},
                    {"elf", std::string("\x7f"
                                        "ELF\0code",
                                        9)}};
  artifact.kernels = {{"kernel_0", "pointwise", 1, 256},
                      {"other", "serial", 0}};
  artifact.arena = {4096, symbolicSize(1)};
  artifact.calls = {{*Graph::parse("graph {\n  symbol s0 = 3\n  %0 = input "
                                   "f32[4*s0, 2]\n  %1 = "
                                   "aten::mm(self=%0, k=[]) : f32[2, 2]\n  "
                                   "output %1\n}\n"),
                     7}};
  artifact.errorSites = {{"aten::embedding", 3, "no {index}"},
                         {"aten::gather", Artifact::kNoNode, ""}};
  artifact.formulas = {Formula::symbol(0) * 4, Formula::symbol(0) * 256 + 7};
  artifact.symbols = 1;
  artifact.inputs = {{TensorType{DType::BF16, {2, symbolicSize(0)}}, false},
                     ValueType::scalar(DType::I64)};
  artifact.results = {TensorType{DType::F32, {}}, TensorType{DType::C32, {0}}};
  artifact.donated = {std::nullopt, 0};
  artifact.graphText = "graph {\n}\n";
  artifact.words = {{LTC_INPUT, 1, 0},
                    {LTC_ARENA, 1, 64},
                    {LTC_RESULT, 0, 0},
                    {LTC_NUMBER, 0, symbolicSize(0)},
                    {LTC_SYMBOLS, 0, 0}};
  artifact.extents = {{symbolicSize(0), 8}, {3, 1}};
  artifact.nodes = {0, 1};
  artifact.steps = {{LTC_LAUNCH, 1, 0, 5, 0, 2, 100, 0, 0, 0, 2},
                    {LTC_COPY, 0, 1, 3, 0, 0, 0, 1, 0, 2, 0}};
  return artifact;
}

TEST(Artifact, RoundTrips) {
  Artifact artifact = sample();
  std::string bytes = artifact.serialize();
  Result<Artifact> again = Artifact::deserialize(bytes);
  ASSERT_TRUE(again) << again.error().str();
  EXPECT_EQ(again->compiler, artifact.compiler);
  EXPECT_EQ(again->target, artifact.target);
  EXPECT_EQ(again->blobs, artifact.blobs);
  EXPECT_EQ(again->codeBytes(), 9u);
  EXPECT_EQ(again->arena, artifact.arena);
  EXPECT_EQ(again->kernels, artifact.kernels);
  EXPECT_EQ(again->listing(), artifact.listing());
  EXPECT_EQ(again->launches(), 1u);
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
  EXPECT_EQ(bytes.substr(0, 9), "LTCARTI\n\11");
  EXPECT_EQ(Hasher().add(bytes).finish().str(),
            "4d3c45a853e7b312bd22c562224292fa");
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
  EXPECT_FALSE(isTaken([](Artifact &a) { a.arena = {symbolicSize(2)}; }));
  EXPECT_FALSE(
      isTaken([](Artifact &a) { a.words[0].amount = symbolicSize(2); }));
  EXPECT_FALSE(
      isTaken([](Artifact &a) { a.extents[1].length = symbolicSize(2); }));
  EXPECT_FALSE(
      isTaken([](Artifact &a) { a.formulas.push_back(Formula::symbol(1)); }));
  EXPECT_FALSE(
      isTaken([](Artifact &a) { a.results[0].dims = {symbolicSize(2)}; }));
}

TEST(Artifact, RefusesStepsThatNameWhatIsNotThere) {
  auto isTaken = [](auto spoil) {
    Artifact artifact = sample();
    spoil(artifact);
    return bool(Artifact::deserialize(artifact.serialize()));
  };
  EXPECT_FALSE(isTaken([](Artifact &a) { a.words[0].index = 2; }));
  EXPECT_FALSE(isTaken([](Artifact &a) { a.words[1].index = 2; }));
  EXPECT_FALSE(isTaken([](Artifact &a) { a.words[2].index = 2; }));
  EXPECT_FALSE(isTaken([](Artifact &a) { a.words[0].base = 9; }));
  EXPECT_FALSE(isTaken([](Artifact &a) { a.kernels[1].blob = 2; }));
  EXPECT_FALSE(isTaken([](Artifact &a) { a.steps[0].target = 2; }));
  EXPECT_FALSE(isTaken([](Artifact &a) { a.steps[0].kind = 3; }));
  EXPECT_FALSE(isTaken([](Artifact &a) { a.steps[0].words = 6; }));
  EXPECT_FALSE(isTaken([](Artifact &a) { a.steps[0].extents = 3; }));
  EXPECT_FALSE(isTaken([](Artifact &a) { a.steps[1].words = 2; }));
  EXPECT_FALSE(isTaken([](Artifact &a) { a.extents[0].step = 0; }));
  EXPECT_FALSE(isTaken([](Artifact &a) { a.donated[1] = 2; }));
}

TEST(Artifact, ReadsAtAnyAddress) {
  std::string bytes = " " + sample().serialize();
  EXPECT_TRUE(Artifact::deserialize(std::string_view(bytes).substr(1)));
}

TEST(Artifact, ListsItsSteps) {
  EXPECT_EQ(sample().listing(), R"(program cpu:x86_64-linux:znver4
  input 0: bf16[2, 4*s0]
  input 1: scalar i64
  result 0: f32[]
  result 1: c32[0] in input 0
  arena 0: 4096 bytes
  arena 1: 256*s0+7 bytes
  launch other serial (4*s0 by 8, 3) grain 100: input 1, arena 1 + 64, result 0, 4*s0, symbols
  copy 4*s0 bytes: result 0 to arena 1 + 64 (writes donated memory)
)");
}

TEST(Artifact, IsReadInPlainC) {
  std::string bytes = sample().serialize();
  char text[200] = "";
  int64_t symbols[] = {5};
  EXPECT_EQ(
      describe_program(bytes.data(), bytes.size(), symbols, text, sizeof(text)),
      nullptr);
  EXPECT_STREQ(text, "arena 5440\n0 other 9 0\n2  1 64\n");
  symbols[0] = INT64_MAX;
  EXPECT_STREQ(
      describe_program(bytes.data(), bytes.size(), symbols, text, sizeof(text)),
      "the arena has no size");
  // What is damaged behind the header is refused, or named as something else:
  // nothing is read that is not there (this suite runs with a sanitizer, too).
  symbols[0] = 5;
  for (size_t at = Artifact::headerBytes; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = char(~damaged[at]);
    (void)describe_program(damaged.data(), damaged.size(), symbols, text,
                           sizeof(text));
  }
  EXPECT_STREQ(describe_program(bytes.data(), bytes.size() - 1, symbols, text,
                                sizeof(text)),
               "the length is wrong");
}

TEST(Artifact, AddsUpItsArena) {
  Artifact artifact = sample();
  EXPECT_EQ(artifact.arenaBytes(std::vector<int64_t>{1}), 4096 + 320);
  EXPECT_EQ(artifact.arenaBytes(std::vector<int64_t>{-1}), std::nullopt);
  EXPECT_EQ(artifact.arenaBytes(std::vector<int64_t>{INT64_MAX}), std::nullopt);
}

/// The header that serialize() would write before this payload.
std::string framed(const std::string &payload) {
  Hash128 hash = Hasher().add(payload).finish();
  uint64_t words[] = {LTC_PROGRAM_VERSION, payload.size(), hash.low, hash.high};
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
