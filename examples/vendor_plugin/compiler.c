/*===- compiler.c - What the board computes, in float32 -----------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
#include "board.h"

#include <ltc/linalg_text.h>
#include <ltc/real_ops.h>

/* clang-format off */
#define OTHERS(OP) \
  OP(arith, constant, o->number) OP(builtin, module, 0) OP(func, func, 0) \
  OP(func, return, 0) OP(linalg, yield, 0) OP(tensor, empty, 0) \
  OP(tensor, collapse_shape, 0) OP(tensor, expand_shape, 0) \
  OP(linalg, fill, 0) OP(linalg, transpose, 0) OP(linalg, generic, 0) \
  OP(linalg, matmul, 0)
#define ALL(OP) LTC_REAL_OPS(OP) OTHERS(OP)
#define NAME(dialect, op, gives) #dialect "." #op,
#define NUMBER(dialect, op, gives) dialect##_##op,
#define CASE(dialect, op, gives) case dialect##_##op: return gives;
/* clang-format on */
static const char *const names[] = {ALL(NAME)};
enum { ALL(NUMBER) COUNT };

typedef struct op {
  int what;      /* by its name */
  double number; /* of a constant; or a predicate */
} op;

struct code {
  ltc_mlir module;
  op *ops; /* one for each of the module's */
};

typedef struct value {
  double number;
  float *data; /* of a tensor, which is none */
} value;

/* Whether the board can do this op. */
static int understand(const ltc_mlir *m, const ltc_mlir_op *form, op *o) {
  ltc_chars number = ltc_mlir_attribute(form, "value");
  ltc_linalg_loops nest;
  while (o->what < COUNT && !ltc_chars_are(form->name, names[o->what]))
    ++o->what;
  if (!number.begin)
    number = ltc_mlir_attribute(form, "predicate");
  o->number = ltc_read_real(number);
  if (o->what == arith_constant && m->types[form->first_result].is_tensor)
    return 0;
  return o->what < linalg_fill ||
         (o->what < COUNT && ltc_linalg_read(&nest, m, form));
}

void code_free(code *made) {
  ltc_mlir_free(&made->module);
  free(made->ops);
  free(made);
}

code *code_read(const char *text, size_t size) {
  code *made = calloc(1, sizeof(*made));
  const ltc_mlir *m = &made->module;
  int is_right = !ltc_mlir_read(&made->module, text, size);
  made->ops = calloc(m->op_count + 1, sizeof(op));
  for (uint32_t i = 0; i < m->op_count; ++i)
    is_right &= understand(m, &m->ops[i], &made->ops[i]);
  is_right &= ltc_mlir_all_are(m, "f32");
  if (is_right && m->op_count > 2 && m->ops[1].end == m->op_count &&
      !memmem(text, (size_t)(m->ops[2].name.begin - text), "tensor<f64>", 11))
    return made; /* @main is the one function, in float32 */
  code_free(made);
  return NULL;
}

static double number_of(const code *made, const value *values, uint32_t index) {
  const ltc_mlir_op *form = &made->module.ops[index];
  const uint32_t *given = made->module.operands + form->first_operand;
  const op *o = &made->ops[index];
  double x = form->operands > 0 ? values[given[0]].number : 0;
  double y = form->operands > 1 ? values[given[1]].number : 0;
  double z = form->operands > 2 ? values[given[2]].number : 0;
  int64_t predicate = o->what == arith_cmpf ? (int64_t)o->number : 0;
  switch (o->what) { ALL(CASE) }
  return 0;
}

/* The op's block at each point of its loops. */
static void run_loops(const code *made, value *values, uint32_t index,
                      const ltc_linalg_loops *nest, value **operands) {
  const ltc_mlir *m = &made->module;
  const ltc_mlir_op *form = &m->ops[index], *yield = &m->ops[form->end - 1];
  uint32_t inputs = form->operands - form->results;
  int64_t points = ltc_linalg_points(nest), place[LTC_LINALG_OPERANDS];
  for (int64_t n = 0; n < points; ++n) {
    for (uint32_t i = 0; i < form->operands; ++i) {
      const value *from = operands[i];
      int64_t at = ltc_linalg_place(nest, i, n);
      int goes_on = n && i >= inputs && at == place[i]; /* a sum, unrounded */
      values[form->first_argument + i].number =
          from->data && !goes_on ? from->data[at] : from->number;
      place[i] = at;
    }
    for (uint32_t i = index + 1; i + 1 < form->end; ++i)
      values[m->ops[i].first_result].number = number_of(made, values, i);
    for (uint32_t i = 0; i < form->results; ++i) {
      value *to = operands[inputs + i];
      to->number = values[m->operands[yield->first_operand + i]].number;
      if (to->data)
        to->data[place[inputs + i]] = (float)to->number;
    }
  }
}

/* The same of a product, which most of the time goes to. */
static void run_matmul(const ltc_linalg_loops *nest, value **operands) {
  const float *a = operands[0]->data, *b = operands[1]->data;
  float *sum = operands[2]->data;
  const int64_t *left = nest->strides[0], *right = nest->strides[1];
  const int64_t *size = nest->sizes;
  for (int64_t i = 0; i < size[0]; ++i)
    for (int64_t k = 0; k < size[2]; ++k)
      for (int64_t j = 0; j < size[1]; ++j)
        sum[i * size[1] + j] +=
            a[i * left[0] + k * left[2]] * b[k * right[2] + j * right[1]];
}

/* An op of @main. Each tensor that it makes has memory of its own. */
static void run_op(const code *made, value *values, uint32_t index) {
  const ltc_mlir *m = &made->module;
  const ltc_mlir_op *form = &m->ops[index];
  value *operands[LTC_LINALG_OPERANDS] = {NULL};
  ltc_linalg_loops nest;
  int loops = ltc_linalg_read(&nest, m, form);
  for (uint32_t i = 0; i < form->operands; ++i)
    operands[i] = &values[m->operands[form->first_operand + i]];
  for (uint32_t i = 0; i < form->results; ++i) {
    uint32_t from = loops ? form->operands - form->results + i : 0;
    value *to = &values[form->first_result + i];
    size_t bytes = 4 * (size_t)ltc_mlir_elements(m, form->first_result + i);
    if (ltc_mlir_is_number(&m->types[form->first_result + i]))
      to->number =
          loops ? operands[from]->number : number_of(made, values, index);
    else if ((to->data = malloc(bytes + 1)) && form->operands)
      memcpy(to->data, operands[from]->data, bytes); /* or it reshapes */
    operands[from] = to;
  }
  if (made->ops[index].what == linalg_matmul)
    run_matmul(&nest, operands);
  else if (loops)
    run_loops(made, values, index, &nest, operands);
}

void code_run(const code *made, const int64_t *words) {
  const ltc_mlir *m = &made->module;
  const ltc_mlir_op *main = &m->ops[1], *last = &m->ops[main->end - 1];
  value *values = calloc(m->value_count + 1, sizeof(value));
  for (uint32_t i = 0; i < main->arguments; ++i) {
    values[i].data = m->types[i].is_tensor ? (float *)*words : NULL;
    values[i].number = (double)*words;
    if (ltc_chars_are(m->types[i].element, "f64"))
      memcpy(&values[i].number, words, sizeof(*words));
    words += 1 + 2 * m->types[i].rank;
  }
  for (uint32_t i = 2; i < main->end - 1; i = m->ops[i].end)
    run_op(made, values, i);
  for (uint32_t i = 0; i < last->operands; ++i) {
    uint32_t number = m->operands[last->first_operand + i];
    memcpy((void *)*words, values[number].data,
           4 * (size_t)ltc_mlir_elements(m, number));
    words += 1 + 2 * m->types[number].rank;
  }
  for (uint32_t i = main->arguments; i < m->value_count; ++i)
    free(values[i].data);
  free(values);
}

/* Whatever is in float32: the compiler refuses what it cannot do. */
int32_t call_taken(ltc_device *device, ltc_bytes call) {
  return !memmem(call.data, call.size, "64[", 3);
}
