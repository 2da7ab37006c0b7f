// A file that is wrong is an error, which names the line and what is known.
//
// RUN: rm -rf %t && mkdir %t && mkdir %t/abacus %t/section %t/dtype %t/fact %t/name %t/number %t/range %t/vectors %t/line %t/top
// RUN: echo "[target]" > %t/abacus/abacus.recipe
// RUN: not ltc-opt %s --recipes=%t/abacus --stop-after=lower 2>&1 | FileCheck %s --check-prefix=ABACUS
// ABACUS: abacus/abacus.recipe is for no kind of target: the compiler has no code generator for target kind 'abacus'
// ABACUS: the kinds that it has are: {{.*}}cpu
//
// RUN: echo "[pointwse]" > %t/section/cpu.recipe
// RUN: not ltc-opt %s --recipes=%t/section --stop-after=lower 2>&1 | FileCheck %s --check-prefix=SECTION
// SECTION: section/cpu.recipe:1: there is no section [pointwse]
// SECTION: the sections are target, pointwise, row_reduce, column_reduce, serial; all but target may name a dtype, as [pointwise bf16]
//
// RUN: echo "[pointwise float]" > %t/dtype/cpu.recipe
// RUN: not ltc-opt %s --recipes=%t/dtype --stop-after=lower 2>&1 | FileCheck %s --check-prefix=DTYPE
// DTYPE: dtype/cpu.recipe:1: [pointwise float]: 'float' is no dtype
//
// RUN: echo "[target f32]" > %t/fact/cpu.recipe
// RUN: not ltc-opt %s --recipes=%t/fact --stop-after=lower 2>&1 | FileCheck %s --check-prefix=FACT
// FACT: fact/cpu.recipe:1: [target f32]: the target has no dtype
//
// A file for another CPU is read, too.
// RUN: echo "" > %t/name/cpu.z80.recipe
// RUN: echo "[row_reduce]" >> %t/name/cpu.z80.recipe
// RUN: echo "tiel = 3" >> %t/name/cpu.z80.recipe
// RUN: not ltc-opt %s --recipes=%t/name --stop-after=lower 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: name/cpu.z80.recipe:3: there is no number 'tiel' of [row_reduce]
// NAME: its numbers are tile, wide_tile, cross_tile, block_points, unroll, whole_rows,
//
// RUN: echo "[pointwise]" > %t/number/cpu.recipe
// RUN: echo "tile = 4k" >> %t/number/cpu.recipe
// RUN: not ltc-opt %s --recipes=%t/number --stop-after=lower 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: number/cpu.recipe:2: tile is '4k'
// NUMBER: it is a whole number from 1 to 16777216
//
// RUN: echo "[pointwise]" > %t/range/cpu.recipe
// RUN: echo "unroll = 9" >> %t/range/cpu.recipe
// RUN: not ltc-opt %s --recipes=%t/range --stop-after=lower 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: range/cpu.recipe:2: unroll is '9'
// RANGE: it is a whole number from 1 to 8
//
// RUN: echo "[target]" > %t/vectors/cpu.recipe
// RUN: echo "vector_bits = 512" >> %t/vectors/cpu.recipe
// RUN: not ltc-opt %s --recipes=%t/vectors --cpu=x86-64-v3:+avx2 --stop-after=lower 2>&1 | FileCheck %s --check-prefix=VECTORS
// VECTORS: vectors/cpu.recipe:2: vector_bits is 512
// VECTORS: it is a power of two, at most 256, which this target has
//
// RUN: echo "[pointwise]" > %t/line/cpu.recipe
// RUN: echo "tile 4096" >> %t/line/cpu.recipe
// RUN: not ltc-opt %s --recipes=%t/line --stop-after=lower 2>&1 | FileCheck %s --check-prefix=LINE
// LINE: line/cpu.recipe:2: 'tile 4096' is no line of a recipe
//
// RUN: echo "tile = 4096" > %t/top/cpu.recipe
// RUN: not ltc-opt %s --recipes=%t/top --stop-after=lower 2>&1 | FileCheck %s --check-prefix=TOP
// TOP: top/cpu.recipe:1: 'tile = 4096' is in no section
//
// RUN: not ltc-opt %s --recipes=%t/nowhere --stop-after=lower 2>&1 | FileCheck %s --check-prefix=NOWHERE
// NOWHERE: cannot read recipes from {{.*}}/nowhere: No such file or directory

func.func @main() {
  return
}
