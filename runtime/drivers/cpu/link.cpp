//===- link.cpp - From object files to running code, by JITLink -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "link.h"

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
#include "llvm/Support/Process.h"
#include "llvm/TargetParser/Host.h"
#if defined(__x86_64__)
#include "llvm/TargetParser/X86TargetParser.h"
#endif

#include <algorithm>

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
jitlink::InProcessMemoryManager &memoryManager() {
  static auto *manager = new jitlink::InProcessMemoryManager(
      llvm::sys::Process::getPageSizeEstimate());
  return *manager;
}

class JITLinkedCode final : public LinkedCode {
public:
  ~JITLinkedCode() override {
    if (!allocations.empty())
      llvm::consumeError(memoryManager().deallocate(std::move(allocations)));
  }
  std::vector<jitlink::JITLinkMemoryManager::FinalizedAlloc> allocations;
};

/// What linkObject() below gets back; the linker owns the context itself.
struct Outcome {
  JITLinkedCode &code;
  llvm::StringMap<orc::ExecutorAddr> defined; ///< by the objects so far
  std::string failure;
};

class Context final : public jitlink::JITLinkContext {
public:
  Context(FindSymbol findSymbol, Outcome &outcome)
      : JITLinkContext(nullptr), findSymbol(findSymbol), outcome(outcome) {}

  jitlink::JITLinkMemoryManager &getMemoryManager() override {
    return memoryManager();
  }

  void notifyFailed(llvm::Error error) override {
    outcome.failure = llvm::toString(std::move(error));
  }

  void lookup(
      const LookupMap &symbols,
      std::unique_ptr<jitlink::JITLinkAsyncLookupContinuation> next) override {
    jitlink::AsyncLookupResult found;
    for (const auto &[name, flags] : symbols) {
      orc::ExecutorAddr address = outcome.defined.lookup(*name);
      if (!address)
        address = orc::ExecutorAddr::fromPtr(findSymbol((*name).str()));
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
    outcome.code.allocations.push_back(std::move(allocation));
  }

private:
  FindSymbol findSymbol;
  Outcome &outcome;
};

void linkObject(const std::string &object, FindSymbol findSymbol,
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

Result<std::unique_ptr<LinkedCode>> link(std::span<const std::string> objects,
                                         const std::string &entry,
                                         FindSymbol findSymbol) {
  auto code = std::make_unique<JITLinkedCode>();
  Outcome outcome{*code, {}, ""};
  for (const std::string &object : objects)
    if (outcome.failure.empty())
      linkObject(object, findSymbol, outcome);
  code->entry = outcome.defined.lookup(entry).toPtr<void *>();
  if (outcome.failure.empty() && !code->entry)
    outcome.failure = "the code has no entry " + entry;
  if (!outcome.failure.empty())
    return Error{ErrorCode::DeviceFailed,
                 Stage::Execute,
                 "cannot link compiled code: " + outcome.failure,
                 "",
                 {},
                 ""};
  return std::unique_ptr<LinkedCode>(std::move(code));
}

} // namespace ltc::cpu
