//===- bundle.cpp - Programs and weights in one file ----------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "bundle_format.h"

#include <cstring>

namespace ltc {

using namespace runtime::bundles;
using runtime::ByteReader;

namespace {

Error refused(const std::string &why) {
  return {ErrorCode::InvalidArgument,
          Stage::Execute,
          "not a good bundle: " + why,
          "",
          {},
          "copy it again, or make it again with torch_ltc.aot.compile()"};
}

Error otherVersion(uint32_t version) {
  return {ErrorCode::InvalidArgument,
          Stage::Execute,
          "the bundle has format version " + std::to_string(version) +
              ", and this library reads " +
              std::to_string(Bundle::oldestVersion) + " to " +
              std::to_string(Bundle::version),
          "",
          {},
          version > Bundle::version
              ? "run it with the torch_ltc that made it, or a later one"
              : "make it again with torch_ltc.aot.compile()"};
}

Result<Header> readHeader(std::string_view bytes) {
  Header header;
  if (bytes.size() < sizeof(header))
    return refused("it has no header");
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (std::memcmp(header.magic.data(), kMagic, sizeof(kMagic)) != 0)
    return refused("it does not begin as one");
  if (header.version < Bundle::oldestVersion ||
      header.oldestReader > Bundle::version)
    return otherVersion(header.version);
  return header;
}

/// The bytes of section "meta"; an error if a section is needed and unknown.
Result<std::string_view> findMeta(std::string_view bytes) {
  uint64_t count = 0;
  if (bytes.size() < sizeof(Header) + sizeof(count))
    return refused("it has no sections");
  std::memcpy(&count, bytes.data() + sizeof(Header), sizeof(count));
  std::string_view table = bytes.substr(sizeof(Header) + sizeof(count));
  if (count > table.size() / sizeof(Section))
    return refused("its table of sections ends outside of it");
  std::string_view meta;
  for (uint64_t i = 0; i < count; ++i) {
    Section section;
    std::memcpy(&section, table.data() + i * sizeof(Section), sizeof(section));
    if (section.offset > bytes.size() ||
        section.bytes > bytes.size() - section.offset)
      return refused("a section lies outside of it");
    if (section.tag == kMeta)
      meta = bytes.substr(section.offset, section.bytes);
    else if (section.isNeeded && section.tag != kProgram &&
             section.tag != kData)
      return refused("it needs a newer library");
  }
  return meta;
}

} // namespace

Hash128 bundleChecksum(std::string_view bytes) {
  StreamedChecksum sum;
  sum.add(bytes);
  return sum.finish();
}

Status Bundle::readLengths(std::string_view bytes, uint64_t &own,
                           uint64_t &beside) {
  Result<Header> header = readHeader(bytes);
  if (!header)
    return header.takeError();
  own = header->bytes;
  beside = header->bytesBeside;
  return {};
}

Result<Bundle> Bundle::read(std::string_view bytes, std::string_view beside) {
  Result<Header> header = readHeader(bytes);
  if (!header)
    return header.takeError();
  if (header->bytes != bytes.size())
    return refused("it has " + std::to_string(bytes.size()) +
                   " bytes, and its header says " +
                   std::to_string(header->bytes));
  if (bundleChecksum(bytes.substr(sizeof(Header))) != header->hash)
    return refused("its checksum is wrong");
  if (header->bytesBeside != beside.size())
    return refused("its weights, in the file .weights beside it, have " +
                   std::to_string(beside.size()) +
                   " bytes, and its header says " +
                   std::to_string(header->bytesBeside));
  if (!beside.empty() && bundleChecksum(beside) != header->hashBeside)
    return refused("the checksum of its weights, in the file .weights beside "
                   "it, is wrong");
  Result<std::string_view> meta = findMeta(bytes);
  if (!meta)
    return meta.takeError();
  Bundle bundle;
  ByteReader reader(*meta);
  visit(reader, bundle);
  if (header->version >= 3 && !reader.isAtEnd())
    visitDerived(reader, bundle);
  if (!reader.isAtEnd())
    return refused("its description does not parse");
  bundle.bytesBeside = header->bytesBeside;
  if (Status status = bundle.verify(bytes.size(), beside.size()); !status)
    return status.takeError();
  return bundle;
}

} // namespace ltc
