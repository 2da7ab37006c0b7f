//===- compile_progress_test.cpp - A long compile says that it runs -------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/compile_progress.h"

#include "ltc/settings.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

using namespace ltc;
using namespace ltc::runtime;
using std::chrono::milliseconds;

namespace {

/// Standard error goes into a pipe or a terminal, whose other end is read.
class Redirected {
public:
  explicit Redirected(bool terminal) {
    int ends[2];
    if (terminal) {
      ends[0] = posix_openpt(O_RDWR | O_NOCTTY);
      grantpt(ends[0]);
      unlockpt(ends[0]);
      ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY);
    } else {
      EXPECT_EQ(pipe(ends), 0);
    }
    from = ends[0];
    before = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
  }
  ~Redirected() {
    dup2(before, STDERR_FILENO);
    close(before);
    close(from);
  }
  /// Blocks until that text has come.
  void await(std::string_view text) {
    while (all.find(text) == all.npos) {
      char bytes[512];
      ssize_t count = read(from, bytes, sizeof(bytes));
      ASSERT_GT(count, 0) << all;
      all.append(bytes, size_t(count));
    }
  }
  std::string all;

private:
  int from, before;
};

Graph graphOfTwo() {
  Graph graph;
  graph.nodes.resize(2);
  graph.endedBy = internSource({"train.py", 8, "step"});
  return graph;
}

struct CompileProgressTest : ::testing::Test {
  ~CompileProgressTest() override { EXPECT_TRUE(set("log", "warn")); }
};

TEST_F(CompileProgressTest, ALogGetsOneLine) {
  ASSERT_TRUE(set("log", "codegen=info"));
  Redirected redirected(/*terminal=*/false);
  {
    CompileProgress progress(graphOfTwo(), milliseconds(1));
    redirected.await("\n");
  }
  EXPECT_EQ(redirected.all, "[ltc info codegen] compiling a graph of 2 ops for "
                            "train.py:8 in step\n");
}

TEST_F(CompileProgressTest, ATerminalGetsALineThatVanishes) {
  Redirected redirected(/*terminal=*/true);
  {
    CompileProgress progress(graphOfTwo(), milliseconds(1));
    redirected.await("0 s\x1b[K");
  }
  redirected.await("\r\x1b[K");
  EXPECT_TRUE(redirected.all.starts_with(
      "\r[ltc] compiling a graph of 2 ops for train.py:8 in step ... 0 s"))
      << redirected.all;
  EXPECT_EQ(redirected.all.find('\n'), std::string::npos);
}

TEST_F(CompileProgressTest, AShortCompileOrAnotherLevelSaysNothing) {
  Redirected redirected(/*terminal=*/false);
  {
    CompileProgress progress(graphOfTwo(), milliseconds(0));
  }
  ASSERT_TRUE(set("log", "codegen=info"));
  {
    CompileProgress progress(graphOfTwo(), std::chrono::hours(1));
  }
  ASSERT_EQ(::write(STDERR_FILENO, "end", 3), 3);
  redirected.await("end");
  EXPECT_EQ(redirected.all, "end");
}

} // namespace
