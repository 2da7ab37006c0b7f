/*===- program.c - The fake's compiler and its code -------------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* StableHLO in the generic form, a line an op: sums, products and the like of
|* f32, f64 and i64. What else there is is refused by name.
|*
\*===----------------------------------------------------------------------===*/
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VALUES = 512 };

typedef enum kind {
  ADD,
  SUBTRACT,
  MULTIPLY,
  CONVERT,
  CONSTANT,
  BROADCAST,
  PRODUCT
} kind;

static const struct {
  const char *name;
  kind kind;
  int operands;
} known_ops[] = {{"stablehlo.add", ADD, 2},
                 {"stablehlo.subtract", SUBTRACT, 2},
                 {"stablehlo.multiply", MULTIPLY, 2},
                 {"stablehlo.convert", CONVERT, 1},
                 {"stablehlo.constant", CONSTANT, 0},
                 {"stablehlo.broadcast_in_dim", BROADCAST, 1},
                 {"stablehlo.dot_general", PRODUCT, 2}};

typedef struct value {
  char name[16];
  shape shape;
  kind kind; /* not of inputs */
  int operands[MAX_OPERANDS];
  double constant;
  int64_t dims[MAX_RANK]; /* of a broadcast */
} value;

struct program {
  int inputs, values, results;
  value all[MAX_VALUES]; /* inputs first */
  int result[MAX_VALUES];
};

typedef struct reader {
  program *made;
  const char *at;
  char *why;
  size_t capacity;
} reader;

static size_t width(int type) {
  static const unsigned char widths[] = {0, 1, 1, 2, 4, 8, 1, 2,
                                         4, 8, 2, 4, 8, 2, 8, 16};
  return type > 0 && type < (int)sizeof(widths) ? widths[type] : 0;
}

static int64_t elements(const shape *of) {
  int64_t all = 1;
  for (int d = 0; d < of->rank; ++d)
    all *= of->dims[d];
  return all;
}

size_t shape_bytes(const shape *of) {
  return width(of->type) * (size_t)elements(of);
}

static int take(reader *r, const char *text) {
  size_t size = strlen(text);
  if (strncmp(r->at, text, size) != 0)
    return 0;
  r->at += size;
  return 1;
}

/* Behind the next `text` of this line. */
static int find(reader *r, const char *text) {
  const char *found = strstr(r->at, text), *end = strchr(r->at, '\n');
  if (!found || (end && found > end))
    return 0;
  r->at = found + strlen(text);
  return 1;
}

static int next_line(reader *r) {
  r->at += strcspn(r->at, "\n");
  if (!*r->at)
    return 0;
  r->at += 1 + strspn(r->at + 1, " ");
  return 1;
}

static int refuse(reader *r, const char *what, const char *name) {
  snprintf(r->why, r->capacity, "the fake has no %s%s", what, name);
  return 0;
}

/* "tensor<2x3xf32>" */
static int read_type(reader *r, shape *to) {
  memset(to, 0, sizeof(*to));
  if (!take(r, "tensor<"))
    return refuse(r, "such type", "");
  while (*r->at >= '0' && *r->at <= '9') {
    if (to->rank == MAX_RANK)
      return refuse(r, "tensors of so many dimensions", "");
    to->dims[to->rank++] = strtoll(r->at, (char **)&r->at, 10);
    if (!take(r, "x"))
      return refuse(r, "such sizes", "");
  }
  to->type = take(r, "f32>")   ? F32
             : take(r, "f64>") ? F64
             : take(r, "i64>") ? S64
                               : 0;
  return to->type ? 1 : refuse(r, "elements but f32, f64 and i64", "");
}

/* "%arg0" or "%12" */
static int read_name(reader *r, char *name) {
  size_t size = strcspn(r->at + 1, " ,):\n") + 1;
  if (*r->at != '%' || size >= sizeof(((value *)0)->name))
    return refuse(r, "such name", "");
  memcpy(name, r->at, size);
  name[size] = 0;
  r->at += size;
  return 1;
}

static value *add_value(reader *r) {
  if (r->made->values == MAX_VALUES) {
    refuse(r, "place for so many values", "");
    return NULL;
  }
  return &r->made->all[r->made->values++];
}

static int read_operand(reader *r, int *number) {
  char name[16];
  if (!read_name(r, name))
    return 0;
  for (int v = 0; v < r->made->values; ++v)
    if (strcmp(r->made->all[v].name, name) == 0) {
      *number = v;
      return 1;
    }
  return refuse(r, "value ", name);
}

/* "^bb0(%arg0: tensor<f32>, ...):", which a function without inputs lacks. */
static int read_inputs(reader *r) {
  if (!take(r, "^bb0("))
    return 1;
  do {
    value *input = add_value(r);
    if (!input || !read_name(r, input->name) || !take(r, ": ") ||
        !read_type(r, &input->shape))
      return 0;
  } while (take(r, ", "));
  r->made->inputs = r->made->values;
  return next_line(r);
}

static int read_attributes(reader *r, value *op) {
  if (op->kind == CONSTANT) {
    if (!find(r, "dense<"))
      return refuse(r, "such constant", "");
    char *end;
    op->constant = strtod(r->at, &end);
    return (end != r->at && *end == '>') || refuse(r, "such constant", "");
  }
  if (op->kind == BROADCAST) {
    if (!find(r, "broadcast_dimensions = array<i64"))
      return refuse(r, "such broadcast", "");
    for (int d = 0; take(r, ": ") || take(r, ", "); ++d)
      op->dims[d] = strtoll(r->at, (char **)&r->at, 10);
  }
  if (op->kind == PRODUCT)
    return find(r, "lhs_batching_dimensions = [], rhs_batching_dimensions = "
                   "[], lhs_contracting_dimensions = [1], "
                   "rhs_contracting_dimensions = [0]>") ||
           refuse(r, "such product", "");
  return 1;
}

/* The environment names one more op that is refused, and how many are. */
static int is_refused(const char *name) {
  const char *refused = getenv("FAKE_PJRT_REFUSES");
  return refused && strcmp(refused, name) == 0;
}

/* %0 = "stablehlo.add"(%arg0, %arg1) {...} : (...) -> tensor<...> */
static int read_op(reader *r) {
  char result[16], name[64] = "";
  if (!read_name(r, result) || !take(r, " = \""))
    return refuse(r, "op with several results", "");
  size_t size = strcspn(r->at, "\"");
  if (size < sizeof(name))
    memcpy(name, r->at, size);
  r->at += size + 1;
  size_t op = 0, count = sizeof(known_ops) / sizeof(known_ops[0]);
  while (op < count && strcmp(known_ops[op].name, name) != 0)
    ++op;
  const char *most = getenv("FAKE_PJRT_MOST_OPS");
  if (most && r->made->values - r->made->inputs >= atoi(most))
    return refuse(r, "place for so many ops", "");
  if (op == count || is_refused(name) || !take(r, "("))
    return refuse(r, "", name);
  int operands[MAX_OPERANDS] = {0}, n = 0;
  while (!take(r, ")") && n < known_ops[op].operands)
    if ((n > 0 && !take(r, ", ")) || !read_operand(r, &operands[n++]))
      return refuse(r, "such ", name);
  value *made = add_value(r);
  if (!made)
    return 0;
  strcpy(made->name, result);
  made->kind = known_ops[op].kind;
  memcpy(made->operands, operands, sizeof(operands));
  return read_attributes(r, made) && find(r, " -> ") &&
         read_type(r, &made->shape);
}

static int read_results(reader *r) {
  do {
    if (!read_operand(r, &r->made->result[r->made->results]))
      return 0;
    ++r->made->results;
  } while (take(r, ", "));
  return 1;
}

static int read_main(reader *r) {
  while (!find(r, "sym_name = \"main\""))
    if (!next_line(r))
      return refuse(r, "use for a module without a main", "");
  if (!next_line(r) || !read_inputs(r))
    return 0;
  do {
    if (take(r, "\"func.return\"("))
      return read_results(r);
    if (!read_op(r))
      return 0;
  } while (next_line(r));
  return refuse(r, "use for a main without a return", "");
}

program *program_compile(const char *text, size_t size, char *why,
                         size_t capacity, int *is_known) {
  char *copy = malloc(size + 1);
  memcpy(copy, text, size);
  copy[size] = 0;
  *is_known = strstr(copy, "\"func.return\"") != NULL;
  reader r = {calloc(1, sizeof(program)), copy, why, capacity};
  int is_read = read_main(&r);
  free(copy);
  if (is_read)
    return r.made;
  free(r.made);
  return NULL;
}

void program_free(program *one) { free(one); }
int program_inputs(const program *one) { return one->inputs; }
int program_results(const program *one) { return one->results; }
const shape *program_result(const program *one, int number) {
  return &one->all[one->result[number]].shape;
}

/* Values are doubles between ops, rounded as their type is. */
static double rounded(const shape *of, double number) {
  return of->type == F32 ? (double)(float)number : number;
}

static double product(const value *op, const value *left, double *const *of,
                      int64_t place) {
  int64_t columns = op->shape.dims[1], inner = left->shape.dims[1];
  int64_t row = place / columns, column = place % columns;
  double sum = 0;
  for (int64_t k = 0; k < inner; ++k)
    sum += of[op->operands[0]][row * inner + k] *
           of[op->operands[1]][k * columns + column];
  return sum;
}

static double spread(const value *op, const value *from, double *const *of,
                     int64_t place) {
  int64_t index[MAX_RANK], found = 0;
  for (int d = op->shape.rank; d-- > 0; place /= op->shape.dims[d])
    index[d] = place % op->shape.dims[d];
  for (int d = 0; d < from->shape.rank; ++d)
    found = found * from->shape.dims[d] +
            (from->shape.dims[d] == 1 ? 0 : index[op->dims[d]]);
  return of[op->operands[0]][found];
}

static double element(const program *one, const value *op, double *const *of,
                      int64_t place) {
  const value *first = &one->all[op->operands[0]];
  double *a = of[op->operands[0]], *b = of[op->operands[1]];
  switch (op->kind) {
  case ADD:
    return a[place] + b[place];
  case SUBTRACT:
    return a[place] - b[place];
  case MULTIPLY:
    return a[place] * b[place];
  case CONVERT:
    return a[place];
  case CONSTANT:
    return op->constant;
  case BROADCAST:
    return spread(op, first, of, place);
  case PRODUCT:
    return product(op, first, of, place);
  }
  return 0;
}

static double load(const void *from, int type, int64_t place) {
  return type == F32   ? (double)((const float *)from)[place]
         : type == F64 ? ((const double *)from)[place]
                       : (double)((const int64_t *)from)[place];
}

static void store(void *to, int type, int64_t place, double number) {
  if (type == F32)
    ((float *)to)[place] = (float)number;
  else if (type == F64)
    ((double *)to)[place] = number;
  else
    ((int64_t *)to)[place] = (int64_t)number;
}

void program_run(const program *one, void *const *inputs,
                 void *const *results) {
  double **of = calloc((size_t)one->values + 1, sizeof(*of));
  for (int v = 0; v < one->values; ++v) {
    const value *op = &one->all[v];
    int64_t count = elements(&op->shape);
    of[v] = malloc((size_t)count * sizeof(double) + 1);
    for (int64_t i = 0; i < count; ++i)
      of[v][i] = v < one->inputs ? load(inputs[v], op->shape.type, i)
                                 : rounded(&op->shape, element(one, op, of, i));
  }
  for (int n = 0; n < one->results; ++n) {
    const shape *made = program_result(one, n);
    for (int64_t i = 0, count = elements(made); i < count; ++i)
      store(results[n], made->type, i, of[one->result[n]][i]);
  }
  for (int v = 0; v < one->values; ++v)
    free(of[v]);
  free(of);
}
