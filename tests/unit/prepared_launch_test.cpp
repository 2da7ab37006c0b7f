//===- prepared_launch_test.cpp - Launches that are repeated --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "fake_device.h"
#include "ltc/prepared_launch.h"

#include <chrono>

using namespace ltc;
using namespace fake;
using std::chrono::milliseconds;

namespace {

class PreparedLaunchTest : public EngineTest {
protected:
  PreparedLaunchPtr prepared(const ExecutablePtr &executable, Renewal renewal,
                             std::vector<bool> varies) {
    auto made = prepare(*engine, executable, {&renewal, 1}, varies);
    EXPECT_TRUE(made) << (made ? "" : made.error().str());
    return made ? *made : nullptr;
  }

  PreparedRun run(const PreparedLaunchPtr &prepared,
                  const std::vector<BufferPtr> &buffers) {
    std::vector<LaunchArgument> arguments;
    for (const BufferPtr &buffer : buffers)
      arguments.push_back({buffer, {}});
    auto made = ltc::launch(*engine, prepared, std::move(arguments), nullptr);
    EXPECT_TRUE(made) << (made ? "" : made.error().str());
    return made ? std::move(*made) : PreparedRun();
  }
};

/// Adds in place; a negative number is an error, by which nothing is written.
std::string addChecked(const std::vector<float *> &inputs,
                       const std::vector<float *> &results) {
  if (inputs[1][0] < 0)
    return "site0";
  for (int i = 0; i < 4; ++i)
    results[0][i] = inputs[0][i] + inputs[1][i];
  return "";
}

TEST_F(PreparedLaunchTest, WhatIsUpdatedStaysOneBuffer) {
  BufferPtr weight = upload(1);
  auto step = prepared(program("add", 2, 0), Renewal::Updated, {false, true});
  Gate gate;
  PreparedRun first = run(step, {weight, upload(10)});
  BufferPtr updated = step->result(0);
  PreparedRun second = run(step, {upload(20)});
  PreparedRun third = run(step, {upload(30)});
  EXPECT_TRUE(weight->isConsumed());
  EXPECT_TRUE(first.fresh.empty() && third.fresh.empty());
  gate.awaitArrival();
  EXPECT_FALSE(updated->waitFor(milliseconds(0)));
  gate.open();
  EXPECT_TRUE(second.whole->wait());
  EXPECT_TRUE(third.whole->wait());
  EXPECT_EQ(step->result(0), updated);
  EXPECT_EQ(read(updated), 61);
  const int allocated = state().allocations;
  BufferPtr more = upload(1);
  run(step, {more});
  EXPECT_EQ(read(updated), 62);
  EXPECT_EQ(state().allocations, allocated + 1); // that of the upload
}

TEST_F(PreparedLaunchTest, WhatIsRemadeStaysOneBuffer) {
  auto step = prepared(program("inc"), Renewal::Remade, {true});
  run(step, {upload(1)});
  BufferPtr remade = step->result(0);
  EXPECT_EQ(read(remade), 2);
  run(step, {upload(5)});
  EXPECT_EQ(step->result(0), remade);
  EXPECT_EQ(read(remade), 6);
}

TEST_F(PreparedLaunchTest, WhatIsFreshIsAnotherBufferInEachRun) {
  auto step = prepared(program("add", 2), Renewal::Fresh, {false, true});
  BufferPtr stays = upload(1);
  PreparedRun first = run(step, {stays, upload(2)});
  PreparedRun second = run(step, {upload(3)});
  EXPECT_EQ(step->result(0), nullptr);
  EXPECT_EQ(read(first.fresh.at(0)), 3);
  EXPECT_EQ(read(second.fresh.at(0)), 4);
  EXPECT_FALSE(stays->isConsumed());
}

TEST_F(PreparedLaunchTest, AFailedRunLeavesTheValueFromBefore) {
  state().bodies["test::checked"] = addChecked;
  auto step =
      prepared(program("checked", 2, 0), Renewal::Updated, {false, true});
  run(step, {upload(1), upload(10)});
  BufferPtr updated = step->result(0);
  EXPECT_EQ(read(updated), 11);
  Gate gate;
  PreparedRun bad = run(step, {upload(-1)});
  PreparedRun behind = run(step, {upload(20)}); // in flight already
  gate.open();
  EXPECT_FALSE(bad.whole->wait());
  EXPECT_FALSE(behind.whole->wait());
  EXPECT_TRUE(step->hasFailed());
  EXPECT_EQ(read(updated), 11);
}

TEST_F(PreparedLaunchTest, AFailedRunFailsWhatItWasToRemake) {
  state().bodies["test::checked"] = addChecked;
  auto step = prepared(program("checked", 2), Renewal::Remade, {true, true});
  run(step, {upload(1), upload(10)});
  EXPECT_EQ(read(step->result(0)), 11);
  PreparedRun bad = run(step, {upload(1), upload(-1)});
  EXPECT_FALSE(bad.whole->wait());
  EXPECT_TRUE(step->hasFailed());
  float values[4];
  EXPECT_FALSE(engine->download(step->result(0), values));
}

TEST_F(PreparedLaunchTest, WhatCannotStayIsRefused) {
  auto refusal = [&](std::optional<uint32_t> donates, Renewal renewal,
                     std::vector<bool> varies) {
    auto made =
        prepare(*engine, program("add", 2, donates), {&renewal, 1}, varies);
    return made ? "prepared" : made.error().message;
  };
  EXPECT_EQ(refusal(std::nullopt, Renewal::Updated, {false, true}),
            "result 0 cannot stay: no input donates its memory");
  EXPECT_EQ(refusal(0, Renewal::Remade, {false, true}),
            "result 0 cannot stay: an input donates its memory");
  EXPECT_EQ(refusal(0, Renewal::Fresh, {false, true}),
            "result 0 cannot stay: it takes the memory of an input that stays");
  EXPECT_EQ(refusal(0, Renewal::Updated, {true, true}),
            "result 0 cannot stay: the input that it updates has another type "
            "or varies");
  EXPECT_EQ(refusal(0, Renewal::Updated, {false}),
            "result 1 cannot stay: the graph has other results or inputs");
}

TEST_F(PreparedLaunchTest, ItsBuffersOutliveIt) {
  auto step = prepared(program("inc"), Renewal::Remade, {true});
  run(step, {upload(1)});
  BufferPtr remade = step->result(0);
  step.reset();
  EXPECT_EQ(read(remade), 2);
}

} // namespace
