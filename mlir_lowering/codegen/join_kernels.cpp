//===- join_kernels.cpp - Several calls as one launch ---------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls that batch_launches.cpp has put side by side get a kernel of their own.
// Its words are those that calls have in common, then those of each call, one
// behind the other (launch_words.h). By its number, an iteration finds the
// kernel that it is of, the call, and this call's words.
// The calls of one kernel stand together: its code is there once.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/codegen/codegen.h"
#include "mlir_lowering/codegen/launch_words.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir_lowering/optimize/optimize.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace ltc::compiler {
namespace {

int64_t numberOf(func::FuncOp kernel, StringRef name) {
  return kernel->getAttrOfType<IntegerAttr>(name).getInt();
}

/// Where an argument's word is: among all of the launch, or of the call's own.
struct Slot {
  bool isOwn;
  int64_t number;
};

/// Calls of one kernel, and where theirs begin among all.
struct Segment {
  func::FuncOp kernel;
  int64_t calls = 0;
  int64_t iteration = 0, word = 0;
  int64_t own = 0;           ///< words of each call
  SmallVector<Slot> slots{}; ///< of the arguments
  int64_t iterations() const {
    return calls * numberOf(kernel, attr::kIterations);
  }
  int64_t words() const { return calls * own; }
};
using Segments = SmallVector<Segment, 1>;

class Joiner {
public:
  explicit Joiner(ModuleOp module)
      : functions(module), main(functions.lookup<func::FuncOp>("main")),
        places(main, numbers) {}

  void run() {
    llvm::StringSet<> alone, joined;
    SmallVector<func::CallOp> calls(main.getOps<func::CallOp>());
    for (size_t i = 0; i < calls.size();) {
      size_t end = i + 1;
      while (end < calls.size() && calls[end]->hasAttr(attr::kJoins))
        ++end;
      auto launch = ArrayRef(calls).slice(i, end - i);
      i = end;
      if (launch.size() == 1) {
        func::CallOp call = launch.front();
        alone.insert(call.getCallee());
        continue;
      }
      for (func::CallOp call : launch) {
        joined.insert(call.getCallee());
        call->setAttr(
            attr::kIterations,
            functions.lookup(call.getCallee())->getAttr(attr::kIterations));
      }
      Segments segments = segmentsOf(launch);
      launch.front()->setAttr(attr::kLaunch,
                              FlatSymbolRefAttr::get(kernelFor(segments)));
      launch.front()->setAttr(attr::kOperands,
                              operandsOf(launch.front(), segments));
    }
    for (const auto &entry : joined)
      if (!alone.contains(entry.getKey()))
        functions.erase(functions.lookup(entry.getKey()));
  }

private:
  Segments segmentsOf(ArrayRef<func::CallOp> launch) {
    KernelWords all;
    for (func::CallOp call : launch)
      addCall(all, call.getCallee(), wordsOf(call, places));
    llvm::SetVector<Word> common = commonWords(all);
    Segments segments;
    int64_t iteration = 0, word = int64_t(common.size());
    for (auto &[name, words] : all) {
      Segment next{functions.lookup<func::FuncOp>(name), int64_t(words.calls()),
                   iteration, word};
      for (size_t i = 0; i < words.arguments(); ++i)
        if (words.isCommon(i))
          next.slots.push_back(
              {false, llvm::find(common, words.word(i)) - common.begin()});
        else if (size_t like = words.likeOf(i); like < i)
          next.slots.push_back(next.slots[like]);
        else
          next.slots.push_back({true, next.own++});
      iteration += next.iterations();
      word += next.words();
      segments.push_back(std::move(next));
    }
    return segments;
  }

  static int64_t countWords(const Segments &segments) {
    return segments.back().word + segments.back().words();
  }

  /// For each word of the launch, the number of an operand that it is of.
  static DenseI64ArrayAttr operandsOf(func::CallOp first,
                                      const Segments &segments) {
    SmallVector<int64_t> operands(size_t(countWords(segments)));
    int64_t operand = 0;
    for (const Segment &segment : segments)
      for (int64_t call = 0; call < segment.calls; ++call)
        for (Slot slot : segment.slots)
          operands[size_t(placeOf(slot, segment, call))] = operand++;
    return DenseI64ArrayAttr::get(first.getContext(), operands);
  }

  static int64_t placeOf(Slot slot, const Segment &segment, int64_t call) {
    return slot.isOwn ? segment.word + call * segment.own + slot.number
                      : slot.number;
  }

  /// Launches that differ in how many calls the last kernel has share one.
  func::FuncOp kernelFor(const Segments &segments) {
    std::string key;
    for (const Segment &segment : segments) {
      func::FuncOp own = segment.kernel;
      key +=
          own.getName().str() + " " + std::to_string(segment.iteration) + " ";
      for (Slot slot : segment.slots)
        key += (slot.isOwn ? "own " : "") + std::to_string(slot.number) + " ";
    }
    func::FuncOp &kernel = made[key];
    if (!kernel)
      kernel = make(segments);
    noteMost(kernel, segments);
    return kernel;
  }

  /// Says what the kernel is for, of all launches the one with the most calls.
  static void noteMost(func::FuncOp kernel, const Segments &segments) {
    Builder b(kernel.getContext());
    const Segment &last = segments.back();
    int64_t words = countWords(segments);
    if (kernel->hasAttr(attr::kWords) &&
        words <= numberOf(kernel, attr::kWords))
      return;
    kernel->setAttr(attr::kWords, b.getI64IntegerAttr(words));
    kernel->setAttr(attr::kIterations,
                    b.getI64IntegerAttr(last.iteration + last.iterations()));
    SmallVector<int64_t> bytes(size_t(words), 0);
    for (const Segment &segment : segments) {
      auto own = segment.kernel->getAttrOfType<DenseI64ArrayAttr>(attr::kBytes);
      if (!own)
        return; // not known
      for (int64_t call = 0; call < segment.calls; ++call)
        for (auto [slot, size] :
             llvm::zip_equal(segment.slots, own.asArrayRef())) {
          int64_t &most = bytes[size_t(placeOf(slot, segment, call))];
          most = std::max(most, size);
        }
    }
    kernel->setAttr(attr::kBytes, b.getDenseI64ArrayAttr(bytes));
  }

  func::FuncOp make(const Segments &segments) {
    func::FuncOp first = segments.front().kernel;
    ImplicitLocOpBuilder b(first.getLoc(), first);
    auto kernel = func::FuncOp::create(b, (first.getName() + "_list").str(),
                                       first.getFunctionType());
    kernel->setAttr(attr::kKind, first->getAttr(attr::kKind));
    if (mlir::Attribute team = first->getAttr(attr::kTeam);
        team && segments.size() == 1)
      kernel->setAttr(attr::kTeam, team);
    int64_t work = 0;
    threads = 1;
    for (const Segment &segment : segments) {
      work += segment.calls * numberOf(segment.kernel, attr::kWork);
      threads = std::max(threads, numberOf(segment.kernel, attr::kThreads));
    }
    kernel->setAttr(attr::kThreads, b.getI64IntegerAttr(threads));
    kernel->setAttr(attr::kWork, b.getI64IntegerAttr(work));
    kernel->setAttr("ltc.trips", b.getArrayAttr({}));
    functions.insert(kernel);
    Block *body = kernel.addEntryBlock();
    b.setInsertionPointToStart(body);
    auto index = [&](Value word) {
      return arith::IndexCastOp::create(b, b.getIndexType(), word);
    };
    Value one = arith::ConstantIndexOp::create(b, 1);
    auto loop = scf::ForOp::create(b, index(body->getArgument(0)),
                                   index(body->getArgument(1)), one);
    func::ReturnOp::create(b);
    b.setInsertionPointToStart(loop.getBody());
    choose(b, segments, loop.getInductionVar(), body->getArgument(2));
    return kernel;
  }

  void choose(ImplicitLocOpBuilder &b, ArrayRef<Segment> segments, Value number,
              Value words) {
    if (segments.size() == 1)
      return emit(b, segments.front(), number, words);
    Value end = arith::ConstantIndexOp::create(b, segments[1].iteration);
    Value isOurs =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number, end);
    auto branch = scf::IfOp::create(b, isOurs, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    emit(b, segments.front(), number, words);
    b.setInsertionPointToStart(branch.elseBlock());
    choose(b, segments.drop_front(), number, words);
  }

  /// What the kernel does in that iteration of all.
  void emit(ImplicitLocOpBuilder &b, const Segment &segment, Value number,
            Value words) {
    auto constant = [&](int64_t value) {
      return arith::ConstantIndexOp::create(b, value);
    };
    auto word = [&](Value index) {
      return arith::IndexCastOp::create(b, b.getI64Type(), index);
    };
    Value own =
        b.createOrFold<arith::SubIOp>(number, constant(segment.iteration));
    Value each = constant(numberOf(segment.kernel, attr::kIterations));
    Value call = b.createOrFold<arith::DivUIOp>(own, each);
    own = b.createOrFold<arith::RemUIOp>(own, each);
    Value at = b.createOrFold<arith::MulIOp>(call, constant(segment.own));
    at = b.createOrFold<arith::AddIOp>(at, constant(segment.word));
    Value first = LLVM::GEPOp::create(b, words.getType(), b.getI64Type(), words,
                                      ArrayRef<LLVM::GEPArg>{Value(word(at))});
    Value next = b.createOrFold<arith::AddIOp>(own, constant(1));
    func::FuncOp kernel = segment.kernel;
    Block &body = kernel.getBody().front();
    OpBuilder::InsertionGuard guard(b);
    if (int64_t fewer = numberOf(segment.kernel, attr::kThreads);
        fewer < threads) {
      Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
      Value hasWork = arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                            thread, constant(fewer));
      auto branch = scf::IfOp::create(b, hasWork, /*withElseRegion=*/false);
      b.setInsertionPointToStart(branch.thenBlock());
    }
    IRMapping map;
    map.map(body.getArguments().take_front(2),
            ValueRange{word(own), word(next)});
    for (Operation &op : body.without_terminator()) {
      auto place = dyn_cast<LLVM::GEPOp>(op);
      if (!place || place.getBase() != body.getArgument(2)) {
        b.clone(op, map);
        continue;
      }
      Slot slot = segment.slots[size_t(place.getRawConstantIndices().front())];
      Value base = slot.isOwn ? first : words;
      map.map(place.getResult(),
              LLVM::GEPOp::create(b, words.getType(), b.getI64Type(), base,
                                  ArrayRef<LLVM::GEPArg>{int32_t(slot.number)})
                  .getResult());
    }
  }

  SymbolTable functions;
  func::FuncOp main;
  Artifact numbers; ///< which words are compared by, and nothing else
  Places places;
  llvm::StringMap<func::FuncOp> made;
  int64_t threads = 1; ///< of the kernel that is being made
};

} // namespace

void joinKernels(ModuleOp module) { Joiner(module).run(); }

} // namespace ltc::compiler
