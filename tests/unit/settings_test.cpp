//===- settings_test.cpp - Settings, log, metrics, tables of names --------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc/settings.h"

#include "ltc/log.h"
#include "ltc/metrics.h"
#include "ltc/trace.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <thread>

using namespace ltc;

namespace {

/// Output and errors of settings_probe with that environment.
std::string probe(const std::string &environment) {
  std::string command =
      "env -i " + environment + " " LTC_SETTINGS_PROBE " 2>&1";
  FILE *pipe = popen(command.c_str(), "r");
  std::string text;
  for (int c; (c = fgetc(pipe)) != EOF;)
    text += char(c);
  EXPECT_EQ(pclose(pipe), 0);
  return text;
}

bool contains(const std::string &text, std::string_view part) {
  return text.find(part) != text.npos;
}

TEST(Settings, InitialValues) {
  std::string text = probe("");
  for (const SettingInfo &setting : listSettings())
    EXPECT_TRUE(contains(text, setting.name + "=" + setting.initial + "\n"))
        << setting.name;
  EXPECT_TRUE(contains(text, "[ltc warn execute] an execute line\n"));
  EXPECT_FALSE(contains(text, "cache line"));
  EXPECT_FALSE(contains(text, "[ltc warn settings]"));
}

TEST(Settings, TheEnvironmentIsRead) {
  std::string text =
      probe("LTC_DEVICE=null LTC_MAX_IN_FLIGHT=3 LTC_SOURCE_LINES=0 "
            "LTC_AUTO_STEP=false LTC_LOG=off,cache=debug OTHER=1 "
            "LTC_SAVE_TENSORS_FILE=x");
  EXPECT_TRUE(contains(text, "device=null\n"));
  EXPECT_TRUE(contains(text, "max_in_flight=3\n"));
  EXPECT_TRUE(contains(text, "source_lines=false\n"));
  EXPECT_TRUE(contains(text, "auto_step=false\n"));
  EXPECT_TRUE(contains(text, "[ltc debug cache] a cache line\n"));
  EXPECT_FALSE(contains(text, "execute line"));
  EXPECT_FALSE(contains(text, "[ltc warn settings]"));
}

TEST(Settings, UnknownVariablesAndBadValuesWarn) {
  std::string text = probe("LTC_MAX_INFLIGHT=3 LTC_MAX_PENDING_OPS=many "
                           "LTC_MEMORY_LIMIT_BYTES=-1 LTC_RNG=slow "
                           "LTC_LOG=loud");
  EXPECT_TRUE(contains(text, "[ltc warn settings] LTC_MAX_INFLIGHT is no "
                             "setting and is ignored; did you mean "
                             "LTC_MAX_IN_FLIGHT?\n"))
      << text;
  EXPECT_TRUE(contains(text, "LTC_MAX_PENDING_OPS is ignored: 'many' is no int "
                             "for setting max_pending_ops; its initial value "
                             "is '20000'\n"))
      << text;
  EXPECT_TRUE(contains(text, "LTC_MEMORY_LIMIT_BYTES is ignored"));
  EXPECT_TRUE(contains(text, "LTC_RNG is ignored: 'slow' is no value of "
                             "setting rng; use fast or eager\n"));
  EXPECT_TRUE(contains(text, "LTC_LOG is ignored: 'loud' is not a log level"));
  EXPECT_TRUE(contains(text, "max_pending_ops=20000\n"));
  EXPECT_TRUE(contains(text, "rng=fast\n"));
  EXPECT_TRUE(contains(text, "log=warn\n"));
  EXPECT_TRUE(contains(text, "memory_limit_bytes=0\n"));
}

TEST(Settings, SetChecksNamesAndValues) {
  ASSERT_TRUE(set("max_in_flight", "5"));
  EXPECT_EQ(settings().max_in_flight, 5);
  Status bad = set("max_in_flight", "5x");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(settings().max_in_flight, 5);
  Status unknown = set("max_inflight", "5");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message, "there is no setting 'max_inflight'");
  EXPECT_EQ(unknown.error().hint, "the nearest name is 'max_in_flight'");
  ASSERT_TRUE(set("source_lines", "off"));
  EXPECT_FALSE(settings().source_lines);
  EXPECT_FALSE(set("source_lines", "maybe"));
  ASSERT_TRUE(set("source_lines", "1"));
  ASSERT_TRUE(set("max_in_flight", "8"));
}

TEST(Settings, ANumberOutOfRangeIsRefusedAndSaysSo) {
  auto refusal = [](std::string_view value) {
    Status status = set("dynamic_versions", value);
    EXPECT_FALSE(status) << value;
    return status ? "" : status.error().message;
  };
  EXPECT_EQ(refusal("-1"), "'-1' is below 0 for setting dynamic_versions");
  EXPECT_EQ(refusal("99999999999999999999"),
            "'99999999999999999999' is too large for setting "
            "dynamic_versions");
  for (std::string_view value : {"", "-", "1e3", "0.5", "--1"})
    EXPECT_TRUE(contains(refusal(value), "is no int for")) << value;
  EXPECT_EQ(settings().dynamic_versions, 4);
}

TEST(Settings, AThreadMayGoByWhatWasSetEarlier) {
  ASSERT_TRUE(set("max_in_flight", "3"));
  Settings earlier = settings();
  ASSERT_TRUE(set("max_in_flight", "7"));
  {
    SettingsOfThread scope(earlier);
    EXPECT_EQ(settings().max_in_flight, 3);
    std::thread([] { EXPECT_EQ(settings().max_in_flight, 7); }).join();
    {
      Settings inner = earlier;
      inner.max_in_flight = 2;
      SettingsOfThread nested(inner);
      EXPECT_EQ(settings().max_in_flight, 2);
    }
    EXPECT_EQ(settings().max_in_flight, 3);
  }
  EXPECT_EQ(settings().max_in_flight, 7);
  ASSERT_TRUE(set("max_in_flight", "8"));
}

TEST(Settings, AThreadReadsWhatAnotherSets) {
  const std::string one(5000, 'a'), other(9000, 'b');
  ASSERT_TRUE(set("cache_dir", one));
  std::atomic<bool> done = false;
  int wrong = 0;
  std::thread reader([&] {
    while (!done) {
      std::string read = settings().cache_dir;
      wrong += read != one && read != other;
    }
  });
  for (int i = 0; i < 100000; ++i)
    ASSERT_TRUE(set("cache_dir", i % 2 ? one : other));
  done = true;
  reader.join();
  EXPECT_EQ(wrong, 0);
  ASSERT_TRUE(set("cache_dir", ""));
}

TEST(Settings, ListShowsTypesAndDocs) {
  std::vector<SettingInfo> all = listSettings();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all[0].name, "device");
  EXPECT_EQ(all[0].type, "str");
  for (const SettingInfo &setting : all) {
    EXPECT_FALSE(setting.doc.empty()) << setting.name;
    EXPECT_TRUE(setting.type == "bool" || setting.type == "int" ||
                setting.type == "str");
  }
}

TEST(Settings, AWordThatIsNoChoiceIsRefusedWithTheChoices) {
  for (std::string_view name :
       {"cache", "dynamic", "fallback", "linalg_errors", "rng"}) {
    auto status = set(name, "maybe");
    ASSERT_FALSE(status) << name;
    EXPECT_TRUE(contains(status.error().hint, " or ")) << name;
  }
}

TEST(Log, LevelsByStage) {
  ASSERT_TRUE(set("log", "error,cache=debug,lower=off"));
  EXPECT_TRUE(logs(LogLevel::Debug, Stage::Cache));
  EXPECT_TRUE(logs(LogLevel::Error, Stage::Execute));
  EXPECT_FALSE(logs(LogLevel::Warn, Stage::Execute));
  EXPECT_FALSE(logs(LogLevel::Error, Stage::Lower));
  EXPECT_FALSE(logs(LogLevel::Off, Stage::Cache));
  EXPECT_FALSE(set("log", "cache=verbose"));
  EXPECT_FALSE(set("log", "stage=warn"));
  EXPECT_TRUE(logs(LogLevel::Debug, Stage::Cache)); // unchanged
  ASSERT_TRUE(set("log", "warn"));
}

TEST(Log, WritesWholeLines) {
  ::testing::internal::CaptureStderr();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      for (int j = 0; j < 100; ++j)
        log(LogLevel::Warn, Stage::Graph, std::string(100, 'x'));
    });
  for (std::thread &thread : threads)
    thread.join();
  std::string text = ::testing::internal::GetCapturedStderr();
  std::string line = "[ltc warn graph] " + std::string(100, 'x') + "\n";
  std::string expected;
  for (int i = 0; i < 400; ++i)
    expected += line;
  EXPECT_EQ(text, expected);
}

TEST(Metrics, CountAndReset) {
  Counter &counted = counter("test.noun");
  EXPECT_EQ(&counter("test.noun"), &counted);
  counted.reset();
  EXPECT_EQ(metrics().count("test.noun"), 0u);
  counted.add();
  counted.add(4);
  EXPECT_EQ(metrics().at("test.noun"), 5);
  resetMetrics();
  EXPECT_EQ(counted.get(), 0);
  for (std::string name :
       {"record.ops", "codegen.graphs", "cache.hit.memory", "cache.hit.disk",
        "cache.miss", "cache.disk.corrupt", "execute.launches",
        "execute.errors", "execute.kernels"})
    EXPECT_EQ(metrics().at(name), 0) << name;
}

TEST(Trace, SpansAddTimeAndCount) {
  resetMetrics();
  for (int i = 0; i < 2; ++i) {
    Span span(Stage::Optimize);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(metrics().at("optimize.spans"), 2);
  EXPECT_GE(metrics().at("optimize.microseconds"), 4000);
  // Spans of less than a microsecond add up, too.
  for (int i = 0; i < 100000; ++i)
    Span span(Stage::Import);
  EXPECT_EQ(metrics().at("import.spans"), 100000);
  EXPECT_GE(metrics().at("import.microseconds"), 100);
}

TEST(Errors, ReadWell) {
  Error error{ErrorCode::OutOfRange,
              Stage::Execute,
              "index 9 is too large",
              "aten::gather",
              {"train.py", 41, "Masker.forward"},
              "check it"};
  EXPECT_EQ(error.str(), "index 9 is too large\n"
                         "  recorded at  train.py:41 in Masker.forward\n"
                         "  as           aten::gather\n"
                         "  stage        execute (out of range)\n"
                         "  try          check it");
  EXPECT_EQ((Error{ErrorCode::Internal, Stage::Lower, "m", "", {}, ""}).str(),
            "m\n  stage        lower (internal error)");
}

TEST(Sources, EqualPlacesGetEqualIds) {
  SourceId id = internSource({"a.py", 1, "f"});
  EXPECT_NE(id, 0u);
  EXPECT_EQ(internSource({"a.py", 1, "f"}), id);
  EXPECT_NE(internSource({"a.py", 2, "f"}), id);
  EXPECT_EQ(internSource({}), 0u);
  EXPECT_EQ(sourceOf(id).str(), "a.py:1 in f");
  EXPECT_EQ(sourceOf(0).str(), "");
  EXPECT_TRUE(sourceOf(UINT32_MAX).empty());
}

TEST(Sources, AnyThread) {
  std::vector<std::thread> threads;
  std::vector<std::vector<SourceId>> ids(4);
  for (auto &mine : ids)
    threads.emplace_back([&] {
      for (uint32_t line = 1; line < 500; ++line)
        mine.push_back(internSource({"threads.py", line, ""}));
    });
  for (std::thread &thread : threads)
    thread.join();
  for (auto &mine : ids)
    EXPECT_EQ(mine, ids[0]);
  EXPECT_EQ(sourceOf(ids[0][41]).line, 42u);
}

} // namespace
