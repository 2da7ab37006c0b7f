/*===- program.c - Entry points for the conformance suite -------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* By hand what the compiler makes: see the end of ltc/artifact.h.
|*
\*===----------------------------------------------------------------------===*/
#include <math.h>
#include <stdint.h>
#include <string.h>

void ltc_parallel_for(void *context, int64_t n, int64_t grain,
                      void (*body)(int64_t, int64_t, void *), void *argument);
void ltc_kernel_call(void *context, int64_t call, int64_t *words);
void ltc_index_error(int64_t site, int64_t index, int64_t bound);

typedef struct {
  float *allocated, *aligned;
  int64_t offset, size, stride;
} Row; /* memref<?xf32> */

typedef struct {
  float *allocated, *aligned;
  int64_t offset, sizes[2], strides[2];
} Matrix; /* memref<?x?xf32> */

typedef struct {
  int64_t *allocated, *aligned;
  int64_t offset, size, stride;
} Indices; /* memref<?xi64> */

typedef struct {
  char *allocated, *aligned;
  int64_t offset, size, stride;
} Arena; /* memref<?xi8> */

typedef struct {
  const float *from;
  float *to;
  double factor;
} Scale;

static void scaleBody(int64_t begin, int64_t end, void *argument) {
  Scale *scale = argument;
  for (int64_t i = begin; i < end; ++i)
    scale->to[i] = (float)(scale->factor * scale->from[i]);
}

/* (x: f32[n], factor: scalar f64) -> f32[n], in pieces of 100. */
void scale(void **arguments) {
  Row *x = arguments[0], *y = arguments[2];
  void *context = *(void **)arguments[4];
  Scale scale = {x->aligned, y->aligned, *(double *)arguments[1]};
  ltc_parallel_for(context, x->size, 100, scaleBody, &scale);
}

/* (x: f32[n], count: scalar i64, up: scalar bool) -> f32[n], donates x. */
void step(void **arguments) {
  Row *x = arguments[0];
  int64_t count = *(int64_t *)arguments[1];
  if (!*(unsigned char *)arguments[2])
    count = -count;
  for (int64_t i = 0; i < x->size; ++i)
    x->aligned[i] += (float)count;
}

/* (x: f32[n, m]) -> f32[n, m]: exp of x, by way of the arena. */
void viaArena(void **arguments) {
  Matrix *x = arguments[0], *y = arguments[1];
  Arena *arena = arguments[2];
  float *scratch = (float *)arena->aligned;
  int64_t count = x->sizes[0] * x->strides[0];
  if (arena->size < count * 4 || (uintptr_t)scratch % 64)
    return;
  memcpy(scratch, x->aligned, (size_t)count * sizeof(float));
  for (int64_t i = 0; i < count; ++i)
    y->aligned[i] = expf(scratch[i]);
}

/* (x: f32[n, m], a: scalar f64) -> f32[m, n]: a * x^T + 3, by call 0. */
void call(void **arguments) {
  Matrix *x = arguments[0], *y = arguments[2];
  void *context = *(void **)arguments[4];
  double a = *(double *)arguments[1];
  int64_t words[12] = {(int64_t)x->aligned,
                       x->sizes[1],
                       x->sizes[0],
                       x->strides[1],
                       x->strides[0],
                       0,
                       3,
                       (int64_t)y->aligned,
                       y->sizes[0],
                       y->sizes[1],
                       y->strides[0],
                       y->strides[1]};
  memcpy(&words[5], &a, sizeof(a));
  ltc_kernel_call(context, 0, words);
}

typedef struct {
  const int64_t *indices;
  const float *from;
  float *to;
  int64_t bound;
} Gather;

static void gatherBody(int64_t begin, int64_t end, void *argument) {
  Gather *gather = argument;
  for (int64_t i = begin; i < end; ++i) {
    int64_t index = gather->indices[i];
    if (index < 0 || index >= gather->bound) {
      ltc_index_error(1, index, gather->bound);
      index = 0;
    }
    gather->to[i] = gather->from[index];
  }
}

/* (x: f32[n], i: i64[m]) -> f32[m], checking every index on its thread. */
void gather(void **arguments) {
  Row *x = arguments[0], *y = arguments[2];
  Indices *i = arguments[1];
  void *context = *(void **)arguments[4];
  Gather gather = {i->aligned, x->aligned, y->aligned, x->size};
  ltc_parallel_for(context, i->size, 1, gatherBody, &gather);
}

/* Symbols s0 and s1: () -> f32[s0], which holds s1 everywhere. */
void fillWithSymbol(void **arguments) {
  Row *y = arguments[0];
  const int64_t *symbols = arguments[2];
  for (int64_t i = 0; i < y->size; ++i)
    y->aligned[i] = (float)symbols[1];
}
