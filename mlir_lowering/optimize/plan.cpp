//===- plan.cpp - Where every tensor of @main lives -------------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A storage is the memory of one or more values: a value and its reshapes, a
// tensor and what a kernel makes of it in place. A storage is an argument, a
// result's own memory, or a slice of the arena. Program order is kept.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/plan.h"

#include "ltc/op_facts.h"
#include "mlir_lowering/dialect/element_type.h"
#include "mlir_lowering/dialect/ltc_dialect.h"
#include "mlir_lowering/dialect/sizes.h"
#include "mlir_lowering/optimize/arena.h"
#include "mlir_lowering/optimize/optimize.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ltc::compiler {

static bool isReshape(Operation *op) {
  return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op);
}

/// Views whose users read the source's memory.
static bool isView(Operation *op) {
  return isReshape(op) || isa<tensor::ExtractSliceOp, tensor::CastOp>(op);
}

static Formula bytesOf(Value tensor) {
  MLIRContext *context = tensor.getContext();
  SmallVector<int64_t> sizes = sizesOf(tensor);
  return sizeTable(context).formula(productOf(context, sizes)) *
         elementBytes(getElementTypeOrSelf(tensor));
}

static ArrayRef<int64_t> pairsOf(func::FuncOp kernel, StringRef name) {
  return kernel->getAttrOfType<DenseI64ArrayAttr>(name).asArrayRef();
}

static func::FuncOp kernelOf(func::CallOp call) {
  return cast<func::FuncOp>(
      SymbolTable::lookupNearestSymbolFrom(call, call.getCalleeAttr()));
}

/// The input that a call may write a result over: what a product is added to,
/// of which a few elements are replaced, or what is read where it is written.
static std::optional<unsigned> overwritableInput(CallOp call, OpResult result) {
  bool isOne = factsOf(call.getCallee()).has(OpFact::OverwritesSelf) &&
               result.getResultNumber() == 0 &&
               call.getInputs()[0].getType() == result.getType() &&
               sizesOf(call.getInputs()[0]) == sizesOf(result) &&
               call.permutationOf(0).empty();
  return isOne ? std::optional(0u) : std::nullopt;
}

BufferPlan::BufferPlan(func::FuncOp main, bool reuse) : main(main) {
  Block &body = main.getBody().front();
  for (BlockArgument argument : body.getArguments())
    if (isa<mlir::TensorType>(argument.getType()))
      open(argument, Storage::Argument, -1).argument = argument.getArgNumber();
  int64_t position = 0;
  for (Operation &op : body)
    positions[&op] = position++;
  findLastUses(body);
  findLastCheck(body);
  findDonations(body.getTerminator());
  for (Operation &op : body)
    visit(&op);
  placeResults();
  placeTemporaries(reuse);
}

Storage &BufferPlan::open(Value value, Storage::Place place, int64_t first) {
  storageNumber[value] = storages.size();
  Storage &storage = storages.emplace_back();
  storage.place = place;
  storage.bytes = bytesOf(value);
  storage.first = first;
  storage.last = std::max(first, lastUse.lookup(value));
  return storage;
}

/// The last position that reads a value, through views too.
void BufferPlan::findLastUses(Block &body) {
  for (Operation &op : llvm::reverse(body)) {
    int64_t position = positions[&op];
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        int64_t &last = lastUse.try_emplace(operand, -1).first->second;
        last = std::max(last, position);
        if (isView(inner) && inner->getNumResults() == 1)
          last = std::max(last, lastUse.lookup(inner->getResult(0)));
      }
    });
  }
}

static bool mayFail(Operation *op) {
  if (auto call = dyn_cast<CallOp>(op))
    return call.mayFail() && !call->hasAttr(attr::kRepeated);
  auto call = dyn_cast<func::CallOp>(op);
  return call &&
         kernelOf(call)
             .walk([](Operation *inner) {
               return isa<CheckOp, CheckIndexOp, CheckDivisorOp>(inner) &&
                              !inner->hasAttr(attr::kRepeated)
                          ? WalkResult::interrupt()
                          : WalkResult::advance();
             })
             .wasInterrupted();
}

void BufferPlan::findLastCheck(Block &body) {
  for (Operation &op : llvm::reverse(body))
    if (mayFail(&op)) {
      lastCheck = positions[&op];
      return;
    }
}

/// Whether all checks have been made when the result is written. A library call
/// that may fail does so before it writes.
bool BufferPlan::keepsUntilChecked(Value result) const {
  Operation *writer = result.getDefiningOp();
  if (!writer)
    return true;
  int64_t position = positions.lookup(writer);
  return position > lastCheck || (position == lastCheck && isa<CallOp>(writer));
}

bool BufferPlan::isSpoilt(Operation *call) const {
  return positions.lookup(call) >= firstWrite && !mayFail(call);
}

/// The results that an argument's memory is offered to.
void BufferPlan::findDonations(Operation *ret) {
  for (OpOperand &operand : ret->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    auto donation =
        main.getResultAttrOfType<IntegerAttr>(number, LtcDialect::kDonates);
    Value value = operand.get();
    while (value.getDefiningOp() && isReshape(value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    if (donation && !keepsUntilChecked(value)) {
      main.removeResultAttr(
          number, StringAttr::get(main.getContext(), LtcDialect::kDonates));
      donation = {};
    }
    donated.push_back(donation ? donation.getInt() : -1);
    if (donation)
      offered.try_emplace(value, donation.getInt());
  }
}

void BufferPlan::visit(Operation *op) {
  if (isView(op)) {
    auto source = storageNumber.find(op->getOperand(0));
    if (source != storageNumber.end())
      storageNumber[op->getResult(0)] = source->second;
    return;
  }
  if (auto call = dyn_cast<func::CallOp>(op))
    return visitKernel(call);
  if (auto call = dyn_cast<CallOp>(op)) {
    // A tensor of no elements folds to an empty one, which has no memory yet.
    for (Value input : call.getInputs())
      if (input.getDefiningOp<tensor::EmptyOp>() &&
          !storageNumber.contains(input))
        open(input, Storage::Arena, positions[op]);
    for (OpResult result : op->getResults())
      if (!takeOffer(result) && !overwriteInput(call, result))
        open(result, Storage::Arena, positions[op]);
  }
}

/// Whether a value is a part of another one, whose rows lie farther apart.
static bool isSlice(Value value) {
  for (Operation *op = value.getDefiningOp(); op && isView(op);
       op = op->getOperand(0).getDefiningOp())
    if (isa<tensor::ExtractSliceOp>(op))
      return true;
  return false;
}

/// Gives a result the memory of an operand that nobody reads afterwards.
bool BufferPlan::takeOver(Value operand, OpResult result) {
  auto found = storageNumber.find(operand);
  if (found == storageNumber.end() || isSlice(operand))
    return false;
  unsigned number = found->second;
  Storage &storage = storages[number];
  int64_t position = positions[result.getOwner()];
  if (storage.place != Storage::Arena || storage.last > position ||
      largest(storage.bytes, bytesOf(result)) != storage.bytes)
    return false;
  storageNumber[result] = number;
  storage.last = std::max(position, lastUse.lookup(result));
  return true;
}

/// Writes a call's result over what nobody reads afterwards.
bool BufferPlan::overwriteInput(CallOp call, OpResult result) {
  auto base = overwritableInput(call, result);
  if (!base)
    return false;
  Value operand = call.getInputs()[*base];
  auto found = storageNumber.find(operand);
  return found != storageNumber.end() &&
         isOnlyInput(call, *base, found->second) && takeOver(operand, result);
}

/// True if no other input of `call` lies in that storage.
bool BufferPlan::isOnlyInput(CallOp call, unsigned input, unsigned storage) {
  for (auto [i, value] : llvm::enumerate(call.getInputs())) {
    auto found = storageNumber.find(value);
    if (i != input && found != storageNumber.end() && found->second == storage)
      return false;
  }
  return true;
}

/// Computes a result straight into the argument that is offered to it, unless
/// somebody reads the argument later, or the kernel itself reads it other than
/// element by element.
bool BufferPlan::takeOffer(OpResult result) {
  auto offer = offered.find(result);
  if (offer == offered.end())
    return false;
  Value argument = main.getArgument(offer->second);
  int64_t position = positions[result.getOwner()];
  auto last = lastUse.find(argument);
  if (last != lastUse.end() && last->second >= position) {
    Operation *owner = result.getOwner();
    auto kernel = dyn_cast<func::CallOp>(owner);
    auto call = dyn_cast<CallOp>(owner);
    if (last->second > position ||
        (kernel && !mayOverwrite(kernel, result, argument)) ||
        (call && !mayOverwriteBy(call, result, argument)))
      return false;
  }
  open(result, Storage::Argument, position).argument = offer->second;
  firstWrite = std::min(firstWrite, position);
  return true;
}

bool BufferPlan::mayOverwriteBy(CallOp call, OpResult result, Value argument) {
  auto base = overwritableInput(call, result);
  unsigned storage = storageNumber.lookup(argument);
  return base && storageNumber.lookup(call.getInputs()[*base]) == storage &&
         isOnlyInput(call, *base, storage);
}

/// Whether all that the kernel reads of a tensor's memory, also under other
/// shapes, it reads before it writes the result there.
bool BufferPlan::mayOverwrite(func::CallOp call, OpResult result,
                              Value tensor) {
  func::FuncOp kernel = kernelOf(call);
  int64_t number = result.getResultNumber();
  for (auto [i, operand] : llvm::enumerate(call.getOperands())) {
    auto found = storageNumber.find(operand);
    if (found == storageNumber.end() ||
        found->second != storageNumber.lookup(tensor))
      continue;
    bool allowed = false;
    for (StringRef name : {attr::kInPlace, attr::kUpdates})
      for (auto pairs = pairsOf(kernel, name); !pairs.empty();
           pairs = pairs.drop_front(2))
        allowed |= pairs[0] == int64_t(i) && pairs[1] == number;
    if (!allowed)
      return false;
  }
  return true;
}

void BufferPlan::visitKernel(func::CallOp call) {
  func::FuncOp kernel = kernelOf(call);
  int64_t position = positions[call];
  llvm::SmallDenseSet<unsigned> taken;
  // Of two results only one may lie there.
  auto share = [&](OpResult result, unsigned argument) {
    Value operand = call.getOperand(argument);
    auto found = storageNumber.find(operand);
    return found != storageNumber.end() && !taken.contains(found->second) &&
           mayOverwrite(call, result, operand) && takeOver(operand, result) &&
           taken.insert(storageNumber.lookup(result)).second;
  };
  for (auto updates = pairsOf(kernel, attr::kUpdates); !updates.empty();
       updates = updates.drop_front(2)) {
    OpResult result = call->getResult(updates[1]);
    Value source = call.getOperand(updates[0]);
    if (!takeOffer(result)) {
      if (share(result, updates[0]))
        continue;
      open(result, Storage::Arena, position);
    }
    // The kernel keeps what it does not write, and others still read it.
    if (of(source).place != of(result).place ||
        of(source).argument != of(result).argument ||
        of(result).place == Storage::Arena)
      copies.push_back({call, unsigned(updates[0]), unsigned(updates[1])});
  }
  for (OpResult result : call->getResults()) {
    if (storageNumber.contains(result) || takeOffer(result))
      continue;
    for (auto pairs = pairsOf(kernel, attr::kInPlace);
         !pairs.empty() && !storageNumber.contains(result);
         pairs = pairs.drop_front(2))
      if (pairs[1] == int64_t(result.getResultNumber()))
        share(result, pairs[0]);
    if (!storageNumber.contains(result))
      open(result, Storage::Arena, position);
  }
}

void BufferPlan::placeResults() {
  Operation *ret = main.getBody().front().getTerminator();
  unsigned next = main.getNumArguments();
  for (OpOperand &operand : ret->getOpOperands()) {
    auto donated = main.getResultAttrOfType<IntegerAttr>(
        operand.getOperandNumber(), LtcDialect::kDonates);
    unsigned argument = donated ? donated.getInt() : next++;
    Storage &storage = storages[storageNumber.lookup(operand.get())];
    if (storage.place == Storage::Argument && storage.argument == argument)
      continue;
    if (storage.place == Storage::Arena && !donated) {
      storage.place = Storage::Result;
      storage.argument = argument;
      continue;
    }
    finalCopies.push_back({operand.get(), argument});
  }
}

void BufferPlan::placeTemporaries(bool reuse) {
  SmallVector<Lifetime> lifetimes;
  SmallVector<OpenLifetime> open;
  SmallVector<Storage *> owners, openOwners;
  for (Storage &storage : storages) {
    if (storage.place != Storage::Arena)
      continue;
    int64_t first = reuse ? storage.first : 0;
    int64_t last = reuse ? storage.last : std::numeric_limits<int64_t>::max();
    if (storage.bytes.isConstant()) {
      lifetimes.push_back({storage.bytes.constant(), first, last});
      owners.push_back(&storage);
    } else {
      open.push_back({storage.bytes, first, last});
      openOwners.push_back(&storage);
    }
  }
  SizeTable &table = sizeTable(main.getContext());
  slots =
      shareSlots(open, [&](const Formula &bytes) { return table.hint(bytes); });
  for (auto [owner, lifetime] : llvm::zip_equal(openOwners, open))
    owner->slot = lifetime.slot;
  arenaBytes = packArena(lifetimes);
  for (auto [owner, lifetime] : llvm::zip_equal(owners, lifetimes))
    owner->offset = lifetime.offset;
}

} // namespace ltc::compiler
