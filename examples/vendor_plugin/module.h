/*===- module.h - The part of MLIR that the board reads -----------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* A module in MLIR's generic form, where every op is written alike:
|*   %1:2 = "name"(%0, %arg3) <{attributes}> ({ ^bb0(...): ops }) : types
|*
\*===----------------------------------------------------------------------===*/
#ifndef MODULE_H
#define MODULE_H

#include <stddef.h>
#include <stdint.h>

enum { MOST_RANK = 8, MOST_OPERANDS = 128 };

typedef struct type {
  enum { F32, F64, I64, I32, I8, I1, INDEX } element;
  int is_tensor, rank;
  int64_t sizes[MOST_RANK];
} type;

typedef struct value {
  char name[24];
  type type;
  double real; /* of a scalar, by its type */
  int64_t integer;
  char *data; /* of a tensor */
} value;

typedef struct op {
  int what; /* a number in the table of compute.c */
  int operands[MOST_OPERANDS], results[MOST_OPERANDS], arguments[MOST_OPERANDS];
  int operand_count, result_count, argument_count;
  const char *attributes, *attributes_end;
  struct op *body, *next;
} op;

/* The text stays as long as the module. */
typedef struct module {
  value *values;
  int count;
  op *main;
} module;

/* NULL if it has what the board cannot do. */
module *module_read(const char *text, size_t size);
void module_free(module *read);
/* Where `name = ` ends in an op's attributes, or NULL. */
const char *attribute(const op *o, const char *name);

/* compute.c */
int op_number(const char *name, size_t size); /* 0: none of the board's */
int op_is_right(const module *m, const op *o);
/* `words` as those of a library call: @main's arguments, then its results. */
void module_run(const module *m, const int64_t *words);

#endif
