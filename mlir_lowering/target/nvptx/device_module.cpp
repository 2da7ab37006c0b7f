//===- device_module.cpp - LLVM's module for the GPU, and PTX -------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/nvptx/nvptx.h"

#include "mlir_lowering/target/llvm/llvm.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

extern "C" {
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace ltc::compiler {
namespace {

/// A sum wants of an addition in memory only that no other gets between.
void relaxAtomics(llvm::Function &function) {
  llvm::SyncScope::ID device =
      function.getContext().getOrInsertSyncScopeID("device");
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (auto *atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      atomic->setOrdering(llvm::AtomicOrdering::Monotonic);
      atomic->setSyncScopeID(device);
    }
}

/// All threads of a warp compute a product, wherever its sums are wanted.
void keepTogether(llvm::Function &function) {
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction))
      if (call->getCalledFunction() &&
          call->getCalledFunction()->getName().starts_with("llvm.nvvm.mma."))
        call->setConvergent();
}

int64_t noteOf(const llvm::Function &function, llvm::StringRef name) {
  int64_t value = 0;
  function.getFnAttribute(name).getValueAsString().getAsInteger(10, value);
  return value;
}

/// A kernel on a range of iterations becomes an entry that does one of them:
/// that of its block's number. Its words come by value.
void makeEntry(llvm::Function &range) {
  llvm::LLVMContext &context = range.getContext();
  auto *word = llvm::Type::getInt64Ty(context);
  auto *words = llvm::ArrayType::get(word, noteOf(range, kWordsNote));
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context),
                                       range.getArg(2)->getType(), false);
  auto *entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                       "", range.getParent());
  entry->takeName(&range);
  entry->setCallingConv(llvm::CallingConv::PTX_Kernel);
  entry->addParamAttr(0, llvm::Attribute::getWithByValType(context, words));
  entry->addParamAttr(
      0, llvm::Attribute::getWithAlignment(context, llvm::Align(8)));
  entry->addFnAttr("nvvm.reqntid", std::to_string(noteOf(range, kThreadsNote)));
  entry->addFnAttr(kThreadsNote, std::to_string(noteOf(range, kThreadsNote)));
  if (range.hasFnAttribute(kBytesNote))
    entry->addFnAttr(range.getFnAttribute(kBytesNote));
  entry->addFnAttr(llvm::Attribute::NoUnwind);
  entry->splice(entry->begin(), &range);
  llvm::IRBuilder<> b(&*entry->getEntryBlock().getFirstInsertionPt());
  llvm::Value *number = b.CreateIntrinsic(
      b.getInt32Ty(), llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, {});
  number = b.CreateZExt(number, word);
  range.getArg(0)->replaceAllUsesWith(number);
  range.getArg(1)->replaceAllUsesWith(b.CreateNUWAdd(number, b.getInt64(1)));
  range.getArg(2)->replaceAllUsesWith(entry->getArg(0));
  range.eraseFromParent();
}

/// What a check reports stays where the host finds it: whether there is a
/// report, its site, index and size, which are -1 of a value that is no index.
/// The first one counts.
void defineReport(llvm::Function &report) {
  llvm::Module &module = *report.getParent();
  llvm::LLVMContext &context = module.getContext();
  constexpr unsigned global = 1; // address space
  auto *word = llvm::Type::getInt64Ty(context);
  auto *type = llvm::ArrayType::get(word, 4);
  llvm::GlobalVariable *place = module.getNamedGlobal("ltc_report");
  if (!place) {
    place = new llvm::GlobalVariable(
        module, type, false, llvm::GlobalValue::ExternalLinkage,
        llvm::Constant::getNullValue(type), "ltc_report", nullptr,
        llvm::GlobalValue::NotThreadLocal, global);
    place->setAlignment(llvm::Align(8));
  }
  report.setLinkage(llvm::GlobalValue::InternalLinkage);
  report.removeFnAttr(llvm::Attribute::Memory);
  auto *entry = llvm::BasicBlock::Create(context, "", &report);
  auto *first = llvm::BasicBlock::Create(context, "", &report);
  auto *end = llvm::BasicBlock::Create(context, "", &report);
  llvm::IRBuilder<> b(entry);
  llvm::Value *before =
      b.CreateAtomicRMW(llvm::AtomicRMWInst::Xchg, place, b.getInt64(1),
                        llvm::Align(8), llvm::AtomicOrdering::Monotonic);
  b.CreateCondBr(b.CreateICmpEQ(before, b.getInt64(0)), first, end);
  b.SetInsertPoint(first);
  for (unsigned i = 0; i < 3; ++i) {
    llvm::Value *none = b.getInt64(-1);
    b.CreateStore(i < report.arg_size() ? report.getArg(i) : none,
                  b.CreateConstGEP2_64(type, place, 0, i + 1));
  }
  b.CreateBr(end);
  b.SetInsertPoint(end);
  b.CreateRetVoid();
}

} // namespace

Result<std::unique_ptr<llvm::TargetMachine>>
deviceMachine(const Target &target) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  return machineFor(target);
}

Result<std::unique_ptr<llvm::Module>> deviceModule(mlir::ModuleOp part,
                                                   llvm::TargetMachine &machine,
                                                   llvm::LLVMContext &context) {
  auto code = translate(part, context, machine);
  if (!code)
    return code;
  for (llvm::Function &function : llvm::make_early_inc_range(**code))
    if (function.hasFnAttribute(kWordsNote)) {
      relaxAtomics(function);
      keepTogether(function);
      makeEntry(function);
    }
  optimizeModule(**code, machine);
  return code;
}

Result<std::string> NvptxBackend::emitCode(
    mlir::ModuleOp part, const Target &target, const TargetFacts &facts,
    const std::function<void(const llvm::Module &)> &optimized) const {
  auto machine = deviceMachine(target);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  auto code = deviceModule(part, **machine, context);
  if (!code)
    return code.takeError();
  optimized(**code);
  for (llvm::Function &function : **code)
    if (function.getName().starts_with("ltc_"))
      defineReport(function);
  return writeCode(**code, **machine, llvm::CodeGenFileType::AssemblyFile);
}

} // namespace ltc::compiler
