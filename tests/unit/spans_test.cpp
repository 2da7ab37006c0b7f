//===- spans_test.cpp - Spans for another library's profiler --------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/profile.h"
#include "ltc/spans.h"
#include "ltc/trace.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace ltc {
namespace {

thread_local bool isListenedTo = false;
std::vector<std::string> told;

void *enter(const void *) {
  return new bool(std::exchange(isListenedTo, true));
}
void leave(void *before) {
  std::unique_ptr<bool> value(static_cast<bool *>(before));
  isListenedTo = *value;
}
void *begin(std::string name) {
  if (!isListenedTo)
    return nullptr;
  told.push_back("+" + name);
  return new std::string(std::move(name));
}
void end(void *span) {
  std::unique_ptr<std::string> name(static_cast<std::string *>(span));
  told.push_back("-" + *name);
}
std::shared_ptr<const void> context() {
  return isListenedTo ? std::make_shared<int>() : nullptr;
}

class Spans : public testing::Test {
protected:
  void SetUp() override {
    spans::setListener({context, enter, leave, begin, end});
    told.clear();
    isListenedTo = true;
    spans::setOn(true);
  }
  void TearDown() override { spans::setOn(false); }
  using Names = std::vector<std::string>;
};

TEST_F(Spans, StagesAndKernelsNest) {
  {
    profile::Timed queue(profile::Part::Queue);
    spans::Span run("run ", "3f2a1b2c");
    Span lower(Stage::Lower);
  }
  EXPECT_EQ(told, (Names{"+ltc::queue", "+ltc::run 3f2a1b2c", "+ltc::lower",
                         "-ltc::lower", "-ltc::run 3f2a1b2c", "-ltc::queue"}));
}

TEST_F(Spans, RecordingAndEmptyNamesGiveNone) {
  profile::Timed record(profile::Part::Record);
  spans::Span none("");
  Span twice(Stage::Execute); // a part of a step has told of it
  EXPECT_TRUE(told.empty());
}

TEST_F(Spans, OffNothingIsTold) {
  spans::setOn(false);
  profile::Timed queue(profile::Part::Queue);
  spans::Span run("run ");
  EXPECT_TRUE(told.empty());
}

TEST_F(Spans, OneThatEndsAfterTheListenerHasItsEnd) {
  {
    spans::Span run("run ");
    spans::setOn(false);
  }
  EXPECT_EQ(told, (Names{"+ltc::run ", "-ltc::run "}));
}

TEST_F(Spans, AThreadThatWorksForAnotherIsListenedTo) {
  std::shared_ptr<const void> mine = spans::listener().context();
  std::thread([&] {
    {
      spans::WorkFor nobody(nullptr);
      spans::Span unheard("run ");
    }
    {
      spans::WorkFor another(mine.get());
      spans::Span heard("call ");
    }
    spans::Span unheard("run ");
  }).join();
  EXPECT_EQ(told, (Names{"+ltc::call ", "-ltc::call "}));
}

TEST_F(Spans, AProfileIsOnBesideIt) {
  ASSERT_TRUE(profile::begin());
  {
    profile::Timed wait(profile::Part::Wait);
  }
  profile::Profile found = profile::end();
  EXPECT_EQ(told, (Names{"+ltc::wait", "-ltc::wait"}));
  ASSERT_EQ(found.events.size(), 1u);
  EXPECT_EQ(found.events[0].name, "wait");
  EXPECT_TRUE(spans::isOn());
}

} // namespace
} // namespace ltc
