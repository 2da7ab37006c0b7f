//===- product_loops.cpp - Products of matrices by tensor cores -----------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "mlir_lowering/target/nvptx/product_loops.h"

#include "mlir_lowering/dialect/element_type.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using linalg::GenericOp;

namespace ltc::compiler {

/// Elements of 16 bytes, and the side of a matrix that registers are read in.
static constexpr int64_t kChunk = 8;
/// Sums that a thread has of 16 x 8.
static constexpr int64_t kSums = 4;

ProductLoops::ProductLoops(GenericOp op, const MatrixTile &tile,
                           Registers &registers)
    : b(op.getLoc(), op), op(op), product(*MatrixProduct::of(op)), tile(tile),
      registers(registers), extent(op.getStaticLoopRanges()[product.inner]),
      turns(llvm::divideCeil(extent, tile.inner)),
      element(getElementTypeOrSelf(op.getDpsInputs()[0])) {}

Value ProductLoops::index(int64_t number) {
  return arith::ConstantIndexOp::create(b, number);
}
Value ProductLoops::add(Value left, Value right) {
  return b.createOrFold<arith::AddIOp>(left, right);
}
Value ProductLoops::times(Value value, int64_t by) {
  return b.createOrFold<arith::MulIOp>(value, index(by));
}
Value ProductLoops::over(Value value, int64_t by) {
  return b.createOrFold<arith::DivUIOp>(value, index(by));
}
Value ProductLoops::rest(Value value, int64_t by) {
  return b.createOrFold<arith::RemUIOp>(value, index(by));
}
Value ProductLoops::isBelow(Value value, Value bound) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, value, bound);
}

void ProductLoops::ifTrue(Value condition, llvm::function_ref<void()> emitThen,
                          llvm::function_ref<void()> emitElse) {
  auto branch = scf::IfOp::create(b, condition, bool(emitElse));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  emitThen();
  if (emitElse) {
    b.setInsertionPointToStart(branch.elseBlock());
    emitElse();
  }
}

//===----------------------------------------------------------------------===//
// The factors
//===----------------------------------------------------------------------===//

ProductLoops::Side ProductLoops::sideOf(unsigned operand, unsigned loop,
                                        int64_t outer) {
  auto dimOf = [&](unsigned of) {
    AffineMap map = op.getIndexingMapsArray()[operand];
    return *map.getResultPosition(getAffineDimExpr(of, b.getContext()));
  };
  Side side;
  side.memref = op.getDpsInputs()[operand];
  side.outer = outer;
  side.outerDim = dimOf(loop);
  side.innerDim = dimOf(product.inner);
  auto type = cast<MemRefType>(side.memref.getType());
  side.extent =
      b.createOrFold<memref::DimOp>(side.memref, int64_t(side.outerDim));
  side.isWhole =
      type.getDimSize(side.outerDim) == outer && extent % tile.inner == 0;
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  (void)type.getStridesAndOffset(strides, offset);
  side.isAlong = strides[side.innerDim] == 1 || strides[side.outerDim] != 1;
  side.rows = side.isAlong ? outer : tile.inner;
  side.columns = side.isAlong ? tile.inner : outer;
  unsigned fast = side.isAlong ? side.innerDim : side.outerDim;
  unsigned slow = side.isAlong ? side.outerDim : side.innerDim;
  if (strides[fast] != 1 || fast + 1 != strides.size() ||
      ShapedType::isDynamic(strides[slow]) || strides[slow] % kChunk != 0)
    return side;
  // What is known of the address is known later, and decides then.
  auto metadata = memref::ExtractStridedMetadataOp::create(b, side.memref);
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(
      b, metadata.getBaseBuffer());
  address = add(address, times(metadata.getOffset(), 2));
  side.isAligned = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                         rest(address, 2 * kChunk), index(0));
  return side;
}

/// As many as the temporaries of the tile leave room for.
LogicalResult ProductLoops::placeStages() {
  constexpr int64_t most = 48L * 1024;
  auto kernel = op->getParentOfType<func::FuncOp>();
  int64_t taken = 0;
  kernel.walk([&](memref::AllocaOp temporary) {
    MemRefType type = temporary.getType();
    taken += llvm::alignTo(
        type.getNumElements() * elementBytes(type.getElementType()), 128);
  });
  stages = std::min(stages, (most - taken) / tile.bytes());
  if (stages < 2)
    return op.emitError("a tile's temporaries leave no memory for the factors "
                        "of a product");
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&kernel.getBody().front());
  for (Side *side : {&left, &right}) {
    auto type =
        MemRefType::get({stages * side->rows, side->columns}, element,
                        MemRefLayoutAttrInterface(), b.getI64IntegerAttr(3));
    side->memory = memref::AllocaOp::create(b, type, b.getI64IntegerAttr(128));
  }
  return success();
}

Value ProductLoops::columnOf(const Side &side, Value row, Value chunk) {
  int64_t chunks = side.columns / kChunk;
  Value by = rest(over(row, std::max<int64_t>(1, kChunk / chunks)),
                  std::min(chunks, kChunk));
  return times(b.createOrFold<arith::XOrIOp>(chunk, by), kChunk);
}

/// Of a factor that may lie anywhere, by single elements.
void ProductLoops::copyElements(Side &side, Value at, Value column,
                                ValueRange from, Value elements) {
  unsigned fast = side.isAlong ? side.innerDim : side.outerDim;
  auto loop = scf::ForOp::create(b, index(0), index(kChunk), index(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value i = loop.getInductionVar(), to = add(column, i);
  SmallVector<Value> place(from);
  place[fast] = add(place[fast], i);
  auto copy = [&] {
    Value value = memref::LoadOp::create(b, side.memref, place);
    memref::StoreOp::create(b, value, side.memory, ValueRange({at, to}));
  };
  auto clear = [&] {
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(element));
    memref::StoreOp::create(b, zero, side.memory, ValueRange({at, to}));
  };
  ifTrue(isBelow(i, elements), copy, clear);
}

void ProductLoops::copyStage(Side &side, Value turn, Value slot) {
  int64_t chunks = side.columns / kChunk;
  unsigned fast = side.isAlong ? side.innerDim : side.outerDim;
  unsigned slow = side.isAlong ? side.outerDim : side.innerDim;
  Value firstInner = times(turn, tile.inner);
  auto rank = cast<MemRefType>(side.memref.getType()).getRank();
  for (int64_t i = 0; i < side.rows * chunks; i += tile.threads()) {
    Value number = add(thread, index(i));
    Value row = over(number, chunks), chunk = rest(number, chunks);
    Value column = columnOf(side, row, chunk);
    Value at = add(times(slot, side.rows), row), first = times(chunk, kChunk);
    SmallVector<Value> from(rank, index(0));
    from[slow] = side.isAlong ? row : add(firstInner, row);
    from[fast] = side.isAlong ? add(firstInner, first) : first;
    Value elements;
    if (!side.isWhole) {
      Value all = index(extent), slowEnd = side.isAlong ? side.extent : all;
      Value fastEnd = side.isAlong ? all : side.extent;
      Value left = arith::SubIOp::create(
          b, fastEnd, arith::MinUIOp::create(b, fastEnd, from[fast]));
      elements = arith::MinUIOp::create(b, left, index(kChunk));
      elements = arith::SelectOp::create(b, isBelow(from[slow], slowEnd),
                                         elements, index(0));
      Value isAny = isBelow(index(0), elements);
      for (unsigned dim : {slow, fast}) // an address that there is
        from[dim] = arith::SelectOp::create(b, isAny, from[dim], index(0));
    }
    auto copyAtOnce = [&] {
      nvgpu::DeviceAsyncCopyOp::create(
          b, nvgpu::DeviceAsyncTokenType::get(b.getContext()), side.memory,
          ValueRange({at, column}), side.memref, from, b.getIndexAttr(kChunk),
          elements, b.getUnitAttr());
    };
    auto copySingly = [&] {
      copyElements(side, at, column, from, elements ? elements : index(kChunk));
    };
    if (side.isAligned)
      ifTrue(side.isAligned, copyAtOnce, copySingly);
    else
      copySingly();
  }
}

void ProductLoops::copyStages(Value turn, Value slot) {
  copyStage(left, turn, slot);
  copyStage(right, turn, slot);
}

/// Also of nothing, so that the count of groups goes on.
void ProductLoops::commit() {
  auto group = nvgpu::DeviceAsyncCreateGroupOp::create(
      b, nvgpu::DeviceAsyncTokenType::get(b.getContext()), ValueRange());
  // Without it, a group of nothing cannot be read back.
  group->setAttr("ltc.all", b.getUnitAttr());
  token = group.getAsyncToken();
}

//===----------------------------------------------------------------------===//
// The product
//===----------------------------------------------------------------------===//

/// Four matrices of a factor in memory: 16 along the result by 16 along the
/// sum. Of the left one, a thread's second register has the next rows, of the
/// right one the next products.
Value ProductLoops::fragment(Side &side, Value slot, Value outer, Value inner) {
  bool isLeft = &side == &left;
  Value low = rest(over(lane, kChunk), 2), high = over(lane, 2 * kChunk);
  Value outerHalf = isLeft ? low : high, innerHalf = isLeft ? high : low;
  Value alongOuter = add(outer, times(outerHalf, kChunk));
  Value alongInner = add(inner, times(innerHalf, kChunk));
  Value row = add(side.isAlong ? alongOuter : alongInner, rest(lane, kChunk));
  Value chunk = over(side.isAlong ? alongInner : alongOuter, kChunk);
  Value at = add(times(slot, side.rows), row);
  return nvgpu::LdMatrixOp::create(b, VectorType::get({4, 2}, element),
                                   side.memory,
                                   ValueRange({at, columnOf(side, row, chunk)}),
                                   /*transpose=*/!side.isAlong, /*numTiles=*/4);
}

/// 16 rows by one half of 16 columns.
ProductLoops::Values ProductLoops::multiplyOnce(Value left, Value right,
                                                unsigned half, Values sums) {
  auto zeros = [&](ArrayRef<int64_t> shape, Type type) -> Value {
    return arith::ConstantOp::create(
        b, b.getZeroAttr(VectorType::get(shape, type)));
  };
  Value factor = zeros({2, 2}, element), sum = zeros({2, 2}, b.getF32Type());
  for (int64_t i = 0; i < 2; ++i) {
    Value part = vector::ExtractOp::create(b, right, int64_t(2 * half) + i);
    factor = vector::InsertOp::create(b, part, factor, i);
  }
  for (int64_t i = 0; i < kSums; ++i)
    sum = vector::InsertOp::create(b, sums[i], sum,
                                   ArrayRef<int64_t>{i / 2, i % 2});
  sum = nvgpu::MmaSyncOp::create(b, left, factor, sum,
                                 ArrayRef<int64_t>{16, 8, 16});
  for (int64_t i = 0; i < kSums; ++i)
    sums[i] =
        vector::ExtractOp::create(b, sum, ArrayRef<int64_t>{i / 2, i % 2});
  return sums;
}

ProductLoops::Values ProductLoops::multiply(Value slot, ValueRange before) {
  Values sums(before);
  Value firstRow = times(rowWarp, tile.warpRows());
  Value firstColumn = times(columnWarp, tile.warpColumns());
  for (int64_t step = 0; step < tile.inner / 16; step += tile.innerWarps) {
    Value inner = times(add(innerWarp, index(step)), 16);
    Values rows, columns;
    for (int64_t i = 0; i < tile.warpRows(); i += 16)
      rows.push_back(fragment(left, slot, add(firstRow, index(i)), inner));
    for (int64_t i = 0; i < tile.warpColumns(); i += 16)
      columns.push_back(
          fragment(right, slot, add(firstColumn, index(i)), inner));
    size_t number = 0;
    for (Value row : rows)
      for (Value column : columns)
        for (unsigned half : {0U, 1U}) {
          Values some(ArrayRef(sums).slice(number, kSums));
          llvm::copy(multiplyOnce(row, column, half, some), &sums[number]);
          number += kSums;
        }
  }
  return sums;
}

void ProductLoops::storeOne(Value row, Value column, Value sum) {
  AffineMap map = op.getIndexingMapsArray().back();
  Value to = op.getDpsInits()[0];
  SmallVector<Value> place(map.getNumResults(), index(0));
  for (auto [loop, value] :
       {std::pair(product.row, row), std::pair(product.column, column)})
    place[*map.getResultPosition(getAffineDimExpr(loop, b.getContext()))] =
        value;
  auto store = [&] {
    Value before = memref::LoadOp::create(b, to, place);
    memref::StoreOp::create(b, arith::AddFOp::create(b, before, sum), to,
                            place);
  };
  Value isThere = arith::AndIOp::create(b, isBelow(row, left.extent),
                                        isBelow(column, right.extent));
  ifTrue(isThere, store);
}

/// Warps that have added up other products of the same result follow each
/// other.
void ProductLoops::store(ValueRange sums) {
  Value firstRow = add(times(rowWarp, tile.warpRows()), over(lane, 4));
  Value firstColumn =
      add(times(columnWarp, tile.warpColumns()), times(rest(lane, 4), 2));
  auto storeAll = [&] {
    size_t number = 0;
    for (int64_t i = 0; i < tile.warpRows(); i += 16)
      for (int64_t j = 0; j < tile.warpColumns(); j += kChunk)
        for (int64_t sum = 0; sum < kSums; ++sum)
          storeOne(add(firstRow, index(i + sum / 2 * kChunk)),
                   add(firstColumn, index(j + sum % 2)), sums[number++]);
  };
  for (int64_t warp = 0; warp < tile.innerWarps; ++warp) {
    if (warp > 0)
      gpu::BarrierOp::create(b);
    Value isTurn = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, innerWarp,
                                         index(warp));
    ifTrue(isTurn, storeAll);
  }
}

LogicalResult ProductLoops::emit() {
  Value to = op.getDpsInits()[0];
  registers.enter(op, {{op.getDpsInputs()[0], false},
                       {op.getDpsInputs()[1], false},
                       {to, false},
                       {to, true}});
  registers.forget(to);
  left = sideOf(product.left, product.row, tile.rows);
  right = sideOf(product.right, product.column, tile.columns);
  if (failed(placeStages()))
    return failure();
  thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  lane = rest(thread, kWarp);
  Value warp = over(thread, kWarp);
  columnWarp = rest(warp, tile.columnWarps);
  rowWarp = rest(over(warp, tile.columnWarps), tile.rowWarps);
  innerWarp = over(warp, tile.columnWarps * tile.rowWarps);
  for (int64_t turn = 0; turn < stages - 1; ++turn) {
    if (turn < turns)
      copyStages(index(turn), index(turn));
    commit();
  }
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  Values sums(tile.warpRows() * tile.warpColumns() / kWarp, zero);
  auto loop = scf::ForOp::create(b, index(0), index(turns), index(1), sums);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value turn = loop.getInductionVar(), ahead = add(turn, index(stages - 1));
    nvgpu::DeviceAsyncWaitOp::create(b, token,
                                     b.getI32IntegerAttr(int32_t(stages - 2)));
    gpu::BarrierOp::create(b);
    ifTrue(isBelow(ahead, index(turns)),
           [&] { copyStages(ahead, rest(ahead, stages)); });
    commit();
    scf::YieldOp::create(
        b, multiply(rest(turn, stages), loop.getRegionIterArgs()));
  }
  store(loop.getResults());
  op.erase();
  return success();
}

} // namespace ltc::compiler
