/*===- program.c - Kernels for the conformance suite ------------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* By hand what the compiler makes: see ltc_kernel_code in ltc/program.h.
|*
\*===----------------------------------------------------------------------===*/
#include <math.h>
#include <stdint.h>

void ltc_index_error(int64_t site, int64_t index, int64_t size);

typedef union {
  void *address;
  int64_t integer;
  double real;
} Word;

/* from, to, factor */
void scale(int64_t begin, int64_t end, const Word *words) {
  const float *from = words[0].address;
  float *to = words[1].address;
  for (int64_t i = begin; i < end; ++i)
    to[i] = (float)(words[2].real * from[i]);
}

/* values, count, up: adds the count, or takes it away. */
void step(int64_t begin, int64_t end, const Word *words) {
  float *values = words[0].address;
  int64_t count = words[2].integer ? words[1].integer : -words[1].integer;
  for (int64_t i = begin; i < end; ++i)
    values[i] += (float)count;
}

/* from, which is aligned to 64 bytes, to */
void exponential(int64_t begin, int64_t end, const Word *words) {
  const float *from = words[0].address;
  float *to = words[1].address;
  if (words[0].integer % 64)
    return;
  for (int64_t i = begin; i < end; ++i)
    to[i] = expf(from[i]);
}

/* from, indices, to, size: checks every index on its thread. */
void gather(int64_t begin, int64_t end, const Word *words) {
  const float *from = words[0].address;
  const int64_t *indices = words[1].address;
  float *to = words[2].address;
  for (int64_t i = begin; i < end; ++i) {
    int64_t index = indices[i];
    if (index < 0 || index >= words[3].integer) {
      ltc_index_error(1, index, words[3].integer);
      index = 0;
    }
    to[i] = from[index];
  }
}

/* to, symbols: fills with the second one. */
void fillWithSymbol(int64_t begin, int64_t end, const Word *words) {
  float *to = words[0].address;
  const int64_t *symbols = words[1].address;
  for (int64_t i = begin; i < end; ++i)
    to[i] = (float)symbols[1];
}
