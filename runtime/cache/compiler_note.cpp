//===- compiler_note.cpp - A compiler's identity, without loading it ------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cache/compiler_note.h"

#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

namespace ltc::runtime {

namespace {

constexpr std::string_view owner("LTC\0", 4);
constexpr uint32_t identityType = 1;
/// A segment of notes is some hundred bytes; more is no library of ours.
constexpr size_t maxSegment = 1 << 20;

class ElfFile {
public:
  explicit ElfFile(const std::string &path)
      : fd(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~ElfFile() {
    if (fd >= 0)
      close(fd);
  }
  template <typename T> bool read(T &to, uint64_t offset) const {
    return pread(fd, &to, sizeof(to), off_t(offset)) == ssize_t(sizeof(to));
  }
  bool read(std::string &to, uint64_t offset) const {
    return pread(fd, to.data(), to.size(), off_t(offset)) == ssize_t(to.size());
  }

private:
  int fd;
};

/// The identity among the notes of one segment.
std::optional<std::string> findIdentity(std::string_view notes,
                                        uint64_t align) {
  auto padded = [&](uint64_t size) {
    return (size + align - 1) / align * align;
  };
  Elf64_Nhdr header;
  while (notes.size() >= sizeof(header)) {
    std::memcpy(&header, notes.data(), sizeof(header));
    uint64_t text = sizeof(header) + padded(header.n_namesz);
    uint64_t end = text + header.n_descsz;
    if (end > notes.size())
      return std::nullopt;
    if (header.n_type == identityType &&
        notes.substr(sizeof(header), header.n_namesz) == owner)
      return std::string(notes.data() + text,
                         strnlen(notes.data() + text, header.n_descsz));
    notes.remove_prefix(std::min<uint64_t>(padded(end), notes.size()));
  }
  return std::nullopt;
}

} // namespace

std::optional<std::string> readCompilerNote(const std::string &path) {
  ElfFile file(path);
  Elf64_Ehdr header;
  if (!file.read(header, 0) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_phentsize != sizeof(Elf64_Phdr))
    return std::nullopt;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!file.read(segment, header.e_phoff + i * sizeof(segment)))
      return std::nullopt;
    if (segment.p_type != PT_NOTE || segment.p_filesz > maxSegment)
      continue;
    std::string notes(segment.p_filesz, '\0');
    if (!file.read(notes, segment.p_offset))
      return std::nullopt;
    if (auto found = findIdentity(notes, segment.p_align == 8 ? 8 : 4))
      return found;
  }
  return std::nullopt;
}

} // namespace ltc::runtime
