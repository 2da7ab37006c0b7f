//===- emit_nest.cpp - A linalg op on memrefs as loops ----------*- C++ -*-===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three forms, by the vectorised loop:
//   pointwise   parallel loops outside, vectors innermost; squares of vectors
//               where an operand runs along another loop
//   columns     vectors along a parallel loop, accumulated over reductions
//   rows        vectors along a reduction, folded at its end
// and the scalar form for everything else.
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/optimize/emit_nest.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir_lowering/optimize/choose_loops.h"
#include "mlir_lowering/optimize/cost.h"
#include "mlir_lowering/optimize/vector_body.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {
namespace {

/// Bodies up to this cost are unrolled: their loops would dominate.
constexpr int64_t kUnrolledCost = 16;
constexpr int64_t kUnroll = 4;
constexpr int64_t kRowsAtATime = 8;
constexpr int64_t kManyColumns = 256; ///< more than registers hold

class NestEmitter {
public:
  NestEmitter(GenericOp op, const Machine &machine)
      : op(op), b(op.getLoc(), op), nest(analyzeNest(b, op)),
        inputs(op.getNumDpsInputs()), choice(chooseLoops(op, nest, machine)),
        vectorLoop(choice.vectorLoop), crossLoop(choice.crossLoop),
        lanes(choice.lanes) {}

  LogicalResult run() {
    at.resize(nest.loops.size());
    for (const Access &access : nest.accesses)
      position.push_back(access.offset);
    if (vectorLoop >= 0)
      body.emplace(op, nest, vectorLoop);
    for (int loop = 0; loop < int(nest.loops.size()); ++loop) {
      if (loop == vectorLoop || loop == crossLoop)
        continue;
      (nest.loops[loop].reduction ? reductions : outer).push_back(loop);
    }
    emitOuter(0);
    op.erase();
    return success();
  }

private:
  //===--------------------------------------------------------------------===//
  // Loops
  //===--------------------------------------------------------------------===//

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value extentOf(unsigned loop) {
    const Loop &l = nest.loops[loop];
    return l.size ? l.size : index(l.extent);
  }

  /// The iterations of a loop that make whole blocks.
  Value wholeBlocks(unsigned loop, int64_t block) {
    const Loop &l = nest.loops[loop];
    if (!l.size)
      return index(l.extent / block * block);
    Value rest = arith::RemUIOp::create(b, l.size, index(block));
    return arith::SubIOp::create(b, l.size, rest);
  }

  /// Moves every operand to iteration `iv` of a loop, until the guard dies.
  struct Step {
    Step(NestEmitter &e, unsigned loop, Value iv)
        : e(e), loop(loop), saved(e.position) {
      e.at[loop] = iv;
      for (auto [access, position] :
           llvm::zip_equal(e.nest.accesses, e.position)) {
        if (access.isUniformAlong(loop) || access.general)
          continue;
        Value by = iv;
        if (access.dynamic[loop])
          by = arith::MulIOp::create(e.b, iv, access.dynamic[loop]);
        else if (access.strides[loop] != 1)
          by = arith::MulIOp::create(e.b, iv, e.index(access.strides[loop]));
        position = e.b.createOrFold<arith::AddIOp>(position, by);
      }
    }
    ~Step() {
      e.position = saved;
      e.at[loop] = Value();
    }
    NestEmitter &e;
    unsigned loop;
    SmallVector<Value> saved;
  };

  using Body = llvm::function_ref<SmallVector<Value>(Value, ValueRange)>;

  SmallVector<Value> forLoop(Value from, Value to, int64_t step,
                             ValueRange init, Body emit) {
    auto loop = scf::ForOp::create(b, from, to, index(step), init);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next =
        emit(loop.getInductionVar(), loop.getRegionIterArgs());
    if (!init.empty())
      scf::YieldOp::create(b, next);
    return loop.getResults();
  }

  /// Runs `emit(iv, mask, carried)` over vectors along the vectorised loop.
  SmallVector<Value> forVectors(
      Value from, SmallVector<Value> carried,
      llvm::function_ref<SmallVector<Value>(Value, Value, ValueRange)> emit) {
    Value extent = extentOf(vectorLoop);
    Value rest = b.createOrFold<arith::RemUIOp>(extent, index(lanes));
    Value whole = b.createOrFold<arith::SubIOp>(extent, rest);
    if (getConstantIntValue(whole) != getConstantIntValue(from) ||
        !getConstantIntValue(whole))
      carried =
          forLoop(from, whole, lanes, carried, [&](Value iv, ValueRange args) {
            return emit(iv, Value(), args);
          });
    auto known = getConstantIntValue(rest);
    if (known == 0)
      return carried;
    auto type = VectorType::get({lanes}, b.getI1Type());
    auto masked = [&](ValueRange args) {
      Value mask = vector::CreateMaskOp::create(b, type, rest);
      return emit(whole, mask, args);
    };
    return masked(carried);
  }

  void emitOuter(unsigned level) {
    if (level < outer.size()) {
      unsigned loop = outer[level];
      forLoop(index(0), extentOf(loop), 1, {}, [&](Value iv, ValueRange) {
        Step step(*this, loop, iv);
        emitOuter(level + 1);
        return SmallVector<Value>();
      });
      return;
    }
    if (vectorLoop < 0)
      return emitScalars();
    if (nest.loops[vectorLoop].reduction)
      return emitRow();
    if (crossLoop >= 0)
      return emitSquares();
    if (reductions.empty())
      return emitPointwise();
    emitColumns();
  }

  /// Runs `leaf(carried)` inside the reduction loops.
  SmallVector<Value>
  forReductions(unsigned level, SmallVector<Value> carried,
                llvm::function_ref<SmallVector<Value>(ValueRange)> leaf) {
    if (level == reductions.size())
      return leaf(carried);
    unsigned loop = reductions[level];
    return forLoop(
        index(0), extentOf(loop), 1, carried, [&](Value iv, ValueRange args) {
          Step step(*this, loop, iv);
          return forReductions(level + 1, llvm::to_vector(args), leaf);
        });
  }

  //===--------------------------------------------------------------------===//
  // The forms
  //===--------------------------------------------------------------------===//

  /// Index values of the op's dimensions, at lane 0.
  SmallVector<Value> indices() {
    SmallVector<Value> values;
    for (int loop : nest.loopOf)
      values.push_back(loop >= 0 ? at[loop] : index(0));
    return values;
  }

  /// Positions with those of general maps worked out.
  SmallVector<Value> positions() {
    SmallVector<Value> values = position;
    for (auto [access, value] : llvm::zip_equal(nest.accesses, values)) {
      if (!access.general)
        continue;
      SmallVector<OpFoldResult> dims;
      for (Value iv : indices())
        dims.push_back(iv ? iv : index(0));
      for (unsigned i = 0; i < access.general.getNumResults(); ++i) {
        Value along = getValueOrCreateConstantIndexOp(
            b, b.getLoc(),
            affine::makeComposedFoldedAffineApply(
                b, b.getLoc(), access.general.getSubMap({i}), dims));
        Value scaled =
            arith::MulIOp::create(b, along, access.generalStrides[i]);
        value = arith::AddIOp::create(b, value, scaled);
      }
    }
    return values;
  }

  SmallVector<Value> vectorBody(Value mask, ArrayRef<Value> accumulators,
                                ArrayRef<Value> loaded = {}) {
    SmallVector<Value> positioned = positions(), indexed = indices();
    return body->emit(b,
                      {positioned, indexed, lanes, mask, accumulators, loaded});
  }

  unsigned results() { return op.getNumDpsInits(); }
  Value resultBase(unsigned i) { return nest.accesses[inputs + i].base; }

  void storeResults(ArrayRef<Value> values, Value mask) {
    SmallVector<Value> to = positions();
    for (unsigned i = 0; i < results(); ++i)
      storeVector(b, values[i], resultBase(i), to[inputs + i], mask);
  }

  void emitPointwise() { emitPointwise(index(0)); }
  void emitPointwise(Value from) {
    forVectors(from, {}, [&](Value iv, Value mask, ValueRange) {
      Step step(*this, vectorLoop, iv);
      storeResults(vectorBody(mask, {}), mask);
      return SmallVector<Value>();
    });
  }

  void emitSquares() {
    Value whole = wholeBlocks(vectorLoop, lanes);
    Value rows = wholeBlocks(crossLoop, lanes);
    forLoop(index(0), rows, lanes, {}, [&](Value row, ValueRange) {
      forLoop(index(0), whole, lanes, {}, [&](Value iv, ValueRange) {
        emitSquare(row, iv);
        return SmallVector<Value>();
      });
      return SmallVector<Value>();
    });
    Value length = extentOf(vectorLoop), height = extentOf(crossLoop);
    auto rest = [&](Value first, Value last, Value from) {
      if (isEqualConstantIntOrValue(first, last) ||
          isEqualConstantIntOrValue(from, length))
        return;
      forLoop(first, last, 1, {}, [&](Value row, ValueRange) {
        Step step(*this, crossLoop, row);
        emitPointwise(from);
        return SmallVector<Value>();
      });
    };
    rest(index(0), rows, whole);
    rest(rows, height, index(0));
  }

  void emitSquare(Value row, Value column) {
    auto behind = [&](Value from, int64_t by) {
      return b.createOrFold<arith::AddIOp>(from, index(by));
    };
    SmallVector<SmallVector<Value>> squares;
    for (unsigned number : choice.crossing) {
      SmallVector<Value> columns;
      Step atRow(*this, crossLoop, row);
      for (int64_t j = 0; j < lanes; ++j) {
        Step atColumn(*this, vectorLoop, behind(column, j));
        columns.push_back(loadVector(b, nest.accesses[number].base,
                                     position[number], 1, lanes, Value()));
      }
      squares.push_back(transposeSquare(b, columns));
    }
    Step atColumn(*this, vectorLoop, column);
    for (int64_t i = 0; i < lanes; ++i) {
      Step atRow(*this, crossLoop, behind(row, i));
      SmallVector<Value> loaded(nest.accesses.size());
      for (auto [number, square] : llvm::zip_equal(choice.crossing, squares))
        loaded[number] = square[i];
      storeResults(vectorBody(Value(), {}, loaded), Value());
    }
  }

  /// `unroll` vectors of columns side by side, from column `iv` on.
  void emitColumnBlock(Value iv, Value mask, int64_t unroll) {
    SmallVector<Value> carried;
    auto each = [&](llvm::function_ref<void(unsigned)> visit) {
      for (int64_t u = 0; u < unroll; ++u) {
        Value column = b.createOrFold<arith::AddIOp>(iv, index(u * lanes));
        Step step(*this, vectorLoop, column);
        visit(u);
      }
    };
    each([&](unsigned) {
      for (unsigned i = 0; i < results(); ++i)
        carried.push_back(
            loadVector(b, resultBase(i), position[inputs + i], 1, lanes, mask));
    });
    carried = forReductions(0, carried, [&](ValueRange args) {
      SmallVector<Value> next;
      each([&](unsigned u) {
        auto mine = llvm::to_vector(args.slice(u * results(), results()));
        llvm::append_range(next, vectorBody(mask, mine));
      });
      return next;
    });
    each([&](unsigned u) {
      for (unsigned i = 0; i < results(); ++i)
        storeVector(b, carried[u * results() + i], resultBase(i),
                    position[inputs + i], mask);
    });
  }

  /// Columns that do not fit into registers stay in memory, which is in the
  /// first cache: rows are read whole, some at a time, as they lie.
  bool readsWholeRows() {
    int64_t extent = nest.loops[vectorLoop].extent;
    const Loop &rows = nest.loops[reductions.back()];
    bool wide = ShapedType::isDynamic(extent) || extent >= kManyColumns;
    bool high = rows.size || rows.extent >= kRowsAtATime;
    return wide && high && pointCost(op) <= kUnrolledCost;
  }

  void emitWholeRows() {
    unsigned loop = reductions.back();
    auto rows = [&](Value first, int64_t count) {
      forVectors(index(0), {}, [&](Value iv, Value mask, ValueRange) {
        Step column(*this, vectorLoop, iv);
        SmallVector<Value> sums;
        for (unsigned i = 0; i < results(); ++i)
          sums.push_back(loadVector(b, resultBase(i), position[inputs + i], 1,
                                    lanes, mask));
        for (int64_t k = 0; k < count; ++k) {
          Step row(*this, loop, b.createOrFold<arith::AddIOp>(first, index(k)));
          sums = vectorBody(mask, sums);
        }
        storeResults(sums, mask);
        return SmallVector<Value>();
      });
      return SmallVector<Value>();
    };
    reductions.pop_back();
    forReductions(0, {}, [&](ValueRange) {
      Value whole = wholeBlocks(loop, kRowsAtATime);
      forLoop(index(0), whole, kRowsAtATime, {},
              [&](Value row, ValueRange) { return rows(row, kRowsAtATime); });
      if (getConstantIntValue(whole) != nest.loops[loop].extent)
        forLoop(whole, extentOf(loop), 1, {},
                [&](Value row, ValueRange) { return rows(row, 1); });
      return SmallVector<Value>();
    });
    reductions.push_back(loop);
  }

  void emitColumns() {
    if (readsWholeRows())
      return emitWholeRows();
    int64_t extent = nest.loops[vectorLoop].extent;
    Value from = index(0);
    int64_t block = kUnroll * lanes;
    if (!ShapedType::isDynamic(extent) && extent >= block &&
        pointCost(op) <= kUnrolledCost) {
      from = index(extent / block * block);
      forLoop(index(0), from, block, {}, [&](Value iv, ValueRange) {
        emitColumnBlock(iv, Value(), kUnroll);
        return SmallVector<Value>();
      });
    }
    forVectors(from, {}, [&](Value iv, Value mask, ValueRange) {
      emitColumnBlock(iv, mask, 1);
      return SmallVector<Value>();
    });
  }

  void emitRow() {
    int64_t extent = nest.loops[vectorLoop].extent;
    bool wide = (ShapedType::isDynamic(extent) || extent >= kUnroll * lanes) &&
                pointCost(op) <= kUnrolledCost;
    int64_t unroll = wide ? kUnroll : 1;
    SmallVector<Value> inits, sums;
    for (unsigned i = 0; i < results(); ++i)
      inits.push_back(
          memref::LoadOp::create(b, resultBase(i), position[inputs + i]));
    for (int64_t u = 0; u < unroll; ++u)
      llvm::append_range(sums, choice.folding->start(b, inits, lanes));

    sums = forReductions(0, sums, [&](ValueRange args) {
      SmallVector<Value> carried = llvm::to_vector(args);
      Value from = index(0);
      if (wide) {
        int64_t block = kUnroll * lanes;
        from = wholeBlocks(vectorLoop, block);
        carried = forLoop(
            index(0), from, block, carried, [&](Value iv, ValueRange now) {
              SmallVector<Value> next;
              for (int64_t u = 0; u < unroll; ++u) {
                Step step(*this, vectorLoop,
                          b.createOrFold<arith::AddIOp>(iv, index(u * lanes)));
                auto mine =
                    llvm::to_vector(now.slice(u * results(), results()));
                llvm::append_range(next, vectorBody(Value(), mine));
              }
              return next;
            });
      }
      SmallVector<Value> first(carried.begin(), carried.begin() + results());
      first =
          forVectors(from, first, [&](Value iv, Value mask, ValueRange now) {
            Step step(*this, vectorLoop, iv);
            SmallVector<Value> old = llvm::to_vector(now);
            SmallVector<Value> next = vectorBody(mask, old);
            for (unsigned i = 0; mask && i < results(); ++i)
              next[i] = arith::SelectOp::create(b, mask, next[i], old[i]);
            return next;
          });
      llvm::copy(first, carried.begin());
      return carried;
    });

    auto block = [&](int64_t u) {
      return ArrayRef(sums).slice(u * results(), results());
    };
    SmallVector<Value> sum = llvm::to_vector(block(0));
    for (int64_t u = 1; u < unroll; ++u)
      sum = choice.folding->merge(b, sum, block(u));
    sum = choice.folding->merge(b, inits, choice.folding->foldLanes(b, sum));
    for (unsigned i = 0; i < results(); ++i)
      memref::StoreOp::create(b, sum[i], resultBase(i), position[inputs + i]);
  }

  void emitScalars() {
    SmallVector<Value> carried;
    SmallVector<Value> start = positions();
    if (!reductions.empty())
      for (unsigned i = 0; i < results(); ++i)
        carried.push_back(
            memref::LoadOp::create(b, resultBase(i), start[inputs + i]));
    SmallVector<Value> values = forReductions(
        0, carried, [&](ValueRange args) { return scalarBody(args); });
    for (unsigned i = 0; i < results(); ++i)
      memref::StoreOp::create(b, values[i], resultBase(i), start[inputs + i]);
  }

  SmallVector<Value> scalarBody(ValueRange accumulators) {
    IRMapping map;
    SmallVector<Value> from = positions();
    for (BlockArgument argument : op.getBody()->getArguments()) {
      unsigned i = argument.getArgNumber();
      if (argument.use_empty())
        continue;
      const Access &access = nest.accesses[i];
      map.map(
          argument,
          access.isScalar ? access.base
          : i >= inputs && !accumulators.empty()
              ? accumulators[i - inputs]
              : memref::LoadOp::create(b, access.base, from[i]).getResult());
    }
    SmallVector<Value> indexed = indices();
    for (Operation &inner : op.getBody()->without_terminator()) {
      if (auto index = dyn_cast<linalg::IndexOp>(inner))
        map.map(index.getResult(), indexed[index.getDim()]);
      else
        b.clone(inner, map);
    }
    SmallVector<Value> yielded;
    for (Value value : op.getBody()->getTerminator()->getOperands())
      yielded.push_back(map.lookupOrDefault(value));
    return yielded;
  }

  GenericOp op;
  ImplicitLocOpBuilder b;
  Nest nest;
  unsigned inputs;
  LoopChoice choice;
  const int vectorLoop, crossLoop;
  const int64_t lanes;
  std::optional<VectorBody> body;
  SmallVector<Value> at;       ///< iteration of each open loop
  SmallVector<Value> position; ///< of each operand
  SmallVector<unsigned> outer, reductions;
};

} // namespace

LogicalResult emitNest(GenericOp op, const Machine &machine) {
  return NestEmitter(op, machine).run();
}

} // namespace ltc::compiler
