//===- map_images.cpp - Code that is linked but for where it lies ---------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "map_images.h"

#include "code_memory.h"
#include "map_limit.h"

#include "ltc/image.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ltc::cpu {

namespace {

// Never destroyed: code is freed at exit, too.
CodeMemory &codeMemory() {
  static auto *memory = new CodeMemory;
  return *memory;
}

Error failed(std::string message, ErrorCode code = ErrorCode::InvalidArgument) {
  return {code,
          Stage::Execute,
          "cannot map compiled code: " + std::move(message),
          "",
          {},
          ""};
}

class MappedCode final : public LinkedCode {
public:
  ~MappedCode() override {
    for (CodeMemory::Block block : blocks)
      codeMemory().release(block);
  }
  std::vector<CodeMemory::Block> blocks;
};

/// The tables of one image, which borrow its bytes.
struct Image {
  ltc_image_header header;
  const char *records = nullptr; ///< the fixups, then the symbols
  std::string_view texts, content;

  static Result<Image> open(std::string_view bytes);
  ltc_image_record record(uint64_t number) const {
    ltc_image_record found;
    std::memcpy(&found, records + number * sizeof(found), sizeof(found));
    return found;
  }
  std::string_view nameOf(const ltc_image_record &record) const {
    return texts.substr(record.name, record.name_bytes);
  }
  uint64_t symbolsBegin() const { return header.fixups; }
  uint64_t recordCount() const { return header.fixups + header.symbols; }
};

/// Whether [first, first + count) is inside of [0, all).
bool isRange(uint64_t first, uint64_t count, uint64_t all) {
  return first <= all && count <= all - first;
}

Result<Image> Image::open(std::string_view bytes) {
  Image image;
  if (bytes.size() < sizeof(header))
    return failed("an image has no header");
  std::memcpy(&image.header, bytes.data(), sizeof(header));
  bytes.remove_prefix(sizeof(header));
  const ltc_image_header &head = image.header;
  constexpr uint64_t most = uint64_t(1) << 32;
  if (head.fixups > most || head.symbols > most || head.text_bytes > most ||
      head.content_bytes > head.memory_bytes || head.memory_bytes > most ||
      head.sealed_bytes > head.memory_bytes ||
      head.sealed_bytes % LTC_IMAGE_PAGE != 0)
    return failed("an image's header is impossible");
  uint64_t tables = image.recordCount() * sizeof(ltc_image_record);
  if (bytes.size() != tables + head.text_bytes + head.content_bytes)
    return failed("an image has not the length that its header says");
  image.records = bytes.data();
  image.texts = bytes.substr(tables, head.text_bytes);
  image.content = bytes.substr(tables + head.text_bytes);
  for (uint64_t i = 0; i < image.recordCount(); ++i) {
    ltc_image_record record = image.record(i);
    uint64_t room = i < head.fixups ? sizeof(uint64_t) : 1;
    if (!isRange(record.name, record.name_bytes, head.text_bytes) ||
        !isRange(record.offset, room, head.memory_bytes))
      return failed("an image names a place outside of it");
  }
  return image;
}

/// Writes an image to its block.
Status fill(const Image &image, char *memory, FindSymbol findSymbol) {
  std::memcpy(memory, image.content.data(), image.content.size());
  for (uint64_t i = 0; i < image.header.fixups; ++i) {
    ltc_image_record fixup = image.record(i);
    void *base = memory;
    if (fixup.name_bytes) {
      std::string name(image.nameOf(fixup));
      base = findSymbol(name);
      if (!base)
        return failed("the code calls " + name + ", which nothing defines",
                      ErrorCode::Unsupported);
    }
    uint64_t word;
    std::memcpy(&word, memory + fixup.offset, sizeof(word));
    word += uint64_t(reinterpret_cast<uintptr_t>(base));
    std::memcpy(memory + fixup.offset, &word, sizeof(word));
  }
  return {};
}

Error refused(uint64_t bytes) {
  int why = errno;
  return failed(
      "the system refuses " + std::to_string(bytes) + " bytes for it (" +
          std::strerror(why) + ")" + whyNearMapLimit(),
      why == ENOMEM ? ErrorCode::OutOfMemory : ErrorCode::DeviceFailed);
}

} // namespace

Result<std::unique_ptr<LinkedCode>>
mapImages(std::span<const std::string_view> images,
          std::span<const std::string_view> names, FindSymbol findSymbol) {
  auto code = std::make_unique<MappedCode>();
  code->symbols.resize(names.size());
  for (std::string_view bytes : images) {
    Result<Image> image = Image::open(bytes);
    if (!image)
      return image.takeError();
    if (CodeMemory::pageBytes() > LTC_IMAGE_PAGE)
      return failed("this machine's pages are too large for it",
                    ErrorCode::Unsupported);
    CodeMemory::Block block = codeMemory().allocate(image->header.memory_bytes);
    if (!block.data)
      return refused(image->header.memory_bytes);
    code->blocks.push_back(block);
    if (Status status = fill(*image, block.data, findSymbol); !status)
      return status.takeError();
    uint64_t sealed = image->header.sealed_bytes;
    if (sealed && !CodeMemory::seal(block, sealed))
      return refused(sealed);
    __builtin___clear_cache(block.data, block.data + sealed);
    for (uint64_t i = image->symbolsBegin(); i < image->recordCount(); ++i) {
      ltc_image_record symbol = image->record(i);
      for (size_t n = 0; n < names.size(); ++n)
        if (names[n] == image->nameOf(symbol) && symbol.offset < sealed)
          code->symbols[n] = block.data + symbol.offset;
    }
  }
  for (size_t n = 0; n < names.size(); ++n)
    if (!code->symbols[n])
      return failed("the code has no kernel " + std::string(names[n]));
  return std::unique_ptr<LinkedCode>(std::move(code));
}

} // namespace ltc::cpu
