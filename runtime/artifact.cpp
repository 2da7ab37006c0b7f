//===- artifact.cpp - An artifact as bytes ----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Header: magic, format version, payload size, payload hash. All numbers are
// little-endian. The payload is the fields in declaration order; a string or a
// list starts with its length.
//
//===----------------------------------------------------------------------===//
#include "ltc/artifact.h"

#include <algorithm>
#include <bit>

namespace ltc {

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view magic = "LTCARTI\n";
constexpr uint64_t formatVersion = 7;

class Writer {
public:
  void number(uint64_t value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
  }
  void string(std::string_view text) {
    number(text.size());
    bytes += text;
  }
  void type(const TensorType &type) {
    number(uint64_t(type.dtype));
    number(type.dims.size());
    for (int64_t dim : type.dims)
      number(uint64_t(dim));
  }
  void formula(const Formula &formula) { string(formula.str()); }
  template <typename T, typename Write>
  void list(const std::vector<T> &items, Write write) {
    number(items.size());
    for (const T &item : items)
      write(item);
  }

  std::string bytes;
};

/// Every read checks that it stays inside; after a failed one all fail.
class Reader {
public:
  explicit Reader(std::string_view bytes) : rest(bytes) {}

  uint64_t number() {
    uint64_t value = 0;
    if (rest.size() < sizeof(value)) {
      failed = true;
      return 0;
    }
    std::memcpy(&value, rest.data(), sizeof(value));
    rest.remove_prefix(sizeof(value));
    return value;
  }
  std::string string() {
    uint64_t size = number();
    if (failed || size > rest.size()) {
      failed = true;
      return "";
    }
    std::string text(rest.substr(0, size));
    rest.remove_prefix(size);
    return text;
  }
  Formula formula() {
    std::optional<Formula> formula = Formula::parse(string());
    failed |= !formula;
    return formula.value_or(Formula());
  }
  TensorType type() {
    TensorType type;
    uint64_t dtype = number();
    failed |= dtype > uint64_t(DType::C32);
    type.dtype = DType(dtype);
    type.dims = list<int64_t>([&] { return int64_t(number()); });
    return type;
  }
  template <typename T, typename Read> std::vector<T> list(Read read) {
    std::vector<T> items;
    uint64_t count = number();
    // Each item takes a word at least, so that no count asks for the moon.
    failed |= count > rest.size() / sizeof(uint64_t);
    for (uint64_t i = 0; i < count && !failed; ++i)
      items.push_back(read());
    return items;
  }

  std::string_view rest;
  bool failed = false;
};

std::string payloadOf(const Artifact &artifact) {
  Writer out;
  out.string(artifact.compiler);
  out.string(artifact.target);
  out.string(artifact.entry);
  out.list(artifact.objects,
           [&](const std::string &object) { out.string(object); });
  out.formula(artifact.arenaBytes);
  out.number(artifact.kernels);
  out.list(artifact.calls, [&](const Artifact::Call &call) {
    out.string(call.graph.str(SourceLines::Omit));
    out.number(call.node);
    out.number(call.spoils);
  });
  out.list(artifact.errorSites, [&](const Artifact::ErrorSite &site) {
    out.string(site.op);
    out.number(site.node);
    out.string(site.words);
  });
  out.list(artifact.formulas,
           [&](const Formula &formula) { out.formula(formula); });
  out.number(artifact.symbols);
  out.list(artifact.inputs, [&](const ValueType &type) {
    out.number(type.isScalar);
    out.type(type.tensor);
  });
  out.list(artifact.results, [&](const TensorType &type) { out.type(type); });
  out.list(artifact.donated, [&](const std::optional<uint32_t> &input) {
    out.number(input ? uint64_t(*input) + 1 : 0);
  });
  out.string(artifact.graphText);
  return std::move(out.bytes);
}

std::string frame(std::string_view payload) {
  Hash128 hash = Hasher().add(payload).finish();
  Writer out;
  out.bytes = magic;
  out.number(formatVersion);
  out.number(payload.size());
  out.number(hash.low);
  out.number(hash.high);
  out.bytes += payload;
  return std::move(out.bytes);
}

struct Header {
  uint64_t version, payloadBytes;
  Hash128 hash;
};

std::optional<Header> readHeader(std::string_view bytes) {
  if (bytes.size() < Artifact::headerBytes || !bytes.starts_with(magic))
    return std::nullopt;
  Reader in(bytes.substr(magic.size()));
  Header header;
  header.version = in.number();
  header.payloadBytes = in.number();
  header.hash.low = in.number();
  header.hash.high = in.number();
  return header;
}

Artifact readPayload(Reader &in) {
  Artifact artifact;
  artifact.compiler = in.string();
  artifact.target = in.string();
  artifact.entry = in.string();
  artifact.objects = in.list<std::string>([&] { return in.string(); });
  artifact.arenaBytes = in.formula();
  artifact.kernels = uint32_t(in.number());
  artifact.calls = in.list<Artifact::Call>([&] {
    Result<Graph> graph = Graph::parse(in.string());
    in.failed |= !graph;
    auto node = uint32_t(in.number());
    return Artifact::Call{graph ? std::move(*graph) : Graph(), node,
                          in.number() != 0};
  });
  artifact.errorSites = in.list<Artifact::ErrorSite>([&] {
    Artifact::ErrorSite site;
    site.op = in.string();
    site.node = uint32_t(in.number());
    site.words = in.string();
    return site;
  });
  artifact.formulas = in.list<Formula>([&] { return in.formula(); });
  artifact.symbols = uint32_t(in.number());
  artifact.inputs = in.list<ValueType>([&] {
    bool isScalar = in.number() != 0;
    return ValueType{in.type(), isScalar};
  });
  artifact.results = in.list<TensorType>([&] { return in.type(); });
  artifact.donated = in.list<std::optional<uint32_t>>([&] {
    uint64_t input = in.number();
    return input ? std::optional(uint32_t(input - 1)) : std::nullopt;
  });
  artifact.graphText = in.string();
  return artifact;
}

/// Whether each size is a number or a formula of the artifact's own symbols:
/// who evaluates one looks no further.
bool hasItsFormulas(const Artifact &artifact) {
  auto isKnown = [&](const Formula &formula) {
    return formula.symbolCount() <= artifact.symbols;
  };
  auto isPossible = [&](const TensorType &type) {
    return std::ranges::all_of(type.dims, [&](int64_t dim) {
      return !isSymbolic(dim) || formulaNumber(dim) < artifact.formulas.size();
    });
  };
  return isKnown(artifact.arenaBytes) &&
         std::ranges::all_of(artifact.formulas, isKnown) &&
         std::ranges::all_of(artifact.inputs, isPossible, &ValueType::tensor) &&
         std::ranges::all_of(artifact.results, isPossible);
}

Error refused(std::string_view why) {
  return {ErrorCode::InvalidArgument,
          Stage::Cache,
          "these bytes are no artifact of this version: " + std::string(why),
          "",
          {},
          ""};
}

} // namespace

size_t Artifact::codeBytes() const {
  size_t bytes = 0;
  for (const std::string &object : objects)
    bytes += object.size();
  return bytes;
}

bool Artifact::spoils(size_t number) const {
  if (number < errorSites.size())
    return false;
  number -= errorSites.size();
  return number >= calls.size() || calls[number].spoils;
}

std::string Artifact::serialize() const { return frame(payloadOf(*this)); }

std::optional<size_t> Artifact::sizeBehind(std::string_view bytes) {
  std::optional<Header> header = readHeader(bytes);
  if (!header || header->version != formatVersion)
    return std::nullopt;
  return headerBytes + header->payloadBytes;
}

Result<Artifact> Artifact::deserialize(std::string_view bytes) {
  std::optional<Header> header = readHeader(bytes);
  if (!header)
    return refused("the header is missing");
  if (header->version != formatVersion)
    return refused("format version " + std::to_string(header->version));
  std::string_view payload = bytes.substr(headerBytes);
  if (header->payloadBytes != payload.size())
    return refused("the length is wrong");
  if (Hasher().add(payload).finish() != header->hash)
    return refused("the checksum is wrong");
  Reader in(payload);
  Artifact artifact = readPayload(in);
  // The same bytes back: no second spelling of an artifact is accepted.
  if (in.failed || !in.rest.empty() || payloadOf(artifact) != payload ||
      !hasItsFormulas(artifact))
    return refused("the content does not parse");
  return artifact;
}

} // namespace ltc
