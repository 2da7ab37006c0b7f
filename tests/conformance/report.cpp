//===- report.cpp - What the tests came to, as JSON -----------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "report.h"

#include "driver.h"

#include <cctype>
#include <cstdio>
#include <fstream>

namespace conformance {

namespace {

std::string jsonText(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", unsigned(c));
      result += escape;
    } else {
      result += c;
    }
  }
  return result + '"';
}

/// The suite as the command line has it: OrderOfLaunches is in `order`.
std::string suiteOf(std::string_view name) {
  std::string suite(1, char(std::tolower(name[0])));
  for (char c : name.substr(1)) {
    if (std::isupper(c))
      break;
    suite += c;
  }
  return suite;
}

class JsonReport final : public ::testing::EmptyTestEventListener {
public:
  JsonReport(std::string file, std::string plugin)
      : file(std::move(file)), plugin(std::move(plugin)) {}

private:
  void OnTestEnd(const ::testing::TestInfo &test) override {
    const ::testing::TestResult &result = *test.result();
    const char *outcome = result.Failed()    ? "failed"
                          : result.Skipped() ? "skipped"
                                             : "passed";
    std::string said;
    for (int i = 0; i < result.total_part_count(); ++i)
      said += (said.empty() ? "" : "\n") +
              std::string(result.GetTestPartResult(i).message());
    tests +=
        (tests.empty() ? "" : ",") + std::string("\n    {\"suite\": ") +
        jsonText(suiteOf(test.test_suite_name())) +
        ", \"name\": " + jsonText(test.name()) + ", \"outcome\": \"" + outcome +
        "\", \"seconds\": " + std::to_string(result.elapsed_time() * 1e-3) +
        ", \"said\": " + jsonText(said) + "}";
  }

  void OnTestProgramEnd(const ::testing::UnitTest &all) override {
    std::ofstream out(file);
    out << "{\n  \"plugin\": " << jsonText(plugin)
        << ",\n  \"name\": " << jsonText(driver().name) << ",\n  \"abi\": \""
        << LTC_ABI_MAJOR << '.' << LTC_ABI_MINOR
        << "\",\n  \"passed\": " << all.successful_test_count()
        << ",\n  \"failed\": " << all.failed_test_count()
        << ",\n  \"skipped\": " << all.skipped_test_count()
        << ",\n  \"tests\": [" << tests << "\n  ]\n}\n";
    if (!out.flush())
      std::fprintf(stderr, "ltc-conformance: cannot write %s\n", file.c_str());
  }

  const std::string file, plugin;
  std::string tests;
};

} // namespace

void reportAsJson(const std::string &file, const std::string &plugin) {
  ::testing::UnitTest::GetInstance()->listeners().Append(
      new JsonReport(file, plugin));
}

} // namespace conformance
