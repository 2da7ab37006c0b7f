//===- bundle_format.h - The bytes of a bundle ------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#pragma once

#include "byte_stream.h"
#include "ltc/bundle.h"

#include <array>

namespace ltc::runtime::bundles {

inline constexpr char kMagic[8] = {'L', 'T', 'C', 'P', 'K', 'G', '\r', '\n'};
/// What checksums go by, and what weights and programs are aligned to.
inline constexpr uint64_t kBlock = 4096, kLine = 64;

struct Header {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t oldestReader; ///< what a reader must know at least
  uint64_t bytes;        ///< of the file
  uint64_t bytesBeside;
  Hash128 hash; ///< of all behind the header
  Hash128 hashBeside;
};
static_assert(sizeof(Header) == kBundleHeaderBytes);

struct Section {
  std::array<char, 4> tag;
  uint32_t isNeeded; ///< a reader that does not know it must not go on
  uint64_t offset, bytes;
};
inline constexpr std::array<char, 4> kMeta = {'m', 'e', 't', 'a'},
                                     kProgram = {'p', 'r', 'o', 'g'},
                                     kData = {'d', 'a', 't', 'a'};

// One function for each struct serves both directions: Stream is a ByteWriter
// or a ByteReader, and what is visited is written or filled in.

template <typename Stream> void visit(Stream &stream, Bundle::Place &place) {
  stream.word(place.offset);
  stream.word(place.bytes);
}

template <typename Stream> void visit(Stream &stream, Formula &formula) {
  std::string text = formula.str();
  stream.text(text);
  std::optional<Formula> read = Formula::parse(text);
  stream.require(read.has_value());
  formula = read.value_or(Formula());
}

template <typename Stream> void visit(Stream &stream, Bundle::Dim &dim) {
  visit(stream, dim.size);
  stream.word(dim.least);
  stream.word(dim.most);
}

template <typename Stream> void visit(Stream &stream, DType &dtype) {
  uint32_t number = uint32_t(dtype);
  stream.word(number);
  stream.require(number <= uint32_t(DType::C32));
  dtype = DType(number);
}

template <typename Stream> void visit(Stream &stream, Bundle::Value &value) {
  stream.text(value.name);
  visit(stream, value.dtype);
  stream.list(value.dims, [&](Bundle::Dim &dim) { visit(stream, dim); });
  uint32_t role = value.role;
  stream.word(role);
  stream.require(role <= Bundle::Value::Integer);
  value.role = Bundle::Value::Role(role);
}

template <typename Stream> void visit(Stream &stream, Bundle::Source &source) {
  uint32_t kind = source.kind;
  stream.word(kind);
  stream.require(kind <= Bundle::Source::Seed);
  source.kind = Bundle::Source::Kind(kind);
  stream.word(source.index);
  stream.word(source.bits);
  visit(stream, source.formula);
  stream.flag(source.isDouble);
}

template <typename Stream> void visit(Stream &stream, Bundle::Symbol &symbol) {
  stream.word(symbol.input);
  stream.word(symbol.dim);
  stream.word(symbol.factor);
  stream.word(symbol.offset);
}

template <typename Stream> void visit(Stream &stream, DerivedSize::Step &step) {
  uint32_t kind = step.kind;
  stream.word(kind);
  stream.require(kind <= DerivedSize::Step::Less);
  step.kind = DerivedSize::Step::Kind(kind);
  stream.word(step.input);
  stream.word(step.dim);
  stream.word(step.constant);
}

template <typename Stream> void visit(Stream &stream, DerivedSize &derived) {
  stream.text(derived.text);
  stream.list(derived.steps,
              [&](DerivedSize::Step &step) { visit(stream, step); });
  visit(stream, derived.formula);
}

template <typename Stream> void visit(Stream &stream, Bundle::Entry &entry) {
  auto all = [&](auto &list) {
    stream.list(list, [&](auto &one) { visit(stream, one); });
  };
  stream.text(entry.name);
  all(entry.inputs);
  all(entry.outputs);
  all(entry.symbols);
  all(entry.sources);
  all(entry.results);
  stream.list(entry.writes, [&](Bundle::Write &write) {
    visit(stream, write.to);
    visit(stream, write.value);
  });
  all(entry.programs);
  stream.text(entry.notes);
}

template <typename Stream> void visit(Stream &stream, Bundle::Weight &weight) {
  stream.text(weight.name);
  visit(stream, weight.type.dtype);
  stream.list(weight.type.dims, [&](int64_t &dim) { stream.word(dim); });
  visit(stream, weight.place);
  stream.flag(weight.isState);
}

template <typename Stream> void visit(Stream &stream, Bundle &bundle) {
  stream.text(bundle.maker);
  stream.list(bundle.targets, [&](std::string &name) { stream.text(name); });
  stream.list(bundle.weights,
              [&](Bundle::Weight &weight) { visit(stream, weight); });
  stream.list(bundle.entries,
              [&](Bundle::Entry &entry) { visit(stream, entry); });
}

/// What stands behind all that in a bundle that has derived numbers.
template <typename Stream> void visitDerived(Stream &stream, Bundle &bundle) {
  for (Bundle::Entry &entry : bundle.entries)
    stream.list(entry.derived,
                [&](DerivedSize &derived) { visit(stream, derived); });
}

/// As bundleChecksum(), piece by piece.
class StreamedChecksum {
public:
  void add(std::string_view bytes) {
    for (; used == 0 && bytes.size() >= block.size();
         bytes.remove_prefix(block.size()))
      hasher.add(bytes.substr(0, block.size()));
    while (!bytes.empty()) {
      size_t part = std::min(bytes.size(), block.size() - used);
      std::memcpy(block.data() + used, bytes.data(), part);
      used += part;
      bytes.remove_prefix(part);
      if (used == block.size())
        flush();
    }
  }
  Hash128 finish() {
    if (used)
      flush();
    return hasher.finish();
  }

private:
  void flush() {
    hasher.add(std::string_view(block.data(), used));
    used = 0;
  }
  std::array<char, kBlock> block;
  size_t used = 0;
  Hasher hasher;
};

} // namespace ltc::runtime::bundles
