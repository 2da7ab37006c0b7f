/*===- real_ops.h - What arith and math compute of reals --------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Ops on numbers that blocks of the hand-over have (docs/hand-over.md), each as
|* an expression of C in its operands x, y and z: to print in the source of a
|* kernel, to compute with, or to compare a code generator with.
|*
\*===----------------------------------------------------------------------===*/
#ifndef LTC_REAL_OPS_H
#define LTC_REAL_OPS_H

#include "mlir_text.h"

#include <math.h>

#ifdef __cplusplus
extern "C" {
#endif

/* OP(dialect, name, expression). Truth is 1 or 0; a user of cmpf has the
   attribute `predicate`. */
#define LTC_REAL_OPS(OP)                                                       \
  OP(arith, addf, x + y)                                                       \
  OP(arith, subf, x - y)                                                       \
  OP(arith, mulf, x *y)                                                        \
  OP(arith, divf, x / y)                                                       \
  OP(arith, remf, fmod(x, y))                                                  \
  OP(arith, negf, -x)                                                          \
  OP(arith, maximumf, x != x || x > y ? x : y)                                 \
  OP(arith, minimumf, x != x || x < y ? x : y)                                 \
  OP(arith, maxnumf, fmax(x, y))                                               \
  OP(arith, minnumf, fmin(x, y))                                               \
  OP(arith, cmpf, ltc_compare_reals(predicate, x, y))                          \
  OP(arith, select, x != 0 ? y : z)                                            \
  OP(arith, extf, x)                                                           \
  OP(arith, truncf, (float)x)                                                  \
  OP(arith, sitofp, x)                                                         \
  OP(math, absf, fabs(x))                                                      \
  OP(math, copysign, copysign(x, y))                                           \
  OP(math, fma, fma(x, y, z))                                                  \
  OP(math, sqrt, sqrt(x))                                                      \
  OP(math, rsqrt, 1 / sqrt(x))                                                 \
  OP(math, exp, exp(x))                                                        \
  OP(math, exp2, exp2(x))                                                      \
  OP(math, expm1, expm1(x))                                                    \
  OP(math, log, log(x))                                                        \
  OP(math, log2, log2(x))                                                      \
  OP(math, log10, log10(x))                                                    \
  OP(math, log1p, log1p(x))                                                    \
  OP(math, powf, pow(x, y))                                                    \
  OP(math, sin, sin(x))                                                        \
  OP(math, cos, cos(x))                                                        \
  OP(math, tan, tan(x))                                                        \
  OP(math, sinh, sinh(x))                                                      \
  OP(math, cosh, cosh(x))                                                      \
  OP(math, tanh, tanh(x))                                                      \
  OP(math, asin, asin(x))                                                      \
  OP(math, acos, acos(x))                                                      \
  OP(math, atan, atan(x))                                                      \
  OP(math, atan2, atan2(x, y))                                                 \
  OP(math, erf, erf(x))                                                        \
  OP(math, floor, floor(x))                                                    \
  OP(math, ceil, ceil(x))                                                      \
  OP(math, trunc, trunc(x))                                                    \
  OP(math, round, round(x))                                                    \
  OP(math, roundeven, nearbyint(x))

/* Predicates of arith.cmpf: bits 1, 2 and 4 are for equal, greater and less.
   Those from 8 on are also true of a NaN; they come in the order of 1 to 6. */
static inline int ltc_compare_reals(int64_t predicate, double x, double y) {
  int64_t relation = x == y  ? 1
                     : x > y ? 2
                     : x < y ? 4
                             : 8,
          true_of = predicate;
  if (predicate == 14)
    true_of = 8;
  else if (predicate >= 8 && predicate < 14)
    true_of = predicate + 1;
  return (true_of & relation) != 0;
}

/* A number as an attribute has it: "1.0 : f32", "4 : i64", "true", or the bits
   of a real, "0xFF800000 : f32". NaN of what cannot be read. */
static inline double ltc_read_real(ltc_chars text) {
  char number[32] = "", *end;
  size_t size = 0;
  for (; text.begin + size < text.end && text.begin[size] != ' '; ++size)
    if (size + 1 == sizeof(number))
      return NAN;
    else
      number[size] = text.begin[size];
  if (strcmp(number, "true") == 0 || strcmp(number, "false") == 0)
    return number[0] == 't';
  if (number[0] != '0' || number[1] != 'x') {
    double real = strtod(number, &end);
    return size && !*end ? real : NAN;
  }
  uint64_t bits = strtoull(number, NULL, 16);
  double wide;
  memcpy(&wide, &bits, sizeof(wide));
  if (text.end - text.begin > 4 && memcmp(text.end - 3, "f32", 3) == 0) {
    uint32_t half = (uint32_t)bits;
    float narrow;
    memcpy(&narrow, &half, sizeof(narrow));
    wide = narrow;
  }
  return wide;
}

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* LTC_REAL_OPS_H */
