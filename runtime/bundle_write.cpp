//===- bundle_write.cpp - How a bundle is written -------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "bundle_format.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace ltc {

using namespace runtime::bundles;
using runtime::ByteWriter;

namespace {

uint64_t roundUp(uint64_t value, uint64_t to) {
  return (value + to - 1) / to * to;
}

/// A file that is removed again unless it gets whole.
class NewFile {
public:
  explicit NewFile(std::string path)
      : path(std::move(path)), file(std::fopen(this->path.c_str(), "wb")) {}
  ~NewFile() {
    if (file)
      std::fclose(file);
    if (isPartial)
      std::remove(path.c_str());
  }
  NewFile(const NewFile &) = delete;

  void write(std::string_view bytes) {
    at += bytes.size();
    if (file &&
        std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size())
      fail();
  }
  void padTo(uint64_t offset) {
    static constexpr char zeros[kBlock] = {};
    while (at < offset)
      write({zeros, size_t(std::min(offset - at, kBlock))});
  }
  Status finish(std::string_view header) {
    if (file &&
        (std::fseek(file, 0, SEEK_SET) != 0 ||
         std::fwrite(header.data(), 1, header.size(), file) != header.size() ||
         std::fflush(file) != 0 || fsync(fileno(file)) != 0))
      fail();
    if (file && std::fclose(std::exchange(file, nullptr)) == 0) {
      isPartial = false;
      return {};
    }
    fail();
    return Error{ErrorCode::InvalidArgument,
                 Stage::Execute,
                 "cannot write " + path + ": " + std::strerror(why),
                 "",
                 {},
                 ""};
  }

private:
  void fail() {
    if (!why)
      why = errno;
    if (file)
      std::fclose(std::exchange(file, nullptr));
  }

  const std::string path;
  std::FILE *file;
  uint64_t at = 0;
  int why = file ? 0 : errno;
  bool isPartial = file;
};

/// Pieces of a file that is hashed as a whole, each at its place.
struct Layout {
  struct Piece {
    uint64_t offset;
    std::string_view bytes;
  };
  std::vector<Piece> pieces;
  uint64_t end = 0;

  Bundle::Place add(std::string_view bytes, uint64_t alignment) {
    end = roundUp(end, alignment);
    pieces.push_back({end, bytes});
    end += bytes.size();
    return {pieces.back().offset, bytes.size()};
  }
};

Hash128 checksumOf(const Layout &layout, uint64_t from) {
  static constexpr char zeros[kBlock] = {};
  StreamedChecksum sum;
  uint64_t at = from;
  auto padTo = [&](uint64_t offset) {
    for (; at < offset; at += std::min(offset - at, kBlock))
      sum.add({zeros, size_t(std::min(offset - at, kBlock))});
  };
  for (const Layout::Piece &piece : layout.pieces) {
    padTo(piece.offset);
    sum.add(piece.bytes);
    at += piece.bytes.size();
  }
  padTo(layout.end);
  return sum.finish();
}

Status writeFile(const Layout &layout, const std::string &path,
                 std::string_view header) {
  NewFile file(path);
  for (const Layout::Piece &piece : layout.pieces) {
    file.padTo(piece.offset);
    file.write(piece.bytes);
  }
  file.padTo(layout.end);
  return file.finish(header);
}

bool hasDerived(const Bundle &bundle) {
  return std::ranges::any_of(bundle.entries, [](const Bundle::Entry &entry) {
    return !entry.derived.empty();
  });
}

/// Format 1 has no integers, and format 2 no derived numbers.
uint32_t oldestReaderOf(const Bundle &bundle) {
  if (hasDerived(bundle))
    return 3;
  auto isInteger = [](const Bundle::Value &value) {
    return value.role == Bundle::Value::Integer;
  };
  auto hasOne = [&](const Bundle::Entry &entry) {
    return std::ranges::any_of(entry.inputs, isInteger);
  };
  return std::ranges::any_of(bundle.entries, hasOne) ? 2 : 1;
}

std::string metaOf(Bundle &bundle) {
  ByteWriter writer;
  visit(writer, bundle);
  if (hasDerived(bundle))
    visitDerived(writer, bundle);
  return std::move(writer.bytes);
}

} // namespace

Status writeBundle(Bundle &bundle, const BundleContent &content,
                   const std::string &path, const std::string &besidePath) {
  Header header = {{}, Bundle::version, oldestReaderOf(bundle), 0, 0, {}, {}};
  std::memcpy(header.magic.data(), kMagic, sizeof(kMagic));
  Layout main, beside;
  const bool isInside = besidePath.empty();
  // The places have to be known before the description is written, whose
  // length they do not change.
  for (size_t e = 0; e < bundle.entries.size(); ++e)
    bundle.entries[e].programs.resize(content.programs[e].size());
  std::string meta = metaOf(bundle);
  uint64_t count = 3;
  std::string table(sizeof(count) + count * sizeof(Section), '\0');
  main.end = sizeof(Header);
  main.add(table, 1);
  Section sections[3] = {
      {kMeta, 1, 0, 0}, {kProgram, 1, 0, 0}, {kData, 1, 0, 0}};
  auto begin = [&](Section &section, uint64_t alignment) {
    main.end = section.offset = roundUp(main.end, alignment);
  };
  auto end = [&](Section &section) {
    section.bytes = main.end - section.offset;
  };
  begin(sections[0], kLine);
  main.add(meta, kLine);
  end(sections[0]);
  begin(sections[1], kLine);
  for (size_t e = 0; e < bundle.entries.size(); ++e) {
    bundle.entries[e].programs.clear();
    for (const std::string &program : content.programs[e])
      bundle.entries[e].programs.push_back(main.add(program, kLine));
  }
  end(sections[1]);
  begin(sections[2], kLine);
  for (size_t w = 0; w < bundle.weights.size(); ++w)
    bundle.weights[w].place =
        (isInside ? main : beside).add(content.weights[w], kLine);
  end(sections[2]);
  std::string placed = metaOf(bundle);
  if (placed.size() != meta.size())
    return Error{ErrorCode::Internal,
                 Stage::Execute,
                 "a bundle's description has changed its length",
                 "",
                 {},
                 ""};
  meta.assign(placed); // in its memory, which the layout has
  std::memcpy(table.data(), &count, sizeof(count));
  std::memcpy(table.data() + sizeof(count), sections, sizeof(sections));
  header.bytes = main.end;
  if (!isInside) {
    header.bytesBeside = beside.end;
    header.hashBeside = checksumOf(beside, 0);
    if (Status status = writeFile(beside, besidePath, {}); !status)
      return status;
  }
  header.hash = checksumOf(main, sizeof(Header));
  return writeFile(main, path,
                   {reinterpret_cast<const char *>(&header), sizeof(header)});
}

} // namespace ltc
