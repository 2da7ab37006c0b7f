//===- link.cpp - From object files to running code, by JITLink -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "link.h"

#include "code_memory.h"
#include "map_limit.h"

#include "llvm/ExecutionEngine/JITLink/JITLink.h"
#if defined(__x86_64__)
#include "llvm/ExecutionEngine/JITLink/ELF_x86_64.h"
#elif defined(__aarch64__)
#include "llvm/ExecutionEngine/JITLink/ELF_aarch64.h"
#else
#error "no JIT linker chosen for this machine"
#endif
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Memory.h"
#include "llvm/TargetParser/Host.h"
#if defined(__x86_64__)
#include "llvm/TargetParser/X86TargetParser.h"
#endif

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ltc::cpu {

namespace jitlink = llvm::jitlink;
namespace orc = llvm::orc;

Target hostTarget() {
  Target target;
  target.triple = llvm::sys::getProcessTriple();
  target.cpu = llvm::sys::getHostCPUName().str();
  std::vector<std::string> features;
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    features.push_back((feature.second ? "+" : "-") + feature.first().str());
  std::sort(features.begin(), features.end(),
            [](const std::string &a, const std::string &b) {
              return a.compare(1, a.npos, b, 1, b.npos) < 0;
            });
  for (const std::string &feature : features)
    target.features += (target.features.empty() ? "" : ",") + feature;
  return target;
}

Result<Target> targetNamed(const std::string &cpu, const Target &host) {
  if (cpu.empty())
    return host;
  llvm::SmallVector<llvm::StringRef, 64> features;
#if defined(__x86_64__)
  if (llvm::X86::parseArchX86(cpu, /*Only64Bit=*/true) != llvm::X86::CK_None)
    llvm::X86::getFeaturesForCPU(cpu, features);
#endif
  if (features.empty())
    return Error{ErrorCode::InvalidArgument,
                 Stage::Execute,
                 "LTC_CPU_TARGET=" + cpu +
                     " names no CPU of this machine's kind, as x86-64-v3 does "
                     "on x86",
                 "",
                 {},
                 ""};
  llvm::StringSet<> detected;
  for (llvm::StringRef feature : llvm::split(host.features, ','))
    detected.insert(feature.drop_front());
  Target target = host;
  target.cpu = cpu;
  target.features.clear();
  llvm::sort(features);
  for (llvm::StringRef feature : features)
    if (detected.contains(feature)) // every 64-bit CPU has the others
      target.features += (target.features.empty() ? "+" : ",+") + feature.str();
  return target;
}

namespace {

// Never destroyed: code is freed at exit, too.
CodeMemory &codeMemory() {
  static auto *memory = new CodeMemory;
  return *memory;
}

class JITLinkedCode final : public LinkedCode {
public:
  ~JITLinkedCode() override {
    for (CodeMemory::Block block : blocks)
      codeMemory().release(block);
  }
  std::vector<CodeMemory::Block> blocks;
};

/// What linkObject() below gets back; the linker owns the context itself.
struct Outcome {
  explicit Outcome(JITLinkedCode &code) : code(code) {}
  JITLinkedCode &code;
  llvm::StringMap<orc::ExecutorAddr> defined; ///< by the objects so far
  std::string failure;
  ErrorCode failureCode = ErrorCode::DeviceFailed;
};

/// Memory for one object: what is not written to lies side by side and is
/// sealed; what is, if there is any, has pages behind that.
class ObjectMemory final : public jitlink::JITLinkMemoryManager {
public:
  explicit ObjectMemory(Outcome &outcome) : outcome(outcome) {}

  void allocate(const jitlink::JITLinkDylib *, jitlink::LinkGraph &graph,
                OnAllocatedFunction next) override {
    jitlink::BasicLayout layout(graph);
    size_t end = 0, sealed = 0;
    std::vector<std::pair<jitlink::BasicLayout::Segment *, size_t>> places;
    for (bool written : {false, true}) {
      for (auto &[group, segment] : layout.segments()) {
        auto access = orc::toSysMemoryProtectionFlags(group.getMemProt());
        if (written != bool(access & llvm::sys::Memory::MF_WRITE))
          continue;
        if (segment.Alignment.value() > CodeMemory::pageBytes())
          return next(llvm::createStringError("a part of it is to be aligned "
                                              "to more than a page"));
        end = llvm::alignTo(end, segment.Alignment);
        places.emplace_back(&segment, end);
        end += segment.ContentSize + segment.ZeroFillSize;
      }
      end = llvm::alignTo(end, CodeMemory::pageBytes());
      if (!written)
        sealed = end;
    }
    CodeMemory::Block block = codeMemory().allocate(end);
    if (!block.data)
      return next(refused(end));
    for (auto [segment, at] : places) {
      segment->WorkingMem = block.data + at;
      segment->Addr = orc::ExecutorAddr::fromPtr(block.data + at);
    }
    if (llvm::Error error = layout.apply()) {
      codeMemory().release(block);
      return next(std::move(error));
    }
    next(std::make_unique<InFlight>(*this, block, sealed));
  }

  // Whoever owns the code gives its blocks back.
  void deallocate(std::vector<FinalizedAlloc>,
                  OnDeallocatedFunction next) override {
    next(llvm::Error::success());
  }

private:
  class InFlight final : public InFlightAlloc {
  public:
    InFlight(ObjectMemory &memory, CodeMemory::Block block, size_t sealed)
        : memory(memory), block(block), sealed(sealed) {}

    void abandon(OnAbandonedFunction next) override {
      codeMemory().release(block);
      next(llvm::Error::success());
    }
    void finalize(OnFinalizedFunction next) override {
      memory.outcome.code.blocks.push_back(block);
      if (!CodeMemory::seal(block, sealed))
        return next(memory.refused(sealed));
      llvm::sys::Memory::InvalidateInstructionCache(block.data, sealed);
      next(FinalizedAlloc(orc::ExecutorAddr::fromPtr(block.data)));
    }

  private:
    ObjectMemory &memory;
    CodeMemory::Block block;
    size_t sealed;
  };

  /// What the system said, in errno, to so many bytes of code.
  llvm::Error refused(size_t bytes) {
    int why = errno;
    if (why == ENOMEM)
      outcome.failureCode = ErrorCode::OutOfMemory;
    return llvm::createStringError(
        "the system refuses " + std::to_string(bytes) + " bytes for it (" +
        std::strerror(why) + ")" + whyNearMapLimit());
  }

  Outcome &outcome;
};

class Context final : public jitlink::JITLinkContext {
public:
  Context(FindSymbol findSymbol, Outcome &outcome)
      : JITLinkContext(nullptr), findSymbol(findSymbol), outcome(outcome),
        memory(outcome) {}

  jitlink::JITLinkMemoryManager &getMemoryManager() override { return memory; }

  void notifyFailed(llvm::Error error) override {
    outcome.failure = llvm::toString(std::move(error));
  }

  void lookup(
      const LookupMap &symbols,
      std::unique_ptr<jitlink::JITLinkAsyncLookupContinuation> next) override {
    jitlink::AsyncLookupResult found;
    for (const auto &[name, flags] : symbols) {
      auto address = orc::ExecutorAddr::fromPtr(findSymbol((*name).str()));
      if (!address && flags == jitlink::SymbolLookupFlags::RequiredSymbol)
        return next->run(llvm::createStringError("the code calls " + *name +
                                                 ", which nothing defines"));
      found[name] = {address, llvm::JITSymbolFlags::Exported};
    }
    next->run(std::move(found));
  }

  llvm::Error notifyResolved(jitlink::LinkGraph &graph) override {
    for (const jitlink::Symbol *symbol : graph.defined_symbols())
      if (symbol->hasName() && symbol->getScope() != jitlink::Scope::Local)
        outcome.defined[*symbol->getName()] = symbol->getAddress();
    return llvm::Error::success();
  }

  void notifyFinalized(
      jitlink::JITLinkMemoryManager::FinalizedAlloc allocation) override {
    allocation.release(); // the code has its block
  }

private:
  FindSymbol findSymbol;
  Outcome &outcome;
  ObjectMemory memory;
};

void linkObject(std::string_view object, FindSymbol findSymbol,
                Outcome &outcome) {
  llvm::MemoryBufferRef buffer({object.data(), object.size()}, "graph");
  auto names = std::make_shared<orc::SymbolStringPool>();
#if defined(__x86_64__)
  auto graph = jitlink::createLinkGraphFromELFObject_x86_64(buffer, names);
#else
  auto graph = jitlink::createLinkGraphFromELFObject_aarch64(buffer, names);
#endif
  if (!graph) {
    outcome.failure = llvm::toString(graph.takeError());
    return;
  }
  auto context = std::make_unique<Context>(findSymbol, outcome);
#if defined(__x86_64__)
  jitlink::link_ELF_x86_64(std::move(*graph), std::move(context));
#else
  jitlink::link_ELF_aarch64(std::move(*graph), std::move(context));
#endif
}

} // namespace

Result<std::unique_ptr<LinkedCode>>
link(std::span<const std::string_view> objects,
     std::span<const std::string_view> names, FindSymbol findSymbol) {
  auto code = std::make_unique<JITLinkedCode>();
  Outcome outcome(*code);
  for (std::string_view object : objects)
    if (outcome.failure.empty())
      linkObject(object, findSymbol, outcome);
  for (std::string_view name : names) {
    code->symbols.push_back(outcome.defined.lookup(name).toPtr<void *>());
    if (outcome.failure.empty() && !code->symbols.back())
      outcome.failure = "the code has no kernel " + std::string(name);
  }
  if (!outcome.failure.empty())
    return Error{outcome.failureCode,
                 Stage::Execute,
                 "cannot link compiled code: " + outcome.failure,
                 "",
                 {},
                 ""};
  return std::unique_ptr<LinkedCode>(std::move(code));
}

} // namespace ltc::cpu
