//===- split_entry.cpp - A long @main in parts ------------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's register allocator takes a time that grows with the square of a block:
// of the addresses that live through it, times their uses. What a part needs of
// arguments and the arena it computes anew, so that nothing lives from one part
// to the next.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/codegen/split_entry.h"

#include "mlir_lowering/codegen/codegen.h"
#include "mlir_lowering/dialect/ltc_dialect.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace ltc::compiler {
namespace {

/// A graph of 9,000 ops took 1.8 ms an op whole, and 0.5 in parts of 256.
constexpr size_t kCallsOfPart = 256;

bool isCall(Operation &op) {
  return isa<func::CallOp, CallOp, memref::CopyOp>(op);
}

/// Calls without results, and else only what may be computed twice.
bool canSplit(func::FuncOp main) {
  Block &body = main.getBody().front();
  return llvm::all_of(body.without_terminator(), [](Operation &op) {
    return isCall(op) ? op.getNumResults() == 0 : isMemoryEffectFree(&op);
  });
}

class Splitter {
public:
  explicit Splitter(func::FuncOp main) : main(main), b(main.getContext()) {}

  SmallVector<EntryPart> run() {
    Block &body = main.getBody().front();
    SmallVector<Operation *> calls;
    for (Operation &op : body.without_terminator())
      if (isCall(op))
        calls.push_back(&op);
    for (auto [i, call] : llvm::enumerate(calls)) {
      if (i % kCallsOfPart == 0)
        open();
      take(call);
    }
    close();
    // The views that are left, users first.
    Operation *end = body.getTerminator();
    while (Operation *last = end->getPrevNode())
      last->erase();
    return std::move(parts);
  }

private:
  void open() {
    close();
    b.setInsertionPoint(main);
    std::string name = (kEntry + "_" + Twine(parts.size())).str();
    auto part =
        func::FuncOp::create(b, main.getLoc(), name, b.getFunctionType({}, {}));
    part.setPrivate();
    b.setInsertionPointToStart(part.addEntryBlock());
    parts.push_back({part, {}});
    here.clear();
  }

  void close() {
    if (parts.empty())
      return;
    func::FuncOp part = parts.back().function;
    func::ReturnOp::create(b, main.getLoc());
    part.setType(
        b.getFunctionType(part.getBody().front().getArgumentTypes(), {}));
  }

  void take(Operation *call) {
    for (OpOperand &operand : call->getOpOperands())
      operand.set(bring(operand.get()));
    call->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
  }

  /// The same value in the part at hand.
  Value bring(Value value) {
    if (Value known = here.lookupOrNull(value))
      return known;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      EntryPart &part = parts.back();
      part.arguments.push_back(argument.getArgNumber());
      here.map(value, part.function.getBody().front().addArgument(
                          value.getType(), value.getLoc()));
    } else {
      Operation *made = value.getDefiningOp();
      for (Value operand : made->getOperands())
        bring(operand);
      b.clone(*made, here);
    }
    return here.lookup(value);
  }

  func::FuncOp main;
  OpBuilder b;
  IRMapping here;
  SmallVector<EntryPart> parts;
};

} // namespace

SmallVector<EntryPart> splitMain(func::FuncOp main) {
  Block &body = main.getBody().front();
  if (size_t(llvm::count_if(body, isCall)) > kCallsOfPart && canSplit(main))
    return Splitter(main).run();
  auto all = llvm::seq(0u, main.getNumArguments());
  return {{main, SmallVector<unsigned>(all.begin(), all.end())}};
}

} // namespace ltc::compiler
