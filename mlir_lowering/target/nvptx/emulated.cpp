//===- emulated.cpp - A GPU's kernels as code for the host ----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The very module that becomes PTX, made an object for this machine: a driver
// runs it with a fiber for each thread of a block, and gives what a GPU has by
// functions: the numbers of block and thread, shuffles and barriers. So each
// kernel's values are tested where there is no GPU.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/nvptx/nvptx.h"

#include "mlir_lowering/target/cpu/cpu.h"
#include "mlir_lowering/target/llvm/llvm.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace ltc::compiler {
namespace {

/// The function of the emulator (runtime/drivers/emulator/simt.h) that does
/// what an intrinsic does; none if none does.
llvm::StringRef emulationOf(llvm::StringRef intrinsic) {
  return llvm::StringSwitch<llvm::StringRef>(intrinsic)
      .Case("llvm.nvvm.read.ptx.sreg.tid.x", "ltc_simt_thread")
      .Case("llvm.nvvm.read.ptx.sreg.ctaid.x", "ltc_simt_block")
      .Case("llvm.nvvm.shfl.sync.bfly.i32", "ltc_simt_shuffle")
      .Case("llvm.nvvm.bar.warp.sync", "ltc_simt_warp_barrier")
      .Case("llvm.nvvm.barrier.cta.sync.aligned.all", "ltc_simt_barrier")
      .Default("");
}

Status emulateIntrinsics(llvm::Module &module) {
  for (llvm::Function &function : llvm::make_early_inc_range(module)) {
    if (!function.getName().starts_with("llvm.nvvm."))
      continue;
    llvm::StringRef name = emulationOf(function.getName());
    if (name.empty())
      return Error{ErrorCode::CompileFailed,
                   Stage::Codegen,
                   "nothing emulates " + function.getName().str(),
                   {},
                   {},
                   {}};
    llvm::FunctionCallee made =
        module.getOrInsertFunction(name, function.getFunctionType());
    for (llvm::User *user : llvm::make_early_inc_range(function.users())) {
      auto *call = llvm::cast<llvm::CallInst>(user);
      llvm::IRBuilder<> b(call);
      llvm::SmallVector<llvm::Value *> operands(call->args());
      call->replaceAllUsesWith(b.CreateCall(made, operands));
      call->eraseFromParent();
    }
    function.eraseFromParent();
  }
  return {};
}

/// What memory an instruction reaches, its type and in which way (Access in
/// access_check.h); null if none.
struct Reached {
  llvm::Value *place = nullptr;
  llvm::Type *type = nullptr;
  uint32_t access = 0;

  explicit Reached(llvm::Instruction &instruction) {
    if (auto *atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      place = atomic->getPointerOperand();
      type = atomic->getType();
      access = 2;
    } else if ((place = llvm::getLoadStorePointerOperand(&instruction))) {
      type = llvm::getLoadStoreType(&instruction);
      access = llvm::isa<llvm::StoreInst>(instruction);
    }
  }
};

/// Tells the emulator what each thread reads and writes, so that it finds races
/// and accesses out of bounds.
void reportAccesses(llvm::Function &entry) {
  llvm::Module &module = *entry.getParent();
  llvm::IRBuilder<> b(module.getContext());
  llvm::FunctionCallee report = module.getOrInsertFunction(
      "ltc_simt_access",
      llvm::FunctionType::get(b.getVoidTy(),
                              {b.getPtrTy(), b.getInt64Ty(), b.getInt32Ty(),
                               b.getPtrTy(), b.getInt64Ty()},
                              false));
  const llvm::DataLayout &layout = module.getDataLayout();
  for (llvm::Instruction &instruction : llvm::instructions(entry)) {
    Reached reached(instruction);
    if (!reached.place)
      continue;
    llvm::Value *object = llvm::getUnderlyingObject(reached.place);
    if (object == entry.getArg(0) || llvm::isa<llvm::AllocaInst>(object))
      continue; // the words, or a stack
    b.SetInsertPoint(&instruction);
    llvm::Value *base = llvm::ConstantPointerNull::get(b.getPtrTy());
    uint64_t shared = 0;
    if (auto *global = llvm::dyn_cast<llvm::GlobalVariable>(object)) {
      base = b.CreateAddrSpaceCast(global, b.getPtrTy());
      shared = layout.getTypeAllocSize(global->getValueType());
    }
    b.CreateCall(report,
                 {b.CreateAddrSpaceCast(reached.place, b.getPtrTy()),
                  b.getInt64(layout.getTypeStoreSize(reached.type)),
                  b.getInt32(reached.access), base, b.getInt64(shared)});
  }
}

/// How many bytes the argument of each word has; none if that is not known.
llvm::SmallVector<uint64_t> bytesOfWords(const llvm::Function &entry) {
  llvm::SmallVector<llvm::StringRef> sizes;
  entry.getFnAttribute(kBytesNote)
      .getValueAsString()
      .split(sizes, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  llvm::SmallVector<uint64_t> bytes;
  for (llvm::StringRef size : sizes)
    size.getAsInteger(10, bytes.emplace_back(0));
  return bytes;
}

/// An entry becomes a function that the emulator runs for each thread, behind
/// one of the form that a kernel has on a CPU.
void wrapEntry(llvm::Function &entry) {
  llvm::Module &module = *entry.getParent();
  std::string name = entry.getName().str();
  llvm::SmallVector<uint64_t> bytes = bytesOfWords(entry);
  entry.setName(name + ".thread");
  entry.setLinkage(llvm::GlobalValue::InternalLinkage);
  entry.setCallingConv(llvm::CallingConv::C);
  entry.removeParamAttr(0, llvm::Attribute::ByVal);
  llvm::IRBuilder<> b(module.getContext());
  llvm::Type *word = b.getInt64Ty(), *pointer = b.getPtrTy();
  auto *wrapper = llvm::Function::Create(
      llvm::FunctionType::get(b.getVoidTy(), {word, word, pointer}, false),
      llvm::GlobalValue::ExternalLinkage, name, module);
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", wrapper));
  int64_t threads = 1;
  entry.getFnAttribute(kThreadsNote)
      .getValueAsString()
      .getAsInteger(10, threads);
  llvm::FunctionCallee run = module.getOrInsertFunction(
      "ltc_simt_run",
      llvm::FunctionType::get(
          b.getVoidTy(),
          {pointer, pointer, word, word, word, pointer, pointer, word}, false));
  llvm::Constant *list =
      llvm::ConstantDataArray::get(module.getContext(), bytes);
  auto *place = new llvm::GlobalVariable(
      module, list->getType(),
      /*isConstant=*/true, llvm::GlobalValue::PrivateLinkage, list);
  b.CreateCall(run, {b.CreateGlobalString(name), &entry, b.getInt64(threads),
                     wrapper->getArg(0), wrapper->getArg(1), wrapper->getArg(2),
                     place, b.getInt64(bytes.size())});
  b.CreateRetVoid();
}

class EmulatedBackend final : public NvptxBackend {
public:
  Target resolve(Target target) const override {
    return CpuBackend().resolve(target);
  }
  llvm::StringRef codeKind() const override { return "elf"; }

  Result<std::string>
  emitCode(mlir::ModuleOp part, const Target &target, const TargetFacts &facts,
           const std::function<void(const llvm::Module &)> &optimized)
      const override {
    Target gpu;
    gpu.kind = "nvptx";
    auto device = deviceMachine(NvptxBackend::resolve(gpu));
    if (!device)
      return device.takeError();
    auto host = hostMachine(target);
    if (!host)
      return host.takeError();
    llvm::LLVMContext context;
    auto code = deviceModule(part, **device, context);
    if (!code)
      return code.takeError();
    optimized(**code);
    if (Status status = emulateIntrinsics(**code); !status)
      return status.takeError();
    for (llvm::Function &function : llvm::make_early_inc_range(**code))
      if (function.hasFnAttribute(kThreadsNote)) {
        reportAccesses(function);
        wrapEntry(function);
      }
    (*code)->setTargetTriple((*host)->getTargetTriple());
    (*code)->setDataLayout((*host)->createDataLayout());
    return emitObject(**code, **host, facts.vector_bits,
                      [](const llvm::Module &) {});
  }
};

} // namespace

namespace targets {
// NOLINTNEXTLINE(readability-identifier-naming): targets.def has its name.
const TargetBackend &nvptx_emulated() {
  static const EmulatedBackend backend;
  return backend;
}
} // namespace targets

} // namespace ltc::compiler
