//===- trust.cpp - Whose machine code may run here --------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cache/trust.h"

#include "ltc/settings.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <grp.h>
#include <mutex>
#include <pwd.h>
#include <set>
#include <unistd.h>
#include <vector>

namespace ltc::runtime {

namespace fs = std::filesystem;

namespace {

/// What the system's lists of users and of groups say, copied.
struct User {
  std::string name, home;
  uid_t id;
  gid_t group;
};
struct Group {
  std::string name;
  gid_t id;
  std::vector<std::string> members; ///< but for whose own group it is
};

/// Calls `find` with room for its text, and with more if that was too little.
template <typename Record, typename Find>
bool findRecord(Record &record, std::vector<char> &text, Find find) {
  Record *found = nullptr;
  for (text.resize(4096);; text.resize(2 * text.size())) {
    int failure = find(&record, text.data(), text.size(), &found);
    if (failure != ERANGE || text.size() > (size_t(1) << 24))
      return failure == 0 && found;
  }
}

template <typename Find> std::optional<User> findUser(Find find) {
  passwd record;
  std::vector<char> text;
  if (!findRecord(record, text, find))
    return std::nullopt;
  return User{record.pw_name, record.pw_dir, record.pw_uid, record.pw_gid};
}

template <typename Find> std::optional<Group> findGroup(Find find) {
  group record;
  std::vector<char> text;
  if (!findRecord(record, text, find))
    return std::nullopt;
  Group found{record.gr_name, record.gr_gid, {}};
  for (char **member = record.gr_mem; *member; ++member)
    found.members.emplace_back(*member);
  return found;
}

std::optional<User> userOf(uid_t id) {
  return findUser([&](auto... rest) { return getpwuid_r(id, rest...); });
}

std::optional<Group> groupOf(gid_t id) {
  return findGroup([&](auto... rest) { return getgrgid_r(id, rest...); });
}

std::optional<uint32_t> parseNumber(const std::string &text) {
  uint32_t id = 0;
  const char *last = text.data() + text.size();
  auto [end, failure] = std::from_chars(text.data(), last, id);
  return failure == std::errc() && end == last ? std::optional(id)
                                               : std::nullopt;
}

/// The users and groups of setting cache_trust.
struct Trusted {
  std::vector<uid_t> users;
  std::vector<gid_t> groups;
  std::string unknown; ///< the first name that is no user or group
};

Trusted parseTrust(std::string_view names) {
  Trusted trusted;
  while (!names.empty()) {
    size_t comma = std::min(names.find(','), names.size());
    std::string name(names.substr(0, comma));
    names.remove_prefix(std::min(comma + 1, names.size()));
    bool isGroup = name.starts_with('@');
    std::string bare = name.substr(isGroup);
    std::optional<uint32_t> id = parseNumber(bare);
    if (!id && isGroup) {
      auto found = findGroup(
          [&](auto... rest) { return getgrnam_r(bare.c_str(), rest...); });
      if (found)
        id = found->id;
    } else if (!id) {
      auto found = findUser(
          [&](auto... rest) { return getpwnam_r(bare.c_str(), rest...); });
      if (found)
        id = found->id;
    }
    if (!id && trusted.unknown.empty())
      trusted.unknown = name;
    if (id)
      (isGroup ? trusted.groups : trusted.users).push_back(*id);
  }
  return trusted;
}

bool isIn(const auto &list, auto id) {
  return std::ranges::find(list, id) != list.end();
}

/// The group that many systems give each user, with nobody else in it.
bool isOwnGroup(gid_t id) {
  std::optional<User> user = userOf(geteuid());
  std::optional<Group> group = groupOf(id);
  return user && group && user->group == id && user->name == group->name &&
         std::ranges::all_of(group->members, [&](const std::string &member) {
           return member == user->name;
         });
}

std::string nameOfUser(uid_t id) {
  std::optional<User> user = userOf(id);
  return user ? user->name : std::to_string(id);
}

std::string nameOfGroup(gid_t id) {
  std::optional<Group> group = groupOf(id);
  return group ? group->name : std::to_string(id);
}

std::string quoted(const std::string &path) { return "'" + path + "'"; }

/// The directory, and each that it is in, outermost last: up to the home of the
/// user, whose programs belong to whoever may write above that anyway.
std::vector<fs::path> andThoseAbove(const fs::path &directory) {
  std::vector<fs::path> all;
  std::error_code ignored;
  fs::path home = fs::weakly_canonical(homeDirectory(), ignored);
  for (fs::path each = directory;; each = each.parent_path()) {
    all.push_back(each);
    if (each == home || !each.has_relative_path())
      return all;
  }
}

} // namespace

std::string homeDirectory() {
  if (const char *home = std::getenv("HOME"); home && *home == '/')
    return home;
  std::optional<User> user = userOf(getuid());
  return user ? user->home : "";
}

bool isCacheShared() { return !settings().cache_trust.empty(); }

Status checkTrust(std::string_view names) {
  std::string unknown = parseTrust(names).unknown;
  if (unknown.empty())
    return {};
  bool isGroup = unknown.starts_with('@');
  return Error{ErrorCode::InvalidArgument,
               Stage::Cache,
               "setting cache_trust names '" + unknown + "', which is no " +
                   (isGroup ? "group" : "user") + " of this system",
               "",
               {},
               "write users as alice or 1000, groups as @lab or @100, and "
               "commas between them"};
}

std::string whyNotTrusted(const std::string &path, const struct stat &status) {
  bool isOwn = status.st_uid == geteuid() || status.st_uid == 0;
  // In a sticky directory only owners replace what is theirs.
  bool isSticky = S_ISDIR(status.st_mode) && status.st_mode & S_ISVTX;
  bool byGroup = status.st_mode & S_IWGRP && !isSticky;
  bool byAll = status.st_mode & S_IWOTH && !isSticky;
  if (isOwn && !byGroup && !byAll) [[likely]]
    return "";
  if (byAll)
    return quoted(path) + " may be written to by everybody: chmod o-w " +
           quoted(path);
  Trusted trusted = parseTrust(settings().cache_trust);
  if (isIn(trusted.groups, status.st_gid))
    return "";
  if (!isOwn && !isIn(trusted.users, status.st_uid)) {
    std::string owner = nameOfUser(status.st_uid);
    return quoted(path) + " belongs to user " + owner +
           ", who is neither you nor root: chown " + nameOfUser(geteuid()) +
           " " + quoted(path) + ", or LTC_CACHE_TRUST=" + owner +
           " if you trust them";
  }
  if (!byGroup || isOwnGroup(status.st_gid))
    return "";
  std::string group = nameOfGroup(status.st_gid);
  return quoted(path) + " may be written to by group " + group +
         ": chmod g-w " + quoted(path) + ", or LTC_CACHE_TRUST=@" + group +
         " if you trust all of them";
}

std::string whyDirectoryNotTrusted(const std::string &directory) {
  static std::mutex mutex;
  static auto *trusted = new std::set<std::string>;
  std::string key = std::to_string(geteuid()) + " " + settings().cache_trust +
                    " " + directory;
  std::lock_guard lock(mutex);
  if (trusted->contains(key))
    return "";
  std::error_code failure;
  fs::path real = fs::canonical(directory, failure);
  if (failure) // whoever opens a file in it will say why
    return "";
  for (const fs::path &each : andThoseAbove(real)) {
    struct stat status;
    if (::stat(each.c_str(), &status) != 0)
      continue;
    if (std::string why = whyNotTrusted(each, status); !why.empty())
      return why;
  }
  trusted->insert(key);
  return "";
}

} // namespace ltc::runtime
