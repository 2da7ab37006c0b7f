//===- emit_sums.cpp - Loops that carry sums ------------------------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/loops/nest_writer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace ltc::compiler {

SmallVector<Strip> NestWriter::strips(bool inParts,
                                      ArrayRef<Reduction> inside) {
  SmallVector<Reduction> loops;
  for (unsigned loop : reductions)
    loops.push_back({loop, nest.loops[loop].extent});
  llvm::append_range(loops, inside);
  return pairwiseStrips(loops, inParts);
}

NestWriter::Values
NestWriter::addApart(ArrayRef<Value> sums,
                     llvm::function_ref<Values(ArrayRef<Value>)> add) {
  const Folding &folding = *choice.folding;
  Values start, joined;
  for (size_t i = 0; i < sums.size(); i += results())
    llvm::append_range(
        start,
        folding.neutral(b, ValueRange(sums.slice(i, results())).getTypes()));
  Values part = add(start);
  for (size_t i = 0; i < sums.size(); i += results())
    llvm::append_range(joined,
                       folding.merge(b, sums.slice(i, results()),
                                     ArrayRef(part).slice(i, results())));
  return joined;
}

Value NestWriter::endOfTurn(const Strip &strip, Value iv, Value end) {
  Value next = plus(iv, strip.step);
  return strip.even ? next : arith::MinUIOp::create(b, next, end).getResult();
}

NestWriter::Values NestWriter::forStrips(ArrayRef<Strip> strips, Values sums,
                                         Leaf leaf) {
  if (strips.empty())
    return leaf(Value(), sums);
  return forStrips(strips, index(0), extentOf(strips.front().loop),
                   std::move(sums), leaf);
}

NestWriter::Values NestWriter::forLength(ArrayRef<Strip> strips, Value length,
                                         Values sums, Leaf leaf) {
  auto all = [&](ArrayRef<Value> sums) {
    return forStrips(strips, index(0), length, llvm::to_vector(sums), leaf);
  };
  if (strips.size() == 1 || getConstantIntValue(length))
    return all(sums);
  // One sum takes what is no longer than a turn of the last loop but one: its
  // bits are those that come out of all loops.
  Value most = index(strips.drop_back().back().step);
  Value isShort =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ule, length, most);
  auto one = [&](ArrayRef<Value> part) {
    return forStrips(strips.take_back(), index(0), length,
                     llvm::to_vector(part), leaf);
  };
  return ifElse(
      isShort, sums, [&](ArrayRef<Value> sums) { return addApart(sums, one); },
      all);
}

NestWriter::Values NestWriter::forStrips(ArrayRef<Strip> strips, Value from,
                                         Value to, Values sums, Leaf leaf) {
  Strip strip = strips.front();
  ArrayRef<Strip> inner = strips.drop_front();
  bool isCut = !inner.empty() && inner.front().loop == strip.loop;
  auto turn = [&](Value iv, ArrayRef<Value> sums) {
    if (isCut)
      return forStrips(inner, iv, endOfTurn(strip, iv, to),
                       llvm::to_vector(sums), leaf);
    if (int(strip.loop) == vectorLoop)
      return leaf(iv, sums);
    Step step(*this, strip.loop, iv);
    return inner.empty() ? leaf(iv, sums)
                         : forStrips(inner, llvm::to_vector(sums), leaf);
  };
  return forLoop(from, to, strip.step, sums, [&](Value iv, ValueRange args) {
    Values sums = llvm::to_vector(args);
    if (!strip.apart)
      return turn(iv, sums);
    return addApart(sums, [&](ArrayRef<Value> part) { return turn(iv, part); });
  });
}

} // namespace ltc::compiler
