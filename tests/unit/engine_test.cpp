//===- engine_test.cpp - Launches, failures, donation and waits -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "fake_device.h"
#include "ltc/devices.h"

#include "ltc/graph_name.h"
#include "ltc/metrics.h"
#include "ltc/settings.h"

#include <chrono>
#include <thread>

using namespace ltc;
using namespace fake;
using std::chrono::milliseconds;

namespace {

int64_t metric(const std::string &name) { return metrics().at(name); }

TEST_F(EngineTest, LaunchesReturnBeforeTheyRunAndRunInOrder) {
  ExecutablePtr inc = program("inc"), add = program("add", 2);
  BufferPtr x = upload(1);
  Gate gate;
  BufferPtr y = launch(inc, {x});
  BufferPtr z = launch(add, {x, y});
  gate.awaitArrival();
  EXPECT_FALSE(y->waitFor(milliseconds(0)));
  EXPECT_FALSE(z->waitFor(milliseconds(1)));
  EXPECT_EQ(engine->inFlight(), 2u);
  gate.open();
  EXPECT_EQ(read(z), 3);
  EXPECT_EQ(engine->inFlight(), 0u);
  EXPECT_TRUE(y->waitFor(milliseconds(0)));
  EXPECT_EQ(state().order,
            (std::vector<std::string>{"test::inc", "test::add"}));
  EXPECT_EQ(z->type().str(), "f32[4]");
}

TEST_F(EngineTest, AMarkerIsReachedAfterWhatIsQueuedBefore) {
  ExecutablePtr inc = program("inc");
  Gate gate;
  BufferPtr y = launch(inc, {upload(1)});
  MarkerPtr first = *engine->mark(), second = *engine->mark();
  gate.awaitArrival();
  EXPECT_FALSE(first->waitFor(milliseconds(1)));
  gate.open();
  EXPECT_TRUE(second->waitFor(milliseconds(10'000)));
  EXPECT_TRUE(first->waitFor(milliseconds(0)));
  EXPECT_TRUE(y->waitFor(milliseconds(0)));
  EXPECT_GE(secondsBetween(*first, *second), 0);
  EXPECT_LE(secondsBetween(*first, *second), 10);
}

TEST_F(EngineTest, AMarkerOfAClosedEngineIsAnError) {
  dynamic_cast<runtime::DeviceEngine &>(*engine).close();
  auto marker = engine->mark();
  ASSERT_FALSE(marker);
  EXPECT_NE(marker.error().message.find("shut down"), std::string::npos);
}

TEST_F(EngineTest, QueuedWorkKeepsItsBuffersAndProgramAlive) {
  ExecutablePtr inc = program("inc");
  Gate gate;
  BufferPtr y = launch(inc, {launch(inc, {upload(1)})});
  inc.reset();
  engine->clearCache();
  gate.awaitArrival();
  EXPECT_EQ(state().programs, 1);
  gate.open();
  EXPECT_EQ(read(y), 3);
  EXPECT_TRUE(engine->synchronize());
  EXPECT_EQ(state().buffers, 1); // y; the inputs are gone
  EXPECT_EQ(state().programs, 0);
}

TEST_F(EngineTest, AFailurePoisonsWhatIsComputedFromItAndNothingElse) {
  ExecutablePtr inc = program("inc"), fail = program("fail");
  resetMetrics();
  BufferPtr x = upload(1);
  BufferPtr bad = launch(fail, {x});
  BufferPtr worse = launch(inc, {bad});
  BufferPtr good = launch(inc, {x});
  for (const BufferPtr &buffer : {worse, bad, worse}) {
    Status status = buffer->wait();
    ASSERT_FALSE(status);
    EXPECT_EQ(withoutGraph(status.error().message), "it broke");
    EXPECT_EQ(status.error().code, ErrorCode::DeviceFailed);
    float values[4];
    EXPECT_FALSE(engine->download(buffer, values));
  }
  EXPECT_EQ(read(good), 2);
  EXPECT_EQ(state().order,
            (std::vector<std::string>{"test::fail", "test::inc"}));
  // Somebody has seen it, so that it is not delivered again.
  EXPECT_TRUE(engine->synchronize());
  EXPECT_EQ(metric("execute.errors"), 1);
  EXPECT_EQ(metric("execute.launches"), 3);
  EXPECT_EQ(metric("execute.kernels"), 3); // of the one that ran through
}

TEST_F(EngineTest, AFailedLaunchGivesBackWhatWasDonated) {
  state().bodies["test::check"] = [](auto &, auto &) { return "site0"; };
  ExecutablePtr check = *engine->compile(graphOf("check", 1, 0));
  ExecutablePtr inc = *engine->compile(graphOf("inc", 1, 0));
  BufferPtr x = upload(1);
  Gate gate;
  BufferPtr bad = launch(check, {x});
  BufferPtr later = launch(inc, {bad}); // donates what it never gets
  EXPECT_TRUE(x->isConsumed());
  EXPECT_FALSE(bad->failure());
  gate.open();
  EXPECT_FALSE(later->wait());
  EXPECT_TRUE(bad->failure());
  EXPECT_TRUE(bad->isUndone());
  EXPECT_FALSE(x->isConsumed());
  EXPECT_FALSE(bad->isConsumed());
  EXPECT_EQ(read(x), 1);
  EXPECT_EQ(read(launch(inc, {x})), 2);
}

TEST_F(EngineTest, WhatMayBeWrittenOverStaysConsumed) {
  ExecutablePtr fail = *engine->compile(graphOf("fail", 1, 0)); // at no site
  BufferPtr x = upload(1), bad = launch(fail, {x});
  Status status = bad->wait();
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().hint.find("checkpoint"), std::string::npos);
  EXPECT_TRUE(x->isConsumed());
}

TEST_F(EngineTest, ALaunchKeepsWhatItIsGivenUntilItHasSucceeded) {
  auto kept = std::make_shared<int>(0);
  std::weak_ptr<int> watched = kept;
  BufferPtr good =
      (*engine->launch(program("inc"), {{upload(1), {}}}, kept))[0];
  kept.reset();
  EXPECT_EQ(read(good), 2);
  EXPECT_TRUE(engine->synchronize());
  EXPECT_TRUE(watched.expired());
  watched = kept = std::make_shared<int>(0);
  BufferPtr bad =
      (*engine->launch(program("fail"), {{upload(1), {}}}, kept))[0];
  kept.reset();
  EXPECT_FALSE(bad->wait());
  EXPECT_FALSE(watched.expired());
}

TEST_F(EngineTest, AnErrorThatWasDeliveredIsAnotherOneWhereItIsUsedOn) {
  BufferPtr bad = launch(program("fail"), {upload(1)});
  EXPECT_FALSE(bad->wait());
  EXPECT_TRUE(engine->synchronize());
  BufferPtr again = launch(program("inc"), {bad});
  EXPECT_FALSE(engine->synchronize());
  EXPECT_TRUE(again->isUndone());
}

TEST_F(EngineTest, SynchronizeDeliversAnUnseenErrorOnce) {
  ExecutablePtr inc = program("inc"), fail = program("fail");
  BufferPtr x = upload(1);
  launch(inc, {launch(fail, {x})});
  launch(fail, {x});
  ::testing::internal::CaptureStderr();
  Status status = engine->synchronize();
  EXPECT_EQ(withoutGraph(::testing::internal::GetCapturedStderr()),
            "[ltc warn execute] a later launch failed too: it broke");
  ASSERT_FALSE(status);
  EXPECT_EQ(withoutGraph(status.error().message), "it broke");
  EXPECT_TRUE(engine->synchronize());
  EXPECT_EQ(read(launch(inc, {x})), 2);
}

TEST_F(EngineTest, AnErrorSiteNamesTheOpAndTheLine) {
  Status status = launch(program("site"), {upload(1)})->wait();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().str(),
            "test::site(f32[4]): index out of range; in " +
                graphName(graphOf("site").hash(), 1) +
                "\n"
                "  recorded at  user.py:12 in f\n"
                "  as           test::site\n"
                "  stage        execute (out of range)");
}

TEST_F(EngineTest, AFailingLibraryCallNamesItsOpAndTheLine) {
  Graph graph = graphOf("call", 2);
  graph.nodes[0].source = internSource({"user.py", 13, "g"});
  ExecutablePtr executable = *engine->compile(graph);
  Status status = launch(executable, {upload(1), upload(2)})->wait();
  ASSERT_FALSE(status);
  EXPECT_EQ(withoutGraph(status.error().message),
            "test::call(f32[4], f32[4]): index out of range");
  EXPECT_EQ(status.error().op, "test::call");
  EXPECT_EQ(status.error().source.str(), "user.py:13 in g");
  Status unknown = launch(program("nowhere"), {upload(1)})->wait();
  ASSERT_FALSE(unknown);
  EXPECT_EQ(withoutGraph(unknown.error().message), "index out of range");
}

TEST_F(EngineTest, ADonatedInputGivesItsMemory) {
  ExecutablePtr inc = program("inc", 1, 0);
  BufferPtr x = upload(1);
  EXPECT_TRUE(engine->synchronize());
  int before = state().allocations;
  for (int i = 0; i < 5; ++i)
    x = launch(inc, {x});
  EXPECT_EQ(read(x), 6);
  EXPECT_EQ(state().allocations, before);
  EXPECT_EQ(state().buffers, 1);
}

TEST_F(EngineTest, AConsumedBufferIsRefused) {
  ExecutablePtr inc = program("inc", 1, 0);
  BufferPtr x = upload(1);
  BufferPtr y = launch(inc, {x});
  auto again = engine->launch(inc, {{x, {}}});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::InvalidArgument);
  float values[4];
  EXPECT_FALSE(engine->download(x, values));
  EXPECT_EQ(read(y), 2);
  auto twice = engine->launch(program("add", 2, 0), {{y, {}}, {y, {}}});
  EXPECT_FALSE(twice);
  EXPECT_EQ(read(y), 2); // a refused launch consumes nothing
}

TEST_F(EngineTest, ACopyOfWhatIsDonatedMeanwhileFails) {
  auto other = openEngine();
  BufferPtr x = upload(1);
  ExecutablePtr inc = program("inc", 1, 0);
  EXPECT_TRUE(engine->synchronize());
  float ones[4] = {1, 1, 1, 1};
  auto busy = other->upload({DType::F32, {4}}, ones);
  auto late = other->compile(graphOf("inc"));
  ASSERT_TRUE(busy && late);
  Gate gate;
  ASSERT_TRUE(other->launch(*late, {{*busy, {}}}));
  auto copy = other->copy(x); // waits behind that
  ASSERT_TRUE(copy);
  BufferPtr y = launch(inc, {x});
  {
    std::unique_lock lock(state().mutex);
    state().changed.wait(lock, [] { return state().waitingAtGate == 2; });
  }
  gate.open();
  Status status = (*copy)->wait();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message,
            "the buffer of f32[4] was donated before it was copied");
  EXPECT_EQ(read(y), 2);
}

TEST_F(EngineTest, AFailedDonationPropagates) {
  BufferPtr bad = launch(program("fail"), {upload(1)});
  BufferPtr worse = launch(program("inc", 1, 0), {bad});
  Status status = worse->wait();
  ASSERT_FALSE(status);
  EXPECT_EQ(withoutGraph(status.error().message), "it broke");
}

TEST_F(EngineTest, ChecksItsArguments) {
  ExecutablePtr add = program("add", 2);
  BufferPtr x = upload(1);
  float values[5] = {};
  BufferPtr five = *engine->upload({DType::F32, {5}}, values);
  auto message = [&](std::vector<LaunchArgument> arguments) {
    auto result = engine->launch(add, std::move(arguments));
    return result ? "launched" : result.error().message;
  };
  EXPECT_EQ(message({{x, {}}}),
            "the graph has 2 inputs, and the launch 1 arguments");
  EXPECT_EQ(message({{x, {}}, {five, {}}}),
            "argument 1 is f32[5], and the graph wants f32[4]");
  EXPECT_EQ(message({{x, {}}, {nullptr, {}}}),
            "argument 1 is a scalar, and the graph wants f32[4]");
  EXPECT_FALSE(engine->launch(nullptr, {}));
}

/// Stands for a result whose graph could not be compiled.
class BrokenBuffer final : public Buffer {
public:
  const TensorType &type() const override { return tensorType; }
  Status wait() override {
    return Error{
        ErrorCode::CompileFailed, Stage::Lower, "no such row", "", {}, ""};
  }
  bool waitFor(milliseconds) override { return true; }
  const Error *failure() const override { return nullptr; }
  bool isUndone() const override { return false; }
  bool isConsumed() const override { return false; }

private:
  TensorType tensorType{DType::F32, {4}};
};

TEST_F(EngineTest, AFailedBufferOfTheCallersGivesItsError) {
  auto broken = std::make_shared<BrokenBuffer>();
  auto result = engine->launch(program("inc"), {{broken, {}}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "no such row");
  float values[4];
  Status status = engine->download(broken, values);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "no such row");
}

TEST_F(EngineTest, TheProducerWaitsForTheQueue) {
  ASSERT_TRUE(set("max_in_flight", "2"));
  ExecutablePtr inc = program("inc");
  BufferPtr x = upload(1);
  Gate gate;
  launch(inc, {x});
  launch(inc, {x});
  std::atomic<bool> launched = false;
  std::thread producer([&] {
    launch(inc, {x});
    launched = true;
  });
  gate.awaitArrival();
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_FALSE(launched);
  EXPECT_EQ(engine->inFlight(), 2u);
  gate.open();
  producer.join();
  EXPECT_TRUE(launched);
  EXPECT_TRUE(engine->synchronize());
  ASSERT_TRUE(set("max_in_flight", "8"));
}

TEST_F(EngineTest, OutOfMemoryFailsOneLaunchOnly) {
  ExecutablePtr inc = program("inc");
  BufferPtr x = upload(1);
  state().failAbove = 0;
  BufferPtr bad = launch(inc, {x});
  Status status = bad->wait();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::OutOfMemory);
  float values[4] = {};
  auto upload = engine->upload({DType::F32, {4}}, values);
  ASSERT_FALSE(upload);
  EXPECT_EQ(upload.error().code, ErrorCode::OutOfMemory);
  state().failAbove = SIZE_MAX;
  EXPECT_EQ(read(launch(inc, {x})), 2);
}

TEST_F(EngineTest, ProgramsMakeRoomForOneThatHasNoMemory) {
  state().mostPrograms = 4;
  for (std::string op : {"a", "b", "c", "d", "e", "f", "inc"})
    ASSERT_NE(program(op), nullptr) << op;
  EXPECT_LE(state().programs, 4);
  EXPECT_EQ(read(launch(program("inc"), {upload(1)})), 2);
  // If that frees none it is the error, of that graph alone.
  ExecutablePtr inc = program("inc");
  state().mostPrograms = 0;
  auto failed = engine->compile(graphOf("another"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::OutOfMemory);
  EXPECT_EQ(read(launch(inc, {upload(2)})), 3);
}

TEST_F(EngineTest, TheArenaIsKeptAndGrown) {
  ExecutablePtr none = program("none");
  compiler.arenaBytes = 128;
  ExecutablePtr small = program("small");
  compiler.arenaBytes = 256;
  ExecutablePtr large = program("large");
  BufferPtr x = upload(1);
  for (const ExecutablePtr &executable : {none, small, small, large, small})
    launch(executable, {x});
  EXPECT_TRUE(engine->synchronize());
  auto &arenas = state().arenas;
  ASSERT_EQ(arenas.size(), 5u);
  EXPECT_EQ(arenas[0], nullptr);
  EXPECT_NE(arenas[1], nullptr);
  EXPECT_EQ(arenas[1], arenas[2]);
  EXPECT_EQ(arenas[3], arenas[4]);
  EXPECT_EQ(state().buffers, 2); // x and the arena
}

TEST_F(EngineTest, ZerosNeedNoDataOnTheHost) {
  for (bool reachable : {true, false}) {
    state().hostReachable = reachable;
    auto zeros = engine->upload({DType::F32, {4}}, nullptr);
    ASSERT_TRUE(zeros) << zeros.error().str();
    EXPECT_EQ(read(*zeros), 0);
    EXPECT_EQ(read(launch(program("inc"), {*zeros})), 1);
  }
}

TEST_F(EngineTest, TransfersWorkWhereTheHostCannotReach) {
  state().hostReachable = false;
  ExecutablePtr inc = program("inc");
  Gate gate;
  BufferPtr y = launch(inc, {upload(1)});
  BufferPtr x = upload(7); // returns although the queue stands still
  gate.open();
  EXPECT_EQ(read(x), 7);
  EXPECT_EQ(read(y), 2);
}

TEST_F(EngineTest, EmptyTensorsAndDynamicTypes) {
  auto empty = engine->upload({DType::F32, {0, 3}}, nullptr);
  ASSERT_TRUE(empty);
  EXPECT_TRUE(engine->download(*empty, nullptr));
  EXPECT_FALSE(engine->upload({DType::F32, {symbolicSize(0)}}, nullptr));
}

TEST_F(EngineTest, WhatIsEmptyIsThereWhileTheQueueIsBusy) {
  fake::Gate gate;
  BufferPtr behind = launch(program("inc"), {upload(1)});
  gate.awaitArrival();
  const float none = 0;
  for (const void *data :
       {static_cast<const void *>(&none), static_cast<const void *>(nullptr)}) {
    auto empty = engine->upload({DType::F32, {0}}, data);
    ASSERT_TRUE(empty);
    EXPECT_TRUE((*empty)->waitFor(std::chrono::milliseconds(0)));
  }
  EXPECT_FALSE(behind->waitFor(std::chrono::milliseconds(0)));
}

TEST_F(EngineTest, BuffersOutliveTheEngine) {
  BufferPtr pending, x = upload(5);
  {
    Gate gate;
    pending = launch(program("inc"), {x});
    gate.open();
    engine->close(); // drains
    engine->close();
  }
  EXPECT_TRUE(pending->waitFor(milliseconds(0)));
  EXPECT_EQ(read(pending), 6);
  float values[4] = {};
  auto refused = engine->upload({DType::F32, {4}}, values);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the device was shut down");
  EXPECT_FALSE(engine->compile(graphOf("other")));
  EXPECT_EQ(engine->memory().allocated, 0u);
}

TEST_F(EngineTest, ManyThreadsLaunchAndRead) {
  ExecutablePtr inc = program("inc");
  auto work = [&] {
    BufferPtr x = upload(0);
    for (int i = 0; i < 100; ++i)
      x = launch(inc, {x});
    EXPECT_EQ(read(x), 100);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back(work);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_TRUE(engine->synchronize());
}

} // namespace
