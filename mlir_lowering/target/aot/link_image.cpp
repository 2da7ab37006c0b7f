//===- link_image.cpp - An object, linked but for its place -----*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// JITLink links the object as if it lay at kBase, and each function of the
// outside at a place that no 32-bit distance reaches, so that calls stay
// indirect. Code on x86-64 counts from where it lies; what is left to do when
// it is mapped are words with whole addresses, and those are the fixups.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/aot/link_image.h"

#include "ltc/image.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ExecutionEngine/JITLink/ELF_x86_64.h"
#include "llvm/ExecutionEngine/JITLink/JITLink.h"
#include "llvm/ExecutionEngine/JITLink/x86_64.h"
#include "llvm/Support/Memory.h"

namespace ltc::compiler {

namespace jitlink = llvm::jitlink;
namespace orc = llvm::orc;

namespace {

constexpr uint64_t kBase = 0x10000;
constexpr uint64_t kOutside = uint64_t(1) << 62;

struct Fixup {
  uint64_t offset;
  std::string name; ///< empty: the image itself
  uint64_t word;    ///< what stands there before the address is added
};

/// What the linker leaves behind; it owns its context itself.
struct Linked {
  std::string memory; ///< the whole image
  uint64_t sealed = 0;
  std::vector<Fixup> fixups;
  std::vector<std::pair<std::string, uint64_t>> symbols;
  std::string failure;
};

class ImageMemory final : public jitlink::JITLinkMemoryManager {
public:
  explicit ImageMemory(Linked &linked) : linked(linked) {}

  void allocate(const jitlink::JITLinkDylib *, jitlink::LinkGraph &graph,
                OnAllocatedFunction next) override {
    jitlink::BasicLayout layout(graph);
    uint64_t end = 0;
    std::vector<std::pair<jitlink::BasicLayout::Segment *, uint64_t>> places;
    for (bool written : {false, true}) {
      for (auto &[group, segment] : layout.segments()) {
        auto access = orc::toSysMemoryProtectionFlags(group.getMemProt());
        bool isWritten = access & llvm::sys::Memory::MF_WRITE;
        if (isWritten != written)
          continue;
        if (segment.Alignment.value() > LTC_IMAGE_PAGE)
          return next(llvm::createStringError("a part of it is to be aligned "
                                              "to more than a page"));
        end = llvm::alignTo(end, segment.Alignment);
        places.emplace_back(&segment, end);
        end += segment.ContentSize + segment.ZeroFillSize;
      }
      end = llvm::alignTo(end, LTC_IMAGE_PAGE);
      if (!written)
        linked.sealed = end;
    }
    linked.memory.assign(end, 0);
    for (auto [segment, at] : places) {
      segment->WorkingMem = linked.memory.data() + at;
      segment->Addr = orc::ExecutorAddr(kBase + at);
    }
    if (llvm::Error error = layout.apply())
      return next(std::move(error));
    next(std::make_unique<InFlight>());
  }

  void deallocate(std::vector<FinalizedAlloc>,
                  OnDeallocatedFunction next) override {
    next(llvm::Error::success());
  }

private:
  struct InFlight final : InFlightAlloc {
    void abandon(OnAbandonedFunction next) override {
      next(llvm::Error::success());
    }
    void finalize(OnFinalizedFunction next) override {
      next(FinalizedAlloc(orc::ExecutorAddr(kBase)));
    }
  };

  Linked &linked;
};

class Context final : public jitlink::JITLinkContext {
public:
  explicit Context(Linked &linked)
      : JITLinkContext(nullptr), linked(linked), memory(linked) {}

  jitlink::JITLinkMemoryManager &getMemoryManager() override { return memory; }

  void notifyFailed(llvm::Error error) override {
    linked.failure = llvm::toString(std::move(error));
  }

  void lookup(
      const LookupMap &symbols,
      std::unique_ptr<jitlink::JITLinkAsyncLookupContinuation> next) override {
    jitlink::AsyncLookupResult found;
    for (const auto &[name, flags] : symbols)
      found[name] = {orc::ExecutorAddr(kOutside),
                     llvm::JITSymbolFlags::Exported};
    next->run(std::move(found));
  }

  llvm::Error notifyResolved(jitlink::LinkGraph &graph) override {
    for (const jitlink::Symbol *symbol : graph.defined_symbols())
      if (symbol->hasName() && symbol->getScope() != jitlink::Scope::Local)
        linked.symbols.emplace_back((*symbol->getName()).str(),
                                    symbol->getAddress().getValue() - kBase);
    return llvm::Error::success();
  }

  // The last pass before the words are written: no call changes its way after.
  llvm::Error modifyPassConfig(jitlink::LinkGraph &,
                               jitlink::PassConfiguration &passes) override {
    passes.PreFixupPasses.push_back(
        [this](jitlink::LinkGraph &graph) { return noteFixups(graph); });
    return llvm::Error::success();
  }

  void notifyFinalized(
      jitlink::JITLinkMemoryManager::FinalizedAlloc allocation) override {
    allocation.release();
  }

private:
  llvm::Error noteFixups(jitlink::LinkGraph &graph) {
    for (jitlink::Block *block : graph.blocks())
      for (const jitlink::Edge &edge : block->edges()) {
        const jitlink::Symbol &target = edge.getTarget();
        bool isInside = target.isDefined();
        if (edge.getKind() == jitlink::x86_64::Pointer64) {
          uint64_t offset = block->getFixupAddress(edge).getValue() - kBase;
          uint64_t word = uint64_t(edge.getAddend());
          if (isInside)
            word += target.getAddress().getValue() - kBase;
          linked.fixups.push_back(
              {offset, isInside ? "" : (*target.getName()).str(), word});
          continue;
        }
        bool isAbsolute = edge.getKind() == jitlink::x86_64::Pointer32 ||
                          edge.getKind() == jitlink::x86_64::Pointer32Signed ||
                          edge.getKind() == jitlink::x86_64::Pointer16 ||
                          edge.getKind() == jitlink::x86_64::Pointer8;
        if (edge.isRelocation() && (isAbsolute || !isInside))
          return llvm::createStringError("it counts on where it lies (%s)",
                                         graph.getEdgeKindName(edge.getKind()));
      }
    return llvm::Error::success();
  }

  Linked &linked;
  ImageMemory memory;
};

template <typename T> void append(std::string &bytes, const T &record) {
  bytes.append(reinterpret_cast<const char *>(&record), sizeof(record));
}

std::string bytesOf(Linked &linked) {
  std::string texts, records;
  auto add = [&](uint64_t offset, const std::string &name) {
    append(records, ltc_image_record{offset, uint32_t(texts.size()),
                                     uint32_t(name.size())});
    texts += name;
  };
  for (const Fixup &fixup : linked.fixups) {
    std::memcpy(linked.memory.data() + fixup.offset, &fixup.word,
                sizeof(fixup.word));
    add(fixup.offset, fixup.name);
  }
  llvm::sort(linked.symbols);
  for (const auto &[name, offset] : linked.symbols)
    add(offset, name);
  ltc_image_header header = {};
  header.memory_bytes = linked.memory.size();
  header.sealed_bytes = linked.sealed;
  header.fixups = linked.fixups.size();
  header.symbols = linked.symbols.size();
  header.text_bytes = texts.size();
  llvm::StringRef content = llvm::StringRef(linked.memory).rtrim('\0');
  header.content_bytes = content.size();
  std::string bytes;
  append(bytes, header);
  return bytes + records + texts + content.str();
}

} // namespace

Result<std::string> linkImage(llvm::StringRef object) {
  auto names = std::make_shared<orc::SymbolStringPool>();
  Linked linked;
  auto graph = jitlink::createLinkGraphFromELFObject_x86_64(
      llvm::MemoryBufferRef(object, "graph"), names);
  if (graph)
    jitlink::link_ELF_x86_64(std::move(*graph),
                             std::make_unique<Context>(linked));
  else
    linked.failure = llvm::toString(graph.takeError());
  if (linked.failure.empty())
    return bytesOf(linked);
  return Error{ErrorCode::CompileFailed,
               Stage::Codegen,
               "cannot link compiled code: " + linked.failure,
               "",
               {},
               ""};
}

} // namespace ltc::compiler
