//===- artifact.cpp - An artifact as bytes ----------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the tables that program.h reads, and makes an artifact of them again.
//
//===----------------------------------------------------------------------===//
#include "ltc/artifact.h"

#include "error_place.h"

#include <algorithm>
#include <array>
#include <bit>

namespace ltc {

namespace {

static_assert(std::endian::native == std::endian::little);
static_assert(LTC_FIRST_FORMULA == kFirstSymbolic);

/// Collects the records of the tables, and writes these one behind the other.
class Writer {
public:
  explicit Writer(const Artifact &artifact) : artifact(artifact) {}

  std::string payload() {
    ltc_program_info info = {text(artifact.compiler), text(artifact.target),
                             text(artifact.graphText),
                             uint32_t(artifact.inputs.size()),
                             artifact.symbols};
    addFormulas();
    addTypes();
    std::vector<ltc_blob> blobs;
    for (const Artifact::Blob &blob : artifact.blobs)
      blobs.push_back({text(blob.kind), text(blob.bytes)});
    std::vector<ltc_kernel_code> kernels;
    for (const Artifact::Kernel &kernel : artifact.kernels)
      kernels.push_back(
          {text(kernel.name), text(kernel.kind), kernel.blob, kernel.threads});
    std::vector<ltc_library_call> calls;
    for (const Artifact::Call &call : artifact.calls)
      calls.push_back(
          {text(call.graph.str(SourceLines::Omit)), call.node, call.spoils});
    std::vector<ltc_error_site> sites;
    for (const Artifact::ErrorSite &site : artifact.errorSites)
      sites.push_back({text(site.op), text(site.words), site.node, 0});

    table(std::span(&info, 1));
    table(std::span(formulas));
    table(std::span(terms));
    table(std::span(factors));
    table(std::span(types));
    table(std::span(dims));
    table(std::span(artifact.arena));
    table(std::span(blobs));
    table(std::span(kernels));
    table(std::span(calls));
    table(std::span(sites));
    table(std::span(artifact.words));
    table(std::span(artifact.extents));
    table(std::span(artifact.steps));
    table(std::span(artifact.nodes));
    table(std::span(texts));
    std::memcpy(bytes.data(), places.data(), sizeof(places));
    return std::move(bytes);
  }

private:
  ltc_text text(std::string_view added) {
    ltc_text place = {texts.size(), added.size()};
    texts += added;
    return place;
  }

  void addFormulas() {
    for (const Formula &formula : artifact.formulas) {
      formulas.push_back(
          {uint32_t(terms.size()), uint32_t(formula.terms().size())});
      for (const Formula::Term &term : formula.terms()) {
        terms.push_back({term.coefficient, uint32_t(factors.size()),
                         uint32_t(term.symbols.size())});
        factors.insert(factors.end(), term.symbols.begin(), term.symbols.end());
      }
    }
  }

  void addType(const TensorType &type, bool isScalar,
               std::optional<uint32_t> donated) {
    types.push_back({uint32_t(type.dtype), uint32_t(type.dims.size()),
                     uint32_t(dims.size()), isScalar,
                     donated.value_or(LTC_NONE)});
    dims.insert(dims.end(), type.dims.begin(), type.dims.end());
  }

  void addTypes() {
    for (const ValueType &input : artifact.inputs)
      addType(input.tensor, input.isScalar, std::nullopt);
    for (size_t i = 0; i < artifact.results.size(); ++i)
      addType(artifact.results[i], false,
              i < artifact.donated.size() ? artifact.donated[i] : std::nullopt);
  }

  template <typename T, size_t N> void table(std::span<T, N> records) {
    bytes.resize((bytes.size() + 7) / 8 * 8);
    places[tables++] = {bytes.size(), records.size()};
    bytes.append(reinterpret_cast<const char *>(records.data()),
                 records.size_bytes());
  }

  const Artifact &artifact;
  std::vector<ltc_formula> formulas;
  std::vector<ltc_term> terms;
  std::vector<uint32_t> factors;
  std::vector<ltc_value_type> types;
  std::vector<int64_t> dims;
  std::string texts;
  std::array<std::array<uint64_t, 2>, LTC_SECTIONS> places = {};
  size_t tables = 0;
  std::string bytes = std::string(sizeof(places), '\0');
};

struct Header {
  std::array<char, 8> magic;
  uint64_t version, payloadBytes;
  Hash128 hash;
};
static_assert(sizeof(Header) == LTC_HEADER_BYTES);

Error refused(std::string_view why) {
  return {ErrorCode::InvalidArgument,
          Stage::Cache,
          "these bytes are no artifact: " + std::string(why),
          "",
          {},
          ""};
}

Result<Header> readHeader(std::string_view bytes) {
  Header header;
  if (bytes.size() < sizeof(header) || !bytes.starts_with(LTC_PROGRAM_MAGIC))
    return refused("the header is missing");
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.version != LTC_PROGRAM_VERSION)
    return refused("format version " + std::to_string(header.version) +
                   ", and this build reads " +
                   std::to_string(LTC_PROGRAM_VERSION));
  return header;
}

/// Makes an artifact of a view whose tables name nothing that is not there.
class Reader {
public:
  explicit Reader(const ltc_program_view &view) : view(view) {}

  /// Nothing if a table says what no artifact has.
  std::optional<Artifact> read() {
    Artifact artifact;
    artifact.compiler = text(view.info->compiler);
    artifact.target = text(view.info->target);
    artifact.graphText = text(view.info->graph);
    artifact.symbols = view.info->symbols;
    if (artifact.symbols > Formula::maxSymbols)
      return std::nullopt;
    for (uint32_t i = 0; i < view.blob_count; ++i)
      artifact.blobs.push_back(
          {text(view.blobs[i].kind), text(view.blobs[i].bytes)});
    for (uint32_t i = 0; i < view.kernel_count; ++i)
      artifact.kernels.push_back(
          {text(view.kernels[i].name), text(view.kernels[i].kind),
           view.kernels[i].blob, view.kernels[i].threads});
    for (uint32_t i = 0; i < view.call_count; ++i) {
      Result<Graph> graph = Graph::parse(text(view.calls[i].graph));
      if (!graph)
        return std::nullopt;
      artifact.calls.push_back(
          {std::move(*graph), view.calls[i].node, view.calls[i].spoils != 0});
    }
    for (uint32_t i = 0; i < view.site_count; ++i)
      artifact.errorSites.push_back({text(view.sites[i].op), view.sites[i].node,
                                     text(view.sites[i].words)});
    for (uint32_t i = 0; i < view.formula_count; ++i)
      artifact.formulas.push_back(formula(view.formulas[i]));
    for (uint32_t i = 0; i < view.type_count; ++i) {
      const ltc_value_type &type = view.types[i];
      if (type.dtype > uint32_t(DType::C32))
        return std::nullopt;
      TensorType tensor = {DType(type.dtype), {}};
      const int64_t *dims = view.dims + type.first_dim;
      tensor.dims.assign(dims, dims + type.rank);
      if (i < view.info->inputs) {
        artifact.inputs.push_back({std::move(tensor), type.is_scalar != 0});
        continue;
      }
      artifact.results.push_back(std::move(tensor));
      artifact.donated.push_back(type.donated == LTC_NONE
                                     ? std::nullopt
                                     : std::optional(type.donated));
    }
    artifact.arena.assign(view.arena, view.arena + view.arena_count);
    artifact.steps.assign(view.steps, view.steps + view.step_count);
    artifact.nodes.assign(view.nodes, view.nodes + view.node_count);
    artifact.words.assign(view.words, view.words + view.word_count);
    artifact.extents.assign(view.extents, view.extents + view.extent_count);
    return artifact;
  }

private:
  std::string text(ltc_text text) const {
    return {ltc_text_begin(&view, text), size_t(text.size)};
  }

  Formula formula(const ltc_formula &read) const {
    Formula sum;
    for (uint32_t t = 0; t < read.terms; ++t) {
      const ltc_term &term = view.terms[read.first_term + t];
      Formula product(term.coefficient);
      for (uint32_t f = 0; f < term.factors; ++f)
        product =
            product * Formula::symbol(view.factors[term.first_factor + f]);
      sum = sum + product;
    }
    return sum;
  }

  const ltc_program_view &view;
};

} // namespace

size_t Artifact::codeBytes() const {
  size_t bytes = 0;
  for (const Blob &blob : blobs)
    bytes += blob.bytes.size();
  return bytes;
}

bool Artifact::spoils(size_t number) const {
  if (number < errorSites.size())
    return false;
  const Call *call = runtime::errorPlace(*this, int64_t(number)).call;
  return !call || call->spoils;
}

std::optional<int64_t>
Artifact::arenaBytes(std::span<const int64_t> values) const {
  int64_t end = 0;
  for (int64_t part : arena) {
    std::optional<int64_t> bytes =
        isSymbolic(part) ? formulas[formulaNumber(part)].evaluate(values)
                         : part;
    if (!bytes || *bytes < 0 || __builtin_add_overflow(end, *bytes, &end) ||
        __builtin_add_overflow(end, LTC_ARENA_ALIGNMENT - 1, &end))
      return std::nullopt;
    end -= end % LTC_ARENA_ALIGNMENT;
  }
  return end;
}

size_t Artifact::launches() const {
  return size_t(std::ranges::count_if(
      steps, [](const ltc_step &step) { return step.kind != LTC_COPY; }));
}

std::string Artifact::serialize() const {
  std::string payload = Writer(*this).payload();
  Header header = {
      {}, LTC_PROGRAM_VERSION, payload.size(), Hasher().add(payload).finish()};
  std::memcpy(header.magic.data(), LTC_PROGRAM_MAGIC, header.magic.size());
  return std::string(reinterpret_cast<const char *>(&header), sizeof(header)) +
         payload;
}

Result<size_t> Artifact::sizeBehind(std::string_view bytes) {
  Result<Header> header = readHeader(bytes);
  if (!header)
    return header.error();
  return headerBytes + header->payloadBytes;
}

Result<Artifact> Artifact::deserialize(std::string_view bytes) {
  Result<Header> header = readHeader(bytes);
  if (!header)
    return header.error();
  std::string_view payload = bytes.substr(headerBytes);
  if (header->payloadBytes != payload.size())
    return refused("the length is wrong");
  if (Hasher().add(payload).finish() != header->hash)
    return refused("the checksum is wrong");
  std::string aligned; // what a string allocates always is
  if (reinterpret_cast<uintptr_t>(bytes.data()) % 8 != 0)
    bytes = aligned = bytes;
  ltc_program_view view;
  if (const char *why = ltc_program_open(&view, bytes.data(), bytes.size()))
    return refused(why);
  std::optional<Artifact> artifact = Reader(view).read();
  // The same bytes back: no second spelling of an artifact is accepted.
  if (!artifact || artifact->serialize() != bytes)
    return refused("the content does not parse");
  return std::move(*artifact);
}

} // namespace ltc
