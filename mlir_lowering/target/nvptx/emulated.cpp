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
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
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
      .Case("llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3",
            "ltc_simt_matrices")
      .Case("llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3",
            "ltc_simt_transposed_matrices")
      .Case("llvm.nvvm.mma.m16n8k16.row.col.bf16", "ltc_simt_product_bf16")
      .Case("llvm.nvvm.mma.m16n8k16.row.col.f32.f32", "ltc_simt_product_f16")
      .Case("llvm.nvvm.cp.async.cg.shared.global.16", "ltc_simt_copy")
      .Case("llvm.nvvm.cp.async.cg.shared.global.16.s", "ltc_simt_copy_some")
      .Case("llvm.nvvm.cp.async.commit.group", "ltc_simt_commit_copies")
      .Case("llvm.nvvm.cp.async.wait.group", "ltc_simt_wait_for_copies")
      .Default("");
}

/// Calls a function in the place of an intrinsic. As C has it: words for
/// vectors of them, one kind of pointers, and a place for several results.
llvm::Value *callEmulation(llvm::CallInst &intrinsic, llvm::StringRef name) {
  llvm::IRBuilder<> b(&intrinsic);
  llvm::SmallVector<llvm::Value *> operands;
  llvm::SmallVector<llvm::Type *> types;
  llvm::Type *type = intrinsic.getType();
  bool hasSeveral = type->isStructTy();
  if (hasSeveral) {
    llvm::BasicBlock &entry = intrinsic.getFunction()->getEntryBlock();
    llvm::IRBuilder<> first(&entry, entry.getFirstInsertionPt());
    operands.push_back(first.CreateAlloca(type));
  }
  for (llvm::Value *operand : intrinsic.args()) {
    if (operand->getType()->isVectorTy())
      operand = b.CreateBitCast(operand, b.getInt32Ty());
    else if (operand->getType()->isPointerTy())
      operand = b.CreateAddrSpaceCast(operand, b.getPtrTy());
    operands.push_back(operand);
  }
  for (llvm::Value *operand : operands)
    types.push_back(operand->getType());
  llvm::FunctionCallee made = intrinsic.getModule()->getOrInsertFunction(
      name,
      llvm::FunctionType::get(hasSeveral ? b.getVoidTy() : type, types, false));
  llvm::Value *result = b.CreateCall(made, operands);
  return hasSeveral ? b.CreateLoad(type, operands.front()) : result;
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
    for (llvm::User *user : llvm::make_early_inc_range(function.users())) {
      auto *call = llvm::cast<llvm::CallInst>(user);
      call->replaceAllUsesWith(callEmulation(*call, name));
      call->eraseFromParent();
    }
    function.eraseFromParent();
  }
  return {};
}

/// Memory that an instruction reaches, how much, and in which way (Access in
/// access_check.h).
struct Reached {
  llvm::Value *place, *bytes;
  uint32_t access;
};

enum : uint32_t { kRead, kWrite, kAdd };

llvm::SmallVector<Reached, 2> reachedBy(llvm::Instruction &instruction) {
  const llvm::DataLayout &layout = instruction.getDataLayout();
  auto *word = llvm::Type::getInt64Ty(instruction.getContext());
  auto bytes = [&](uint64_t number) -> llvm::Value * {
    return llvm::ConstantInt::get(word, number);
  };
  auto sizeOf = [&](llvm::Type *type) {
    return bytes(layout.getTypeStoreSize(type));
  };
  if (auto *atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
    return {{atomic->getPointerOperand(), sizeOf(atomic->getType()), kAdd}};
  if (llvm::Value *place = llvm::getLoadStorePointerOperand(&instruction))
    return {{place, sizeOf(llvm::getLoadStoreType(&instruction)),
             llvm::isa<llvm::StoreInst>(instruction) ? kWrite : kRead}};
  auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  switch (call ? call->getIntrinsicID() : llvm::Intrinsic::not_intrinsic) {
  case llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16:
  case llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16:
    return {{call->getArgOperand(0), bytes(16), kRead}};
  case llvm::Intrinsic::nvvm_cp_async_cg_shared_global_16:
    return {{call->getArgOperand(0), bytes(16), kWrite},
            {call->getArgOperand(1), bytes(16), kRead}};
  case llvm::Intrinsic::nvvm_cp_async_cg_shared_global_16_s: {
    llvm::IRBuilder<> b(call);
    return {{call->getArgOperand(0), bytes(16), kWrite},
            {call->getArgOperand(1), b.CreateZExt(call->getArgOperand(2), word),
             kRead}};
  }
  default:
    return {};
  }
}

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
  auto tell = [&](const Reached &reached) {
    llvm::Value *object =
        llvm::getUnderlyingObject(reached.place, /*MaxLookup=*/0);
    if (object == entry.getArg(0) || llvm::isa<llvm::AllocaInst>(object))
      return; // the words, or a stack
    llvm::Value *base = llvm::ConstantPointerNull::get(b.getPtrTy());
    uint64_t shared = 0;
    if (auto *global = llvm::dyn_cast<llvm::GlobalVariable>(object)) {
      base = b.CreateAddrSpaceCast(global, b.getPtrTy());
      shared = layout.getTypeAllocSize(global->getValueType());
    }
    b.CreateCall(report, {b.CreateAddrSpaceCast(reached.place, b.getPtrTy()),
                          reached.bytes, b.getInt32(reached.access), base,
                          b.getInt64(shared)});
  };
  for (llvm::Instruction &instruction : llvm::instructions(entry))
    for (const Reached &reached : reachedBy(instruction)) {
      b.SetInsertPoint(&instruction);
      tell(reached);
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
    for (llvm::Function &function : **code)
      if (function.hasFnAttribute(kThreadsNote))
        reportAccesses(function);
    if (Status status = emulateIntrinsics(**code); !status)
      return status.takeError();
    for (llvm::Function &function : llvm::make_early_inc_range(**code))
      if (function.hasFnAttribute(kThreadsNote))
        wrapEntry(function);
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
