//===- trust_test.cpp - Machine code of others is left alone ----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cache/trust.h"
#include "cache_directory.h"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>

using namespace ltc;
using namespace fake;
namespace fs = std::filesystem;

namespace {

/// Somebody else, and a group that is not the user's.
constexpr uid_t kOther = 65534;
constexpr gid_t kGroup = 65533;

#define NEEDS_ROOT()                                                           \
  if (geteuid() != 0)                                                          \
  GTEST_SKIP() << "only root makes files of others"

/// Has one good entry, and tests change what stands around it.
class TrustTest : public DiskCacheTest {
protected:
  TrustTest() {
    EXPECT_EQ(incOnce(), 2);
    entry = onlyEntry();
    good = bytesOf(entry);
    setenv("HOME", (root / "nowhere").c_str(), 1);
  }
  ~TrustTest() override {
    configure("cache_trust", "");
    setenv("HOME", home.c_str(), 1);
  }

  /// What two runs with nothing in memory log.
  std::string run(bool loads) {
    // By another name: one that was good is not looked at again.
    static int names = 0;
    name = directory;
    for (int i = 0; i <= names; ++i)
      name += "/.";
    ++names;
    configure("cache_dir", name);
    resetMetrics();
    int before = compiler.compiles;
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(incOnce(), 2);
    EXPECT_NE(program("more"), nullptr);
    EXPECT_EQ(compiler.compiles, before + (loads ? 1 : 2))
        << "wanted " << loads;
    for (const cache::File &file : cache::list(directory))
      if (pathOf(file.key) != entry)
        fs::remove(pathOf(file.key));
    return ::testing::internal::GetCapturedStderr();
  }

  void expectLeftAlone(const std::string &why) {
    SCOPED_TRACE(why);
    auto written = fs::last_write_time(entry);
    std::string told = run(/*loads=*/false);
    EXPECT_NE(told.find("compiled graphs, which are machine code, are left "
                        "alone where others may write to them: "),
              told.npos)
        << told;
    EXPECT_NE(told.find(why), told.npos) << told;
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
    EXPECT_GE(metric("cache.untrusted"), 1);
    EXPECT_EQ(metric("cache.hit.disk"), 0);
    EXPECT_EQ(metric("cache.disk.corrupt"), 0);
    EXPECT_EQ(metric("cache.disk.failures"), 0);
    EXPECT_EQ(fs::last_write_time(entry), written);
    EXPECT_EQ(bytesOf(entry), good);
    // Tools say the same, and add nothing.
    std::string key = entry.stem();
    Result<Artifact> read = cache::read(name, key);
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message.find(why), told.npos) << read.error().str();
  }

  void expectUsed() {
    EXPECT_EQ(run(/*loads=*/true), "");
    EXPECT_EQ(metric("cache.hit.disk"), 1);
    EXPECT_EQ(metric("cache.untrusted"), 0);
    EXPECT_TRUE(cache::read(name, entry.stem()));
  }

  void mode(const fs::path &path, mode_t bits) {
    ASSERT_EQ(chmod(path.c_str(), bits), 0);
  }
  void give(const fs::path &path, uid_t user, gid_t group) {
    ASSERT_EQ(chown(path.c_str(), user, group), 0);
  }

  const std::string home = getenv("HOME") ? getenv("HOME") : "/";
  std::string name = directory;
  fs::path entry;
  std::string good;
};

TEST_F(TrustTest, WhatWeMakeIsForTheUserAlone) {
  auto modeOf = [](const fs::path &path) {
    struct stat status = {};
    EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777;
  };
  mode_t before = umask(0);
  configure("cache_dir", (root / "a" / "b" / "c").string());
  EXPECT_EQ(incOnce(), 2);
  umask(before);
  for (std::string made : {"a", "a/b", "a/b/c"})
    EXPECT_EQ(modeOf(root / made), 0700u) << made;
  int files = 0;
  for (const auto &file : fs::directory_iterator(root / "a/b/c")) {
    EXPECT_EQ(modeOf(file), 0600u) << file;
    ++files;
  }
  EXPECT_EQ(files, 2); // the entry and the lock
}

TEST_F(TrustTest, AFileThatOthersMayWriteTo) {
  expectUsed();
  mode(entry, 0602);
  expectLeftAlone(entry.filename().string() +
                  "' may be written to by everybody: chmod o-w '" + directory);
  mode(entry, 0600);
  expectUsed();
  mode(entry, 0644);
  expectUsed();
}

TEST_F(TrustTest, AFileOfAnotherUser) {
  NEEDS_ROOT();
  give(entry, kOther, 0);
  expectLeftAlone("who is neither you nor root: chown ");
  // Named as the system names them, or by number.
  for (std::string name : {"65534", "1234,65534"}) {
    configure("cache_trust", name);
    expectUsed();
  }
  configure("cache_trust", "1234");
  expectLeftAlone("who is neither you nor root: chown ");
}

TEST_F(TrustTest, AFileOfAGroup) {
  NEEDS_ROOT();
  give(entry, 0, kGroup);
  mode(entry, 0660);
  expectLeftAlone("may be written to by group ");
  configure("cache_trust", "65533"); // a user
  expectLeftAlone("may be written to by group ");
  configure("cache_trust", "@65533");
  expectUsed();
  give(entry, kOther, kGroup); // one of them
  expectUsed();
  mode(entry, 0666);
  expectLeftAlone("may be written to by everybody");
}

TEST_F(TrustTest, ADirectoryThatOthersMayWriteTo) {
  mode(directory, 0777);
  expectLeftAlone("'" + directory +
                  "' may be written to by everybody: chmod o-w '" + directory +
                  "'");
  for (const auto &file : fs::directory_iterator(directory))
    EXPECT_TRUE(file.path() == entry || file.path().filename() == "lock");
  Result<std::string> added = cache::add(name, good);
  ASSERT_FALSE(added);
  EXPECT_NE(added.error().message.find("chmod o-w"), std::string::npos);
  // As /tmp: nobody replaces there what is another's.
  mode(directory, 01777);
  expectUsed();
  mode(directory, 0755);
  expectUsed();
}

TEST_F(TrustTest, ADirectoryOfAnotherUser) {
  NEEDS_ROOT();
  give(directory, kOther, 0);
  expectLeftAlone("'" + directory + "' belongs to user ");
  mode(directory, 01777); // who may do everything in it
  expectLeftAlone("'" + directory + "' belongs to user ");
  mode(directory, 0700);
  give(directory, 0, kGroup);
  mode(directory, 02770);
  expectLeftAlone("'" + directory + "' may be written to by group ");
  configure("cache_trust", "@65533");
  expectUsed();
}

TEST_F(TrustTest, ADirectoryAboveIt) {
  mode(root, 0777);
  expectLeftAlone("'" + root.string() + "' may be written to by everybody");
  mode(root, 01777);
  expectUsed();
  // Above the home of the user it is too late to ask.
  mode(root, 0777);
  setenv("HOME", directory.c_str(), 1);
  expectUsed();
}

TEST_F(TrustTest, ALinkToADirectory) {
  fs::create_directory(root / "open");
  mode(root / "open", 0777);
  fs::rename(directory, root / "open" / "cache");
  fs::create_directory_symlink(root / "open" / "cache", directory);
  expectLeftAlone("'" + (root / "open").string() +
                  "' may be written to by everybody");
  mode(root / "open", 0755);
  expectUsed();
}

TEST_F(TrustTest, ALinkInThePlaceOfAFile) {
  fs::rename(entry, root / "elsewhere");
  fs::create_symlink(root / "elsewhere", entry);
  std::string told = run(/*loads=*/false);
  EXPECT_NE(told.find("it is a symbolic link"), told.npos) << told;
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(entry)));
  EXPECT_EQ(bytesOf(root / "elsewhere"), good);
}

TEST_F(TrustTest, TheLockIsNoLinkEither) {
  write(root / "precious", "text");
  fs::remove(fs::path(directory) / "lock");
  fs::create_symlink(root / "precious", fs::path(directory) / "lock");
  fs::remove(entry);
  std::string told = run(/*loads=*/false);
  EXPECT_NE(told.find("cannot lock the cache"), told.npos) << told;
  EXPECT_EQ(bytesOf(root / "precious"), "text");
}

TEST_F(TrustTest, AddKeepsWhatIsThere) {
  auto old = fs::file_time_type::clock::now() - std::chrono::hours(5);
  fs::last_write_time(entry, old);
  ino_t before = 0, after = 0;
  auto inodeOf = [&](const fs::path &path) {
    struct stat status = {};
    stat(path.c_str(), &status);
    return status.st_ino;
  };
  before = inodeOf(entry);
  ASSERT_TRUE(cache::add(directory, good));
  EXPECT_EQ(before, after = inodeOf(entry));
  write(entry, "bad");
  ASSERT_TRUE(cache::add(directory, good));
  EXPECT_EQ(bytesOf(entry), good);
}

TEST_F(TrustTest, NamesThatNobodyHas) {
  Status user = set("cache_trust", "root,no-such-user");
  ASSERT_FALSE(user);
  EXPECT_NE(user.error().message.find(
                "names 'no-such-user', which is no user of this system"),
            std::string::npos)
      << user.error().str();
  Status group = set("cache_trust", "@no-such-group");
  ASSERT_FALSE(group);
  EXPECT_NE(group.error().message.find("no group of this system"),
            std::string::npos);
  EXPECT_NE(group.error().hint.find("@lab"), std::string::npos);
  EXPECT_TRUE(set("cache_trust", "root,0,@root,@0"));
}

TEST_F(TrustTest, ASharedCacheIsReadableForOthers) {
  NEEDS_ROOT();
  mode_t before = umask(002);
  configure("cache_trust", "@65533");
  mode(root, 0755);
  fs::create_directory(root / "lab");
  give(root / "lab", 0, kGroup);
  mode(root / "lab", 02770);
  configure("cache_dir", (root / "lab" / "cache").string());
  EXPECT_EQ(incOnce(), 2);
  umask(before);
  for (auto [name, wanted] : {std::pair("", 02775u), {"lock", 0660u}}) {
    struct stat status = {};
    ASSERT_EQ(stat((root / "lab" / "cache" / name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, wanted) << name;
    EXPECT_EQ(status.st_gid, kGroup) << name;
  }
  // Another of the group finds it.
  ASSERT_EQ(setegid(kGroup), 0);
  ASSERT_EQ(seteuid(kOther), 0);
  resetMetrics();
  EXPECT_EQ(incOnce(), 2);
  EXPECT_NE(program("theirs"), nullptr);
  EXPECT_EQ(metric("cache.hit.disk"), 1);
  EXPECT_EQ(metric("cache.disk.writes"), 1);
  EXPECT_EQ(metric("cache.disk.failures"), 0);
  ASSERT_EQ(seteuid(0), 0);
  ASSERT_EQ(setegid(0), 0);
}

} // namespace
