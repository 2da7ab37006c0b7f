/*===- program.h - The fake's compiler and its code -------------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
#ifndef FAKE_PJRT_PROGRAM_H
#define FAKE_PJRT_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

enum { MAX_RANK = 8, MAX_OPERANDS = 4, S64 = 5, F32 = 11, F64 = 12 };

typedef struct shape {
  int type; /* PJRT_Buffer_Type */
  int rank;
  int64_t dims[MAX_RANK];
} shape;

/* 0 for a type that there is not. */
size_t shape_bytes(const shape *of);

typedef struct program program;

/* NULL for what it does not take; `why` says what, and `is_known` whether it is
   StableHLO at all. */
program *program_compile(const char *text, size_t size, char *why,
                         size_t capacity, int *is_known);
void program_free(program *one);

int program_inputs(const program *one);
int program_results(const program *one);
const shape *program_result(const program *one, int number);
/* Writes all results, which have memory. */
void program_run(const program *one, void *const *inputs, void *const *results);

#endif
