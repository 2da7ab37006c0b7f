/*===- compute.c - What the board computes ------------------------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* What the board computes: an interpreter in the place of a vendor's compiler.
|*
\*===----------------------------------------------------------------------===*/
#include "module.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* First those on scalars, by what they are given. */
enum {
  NONE,
  FUNC,
  RETURN,
  YIELD,
  CONSTANT,
  EMPTY,
  RESHAPE,
  FILL,
  TRANSPOSE,
  MATMUL,
  GENERIC,
  INDEX_OF,
  SELECT,
  CMPF,
  CMPI,
  ADDF,
  SUBF,
  MULF,
  DIVF,
  MAXF,
  MINF,
  NEGF,
  ABSF,
  EXP,
  LOG,
  SQRT,
  TANH,
  CASTF,
  TO_FLOAT,
  ADDI,
  SUBI,
  MULI,
  ANDI,
  XORI,
  SHRUI,
  CASTI,
  ZERO_EXTEND
};

static const struct {
  const char *name;
  int what;
} ops[] = {{"func.func", FUNC},         {"func.return", RETURN},
           {"linalg.yield", YIELD},     {"arith.constant", CONSTANT},
           {"tensor.empty", EMPTY},     {"tensor.collapse_shape", RESHAPE},
           {"linalg.fill", FILL},       {"tensor.expand_shape", RESHAPE},
           {"linalg.matmul", MATMUL},   {"linalg.transpose", TRANSPOSE},
           {"linalg.generic", GENERIC}, {"linalg.index", INDEX_OF},
           {"arith.select", SELECT},    {"arith.cmpf", CMPF},
           {"arith.cmpi", CMPI},        {"arith.addf", ADDF},
           {"arith.subf", SUBF},        {"arith.mulf", MULF},
           {"arith.divf", DIVF},        {"arith.maximumf", MAXF},
           {"arith.minimumf", MINF},    {"arith.negf", NEGF},
           {"math.absf", ABSF},         {"math.exp", EXP},
           {"math.log", LOG},           {"math.sqrt", SQRT},
           {"math.tanh", TANH},         {"arith.extf", CASTF},
           {"arith.truncf", CASTF},     {"arith.sitofp", TO_FLOAT},
           {"arith.addi", ADDI},        {"arith.subi", SUBI},
           {"arith.muli", MULI},        {"arith.andi", ANDI},
           {"arith.xori", XORI},        {"arith.shrui", SHRUI},
           {"arith.index_cast", CASTI}, {"arith.trunci", CASTI},
           {"arith.extsi", CASTI},      {"arith.extui", ZERO_EXTEND}};

int op_number(const char *name, size_t size) {
  for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); ++i)
    if (strlen(ops[i].name) == size && memcmp(ops[i].name, name, size) == 0)
      return ops[i].what;
  return NONE;
}

static int bytes_of(type t) {
  static const int all[] = {4, 8, 8, 4, 1, 1, 8};
  return all[t.element];
}

static int64_t count_of(type t) {
  int64_t count = 1;
  for (int d = 0; d < t.rank; ++d)
    count *= t.sizes[d];
  return count;
}

static void load(value *to, const value *tensor, int64_t at) {
  const char *place = tensor->data + at * bytes_of(tensor->type);
  switch (tensor->type.element) {
  case F32:
    to->real = *(const float *)place;
    break;
  case F64:
    to->real = *(const double *)place;
    break;
  case I32:
    to->integer = *(const int32_t *)place;
    break;
  case I8:
  case I1:
    to->integer = *(const int8_t *)place;
    break;
  default:
    to->integer = *(const int64_t *)place;
  }
}

static void store(const value *from, value *tensor, int64_t at) {
  char *place = tensor->data + at * bytes_of(tensor->type);
  switch (tensor->type.element) {
  case F32:
    *(float *)place = (float)from->real;
    break;
  case F64:
    *(double *)place = from->real;
    break;
  case I32:
    *(int32_t *)place = (int32_t)from->integer;
    break;
  case I8:
  case I1:
    *(int8_t *)place = (int8_t)from->integer;
    break;
  default:
    *(int64_t *)place = from->integer;
  }
}

/* A map of projections: for each dimension of a tensor the loop's, or -1 where
   it is 0. Returns behind it, or NULL if it is none. */
typedef struct map {
  int rank, loops, dim[MOST_RANK];
} map;
static const char *read_map(const char *text, map *made) {
  static const char begin[] = "affine_map<(";
  if (strncmp(text, begin, sizeof(begin) - 1) != 0)
    return NULL;
  *made = (map){0};
  for (text += sizeof(begin) - 1; *text != ')'; ++text)
    made->loops += *text == 'd';
  for (text += strlen(") -> ("); *text != ')';) {
    char *end = (char *)text + 1;
    int is_loop = *text == 'd';
    if ((!is_loop && *text != '0') || made->rank == MOST_RANK)
      return NULL;
    made->dim[made->rank++] = is_loop ? (int)strtol(text + 1, &end, 10) : -1;
    text = end + (strncmp(end, ", ", 2) == 0 ? 2 : 0);
    if (*text != ')' && *text != 'd' && *text != '0')
      return NULL;
  }
  return text + 2;
}

static int read_maps(const op *o, map *maps) {
  const char *at = attribute(o, "indexing_maps");
  for (int i = 0; at && i < o->operand_count; ++i) {
    at = read_map(at + (i ? 2 : 1), &maps[i]);
    if (at && maps[i].loops > MOST_RANK)
      return 0;
  }
  return at != NULL;
}

int op_is_right(const module *m, const op *o) {
  map maps[MOST_OPERANDS];
  const char *number = attribute(o, "value");
  for (int i = 0; i < o->operand_count && o->what == GENERIC; ++i)
    if (!m->values[o->operands[i]].type.is_tensor)
      return 0;
  switch (o->what) {
  case NONE:
    return 0;
  case GENERIC:
    return read_maps(o, maps);
  case MATMUL:
    for (int i = 0; i < 3; ++i)
      if (m->values[o->operands[i]].type.element != F32)
        return 0;
    return 1;
  case CONSTANT:
    return number && strncmp(number, "dense<[", 7) != 0 &&
           strncmp(number, "dense<\"", 7) != 0;
  default:
    return 1;
  }
}

/* A constant, also all elements of a tensor: "dense<1.0> : tensor<4xf32>". */
static void constant(const op *o, value *to) {
  const char *text = attribute(o, "value");
  text += strncmp(text, "dense<", 6) == 0 ? 6 : 0;
  int is_float = to->type.element <= F64;
  if (is_float && strncmp(text, "0x", 2) == 0) { /* the bits: inf, NaN */
    uint64_t bits = strtoull(text, NULL, 16);
    uint32_t half = (uint32_t)bits;
    float narrow;
    memcpy(&narrow, &half, 4);
    memcpy(&to->real, &bits, 8);
    if (to->type.element == F32)
      to->real = narrow;
  } else if (is_float) {
    to->real = strtod(text, NULL);
  } else {
    to->integer = strncmp(text, "true", 4) == 0 ? -1 : strtoll(text, NULL, 10);
  }
}

static int compare(const op *o, const value *a, const value *b) {
  int64_t p = strtoll(attribute(o, "predicate"), NULL, 10);
  if (o->what == CMPF) { /* 1 to 6 are false of NaN, 8 to 13 true */
    int unordered = a->real != a->real || b->real != b->real;
    int bits = a->real > b->real ? 2 : a->real < b->real ? 4 : 1;
    return p == 7 ? !unordered : unordered ? p >= 8 : (p & bits) != 0;
  }
  uint64_t x = (uint64_t)a->integer, y = (uint64_t)b->integer;
  int less = p < 6 ? a->integer < b->integer : x < y, same = x == y;
  switch (p) {
  case 0:
    return same;
  case 1:
    return !same;
  case 2:
  case 6:
    return less;
  case 3:
  case 7:
    return less || same;
  case 4:
  case 8:
    return !less && !same;
  default:
    return !less;
  }
}

static void scalar(value *values, const op *o, const int64_t *loops) {
  value *to = &values[o->results[0]];
  const value *a = o->operand_count ? &values[o->operands[0]] : to;
  const value *b = o->operand_count > 1 ? &values[o->operands[1]] : a;
  double x = a->real, y = b->real;
  uint64_t i = (uint64_t)a->integer, j = (uint64_t)b->integer, n = 0;
  switch (o->what) {
  case CONSTANT:
    constant(o, to);
    return;
  case INDEX_OF:
    n = (uint64_t)loops[atoi(attribute(o, "dim"))];
    break;
  case SELECT: {
    const value *chosen = &values[o->operands[a->integer ? 1 : 2]];
    to->real = chosen->real;
    to->integer = chosen->integer;
    return;
  }
  case CMPF:
  case CMPI:
    n = compare(o, a, b) ? UINT64_MAX : 0;
    break;
  case ADDF:
    to->real = x + y;
    break;
  case SUBF:
    to->real = x - y;
    break;
  case MULF:
    to->real = x * y;
    break;
  case DIVF:
    to->real = x / y;
    break;
  case MAXF:
    to->real = x != x ? x : y != y ? y : x > y ? x : y;
    break;
  case MINF:
    to->real = x != x ? x : y != y ? y : x < y ? x : y;
    break;
  case NEGF:
    to->real = -x;
    break;
  case ABSF:
    to->real = fabs(x);
    break;
  case EXP:
    to->real = exp(x);
    break;
  case LOG:
    to->real = log(x);
    break;
  case SQRT:
    to->real = sqrt(x);
    break;
  case TANH:
    to->real = tanh(x);
    break;
  case CASTF:
    to->real = x;
    break;
  case TO_FLOAT:
    to->real = (double)a->integer;
    break;
  case ADDI:
    n = i + j;
    break;
  case SUBI:
    n = i - j;
    break;
  case MULI:
    n = i * j;
    break;
  case ANDI:
    n = i & j;
    break;
  case XORI:
    n = i ^ j;
    break;
  case SHRUI:
    n = a->type.element == I32 ? (uint32_t)i >> j : i >> j;
    break;
  case CASTI:
    n = i;
    break;
  case ZERO_EXTEND:
    n = a->type.element == I1   ? i & 1
        : a->type.element == I8 ? i & 255
                                : (uint32_t)i;
    break;
  }
  int e = to->type.element; /* integers are kept with their sign extended */
  to->integer = e == I32  ? (int32_t)n
                : e == I8 ? (int8_t)n
                : e == I1 ? -(int64_t)(n & 1)
                          : (int64_t)n;
  if (e == F32)
    to->real = (float)to->real;
}

static void generic(value *values, const op *o) {
  map maps[MOST_OPERANDS];
  int64_t sizes[MOST_RANK] = {0}, at[MOST_RANK] = {0}, total = 1;
  int inputs = o->operand_count - o->result_count;
  read_maps(o, maps);
  for (int i = 0; i < o->operand_count; ++i)
    for (int d = 0; d < maps[i].rank; ++d)
      if (maps[i].dim[d] >= 0)
        sizes[maps[i].dim[d]] = values[o->operands[i]].type.sizes[d];
  for (int l = 0; l < maps[0].loops; ++l)
    total *= sizes[l];
  for (int64_t n = 0; n < total; ++n) {
    int64_t place[MOST_OPERANDS];
    for (int64_t l = maps[0].loops, rest = n; l-- > 0; rest /= sizes[l])
      at[l] = rest % sizes[l];
    for (int i = 0; i < o->operand_count; ++i) {
      const value *tensor =
          &values[i < inputs ? o->operands[i] : o->results[i - inputs]];
      place[i] = 0;
      for (int d = 0; d < maps[i].rank; ++d)
        place[i] = place[i] * tensor->type.sizes[d] +
                   (maps[i].dim[d] < 0 ? 0 : at[maps[i].dim[d]]);
      load(&values[o->arguments[i]], tensor, place[i]);
    }
    for (const op *each = o->body; each; each = each->next)
      if (each->what != YIELD)
        scalar(values, each, at);
      else
        for (int i = 0; i < o->result_count; ++i)
          store(&values[each->operands[i]], &values[o->results[i]],
                place[inputs + i]);
  }
}

static void matmul(const value *a, const value *b, value *c) {
  const float *x = (const float *)a->data, *y = (const float *)b->data;
  float *z = (float *)c->data;
  int64_t rows = c->type.sizes[0], columns = c->type.sizes[1];
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < a->type.sizes[1]; ++k)
      for (int64_t j = 0; j < columns; ++j)
        z[i * columns + j] += x[i * a->type.sizes[1] + k] * y[k * columns + j];
}

static void transpose(const op *o, const value *from, value *to) {
  int order[MOST_RANK];
  const char *at = strchr(attribute(o, "permutation"), ':');
  int64_t size = bytes_of(to->type);
  for (int d = 0; d < to->type.rank; ++d)
    order[d] = (int)strtol(at + 1, (char **)&at, 10);
  for (int64_t n = 0, all = count_of(to->type); n < all; ++n) {
    int64_t index[MOST_RANK] = {0}, place = 0, rest = n;
    for (int d = to->type.rank; d-- > 0; rest /= to->type.sizes[d])
      index[order[d]] = rest % to->type.sizes[d];
    for (int d = 0; d < to->type.rank; ++d)
      place = place * from->type.sizes[d] + index[d];
    memcpy(to->data + n * size, from->data + place * size, (size_t)size);
  }
}

/* An op of @main: tensors that it makes have memory of their own. */
static void perform(value *values, const op *o) {
  value *first = &values[o->results[0]];
  const value *from = &values[o->operands[0]];
  if (!o->result_count || !first->type.is_tensor) {
    if (o->result_count)
      scalar(values, o, NULL);
    return;
  }
  for (int i = 0; i < o->result_count; ++i) {
    value *to = &values[o->results[i]];
    size_t bytes = (size_t)(count_of(to->type) * bytes_of(to->type));
    to->data = calloc(bytes + 1, 1);
    if (o->what == GENERIC || o->what == MATMUL) {
      int out = o->operand_count - o->result_count + i;
      memcpy(to->data, values[o->operands[out]].data, bytes);
    } else if (o->what == RESHAPE) {
      memcpy(to->data, from->data, bytes);
    }
  }
  if (o->what == CONSTANT)
    constant(o, first);
  if (o->what == GENERIC)
    generic(values, o);
  else if (o->what == MATMUL)
    matmul(from, &values[o->operands[1]], first);
  else if (o->what == TRANSPOSE)
    transpose(o, from, first);
  else if (o->what == FILL || o->what == CONSTANT)
    for (int64_t n = 0, all = count_of(first->type); n < all; ++n)
      store(o->what == FILL ? from : first, first, n);
}

void module_run(const module *m, const int64_t *words) {
  const op *f = m->main, *last = f->body;
  size_t size = (size_t)m->count * sizeof(value);
  value *values = malloc(size + 1);
  memcpy(values, m->values, size);
  for (int i = 0; i < f->argument_count; ++i) {
    value *to = &values[f->arguments[i]];
    if (to->type.is_tensor) {
      to->data = (char *)(uintptr_t)words[0];
      words += 2 * to->type.rank;
    } else {
      memcpy(&to->real, words, 8);
      to->integer = *words;
    }
    ++words;
  }
  for (; last->next; last = last->next)
    perform(values, last);
  for (int i = 0; i < last->operand_count; ++i) {
    const value *from = &values[last->operands[i]];
    if (count_of(from->type))
      memcpy((void *)(uintptr_t)words[0], from->data,
             (size_t)(count_of(from->type) * bytes_of(from->type)));
    words += 1 + 2 * from->type.rank;
  }
  for (const op *o = f->body; o != last; o = o->next)
    for (int i = 0; i < o->result_count; ++i)
      free(values[o->results[i]].data);
  free(values);
}
