//===- image_test.cpp - Code that is linked but for its place ---*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "drivers/cpu/map_images.h"

#include "ltc/image.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace ltc;

namespace {

#if defined(__x86_64__)

/// int64_t get() { return *pointer; }, where `pointer` is a word behind the
/// code that a fixup makes the address of the word behind it.
struct Parts {
  ltc_image_header header = {8192, 4096, 2, 1, 0, 4096 + 24};
  std::vector<ltc_image_record> records = {
      {4096, 0, 0}, {4096 + 16, 0, 7}, {0, 7, 3}};
  std::string texts = "outsideget";
  std::string content = std::string(4096 + 24, '\0');

  Parts() {
    header.text_bytes = texts.size();
    // mov rax, [rip + 4089]; mov rax, [rax]; ret
    const unsigned char code[] = {0x48, 0x8b, 0x05, 0xf9, 0x0f, 0,
                                  0,    0x48, 0x8b, 0x00, 0xc3};
    std::memcpy(content.data(), code, sizeof(code));
    int64_t place = 4096 + 8, value = 42;
    std::memcpy(content.data() + 4096, &place, 8);
    std::memcpy(content.data() + 4096 + 8, &value, 8);
  }
  std::string bytes() const {
    std::string all(reinterpret_cast<const char *>(&header), sizeof(header));
    all.append(reinterpret_cast<const char *>(records.data()),
               records.size() * sizeof(ltc_image_record));
    return all + texts + content;
  }
};

char somewhere;
void *find(const std::string &name) {
  return name == "outside" ? &somewhere : nullptr;
}

Result<std::unique_ptr<cpu::LinkedCode>> map(const std::string &bytes,
                                             std::string_view name = "get") {
  std::string_view image = bytes;
  return cpu::mapImages({&image, 1}, {&name, 1}, find);
}

TEST(Image, RunsWhereItIsPut) {
  auto code = map(Parts().bytes());
  ASSERT_TRUE(code) << code.error().str();
  auto get = reinterpret_cast<int64_t (*)()>((*code)->symbols[0]);
  EXPECT_EQ(get(), 42);
  void *outside = nullptr;
  std::memcpy(&outside, static_cast<char *>((*code)->symbols[0]) + 4096 + 16,
              sizeof(outside));
  EXPECT_EQ(outside, &somewhere);
}

TEST(Image, SaysWhatIsMissing) {
  auto without = map(Parts().bytes(), "put");
  ASSERT_FALSE(without);
  EXPECT_NE(without.error().message.find("no kernel put"), std::string::npos);
  Parts calls;
  calls.texts = "out0ideget";
  auto unknown = map(calls.bytes());
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("calls out0ide"), std::string::npos);
}

TEST(Image, RefusesPlacesOutsideOfIt) {
  auto isRefused = [](auto change) {
    Parts parts;
    change(parts);
    return !map(parts.bytes());
  };
  EXPECT_TRUE(isRefused([](Parts &p) { p.records[0].offset = 8185; }));
  EXPECT_TRUE(isRefused([](Parts &p) { p.records[0].offset = UINT64_MAX; }));
  EXPECT_TRUE(isRefused([](Parts &p) { p.records[1].name_bytes = 11; }));
  EXPECT_TRUE(isRefused([](Parts &p) { p.records[1].name = UINT32_MAX; }));
  EXPECT_TRUE(isRefused([](Parts &p) { p.records[2].offset = 8192; }));
  EXPECT_TRUE(isRefused([](Parts &p) { p.records[2].offset = 4096; }));
  EXPECT_TRUE(isRefused([](Parts &p) { p.header.memory_bytes = 4096; }));
  EXPECT_TRUE(isRefused([](Parts &p) { p.header.memory_bytes = -1; }));
  EXPECT_TRUE(isRefused([](Parts &p) { p.header.sealed_bytes = 100; }));
  EXPECT_TRUE(isRefused([](Parts &p) { p.header.sealed_bytes = 16384; }));
  EXPECT_TRUE(isRefused([](Parts &p) { p.header.fixups = 3; }));
  EXPECT_TRUE(isRefused([](Parts &p) { p.header.symbols = UINT64_MAX; }));
  EXPECT_TRUE(isRefused([](Parts &p) { p.header.content_bytes += 1; }));
  EXPECT_TRUE(isRefused([](Parts &p) { p.content.pop_back(); }));
  EXPECT_FALSE(map(""));
  EXPECT_FALSE(map(Parts().bytes().substr(0, 50)));
}

#endif

} // namespace
