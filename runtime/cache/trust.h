//===- trust.h - Whose machine code may run here ----------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file of the cache is machine code: who may write to it decides what the
// user's programs do. That may be the user, root, and whom setting cache_trust
// names. It goes for directories as well, up to the root or the user's home,
// for who may write to one may put another in the place of what is in it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ltc/error.h"

#include <sys/stat.h>

namespace ltc::runtime {

/// Who may write to it that is not trusted, and what to do about that; empty if
/// there is nobody. `status` is that of what is read, and not of its name.
std::string whyNotTrusted(const std::string &path, const struct stat &status);

/// The same of a directory and of those that it is in; empty also if it is not
/// there. Looks at each directory once a process, or until it may be trusted.
std::string whyDirectoryNotTrusted(const std::string &directory);

/// Whether setting cache_trust says that others use the cache, too: then what
/// is made there is theirs as far as the umask lets it.
bool isCacheShared();

/// The user's home, from $HOME or the system's list of users; or empty.
std::string homeDirectory();

/// What is wrong with a value of setting cache_trust.
Status checkTrust(std::string_view names);

} // namespace ltc::runtime
