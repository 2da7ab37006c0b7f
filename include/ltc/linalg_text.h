/*===- linalg_text.h - linalg's ops as loop nests, in plain C ---*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* What a code generator needs of an op of linalg that mlir_text.h has read: how
|* long its loops are, and how far each operand moves when a loop goes on. For
|* all that the hand-over has (docs/hand-over.md): generic, fill, transpose and
|* the named products are alike here. In a loop nest an op is
|*   for each point of the loops: the op's block, whose arguments are the
|*   elements of its operands there; it yields the new ones of the last operands
|* on dense row-major tensors.
|*
\*===----------------------------------------------------------------------===*/
#ifndef LTC_LINALG_TEXT_H
#define LTC_LINALG_TEXT_H

#include "mlir_text.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { LTC_LINALG_LOOPS = 12, LTC_LINALG_OPERANDS = 32 };

typedef struct ltc_linalg_loops {
  uint32_t loops, operands;
  int64_t sizes[LTC_LINALG_LOOPS];
  /* In elements; 0 for a number, and where the operand does not move. */
  int64_t strides[LTC_LINALG_OPERANDS][LTC_LINALG_LOOPS];
} ltc_linalg_loops;

/* Elements of a value; 1 of a number, -1 where a size is not known. */
static inline int64_t ltc_mlir_elements(const ltc_mlir *module,
                                        uint32_t value) {
  const ltc_mlir_type *type = &module->types[value];
  int64_t count = 1;
  for (uint32_t d = 0; d < type->rank; ++d)
    if (module->sizes[type->first_size + d] < 0 ||
        __builtin_mul_overflow(count, module->sizes[type->first_size + d],
                               &count))
      return -1;
  return count;
}

/* Whether a value is one real number, for which no memory need be made: no
   tensor, or an f64 without dimensions, as steps of optimizers have. */
static inline int ltc_mlir_is_number(const ltc_mlir_type *type) {
  return !type->is_tensor ||
         (type->rank == 0 && ltc_chars_are(type->element, "f64"));
}

/* Whether all other values of the module have such elements, as "f32". */
static inline int ltc_mlir_all_are(const ltc_mlir *module,
                                   const char *element) {
  for (uint32_t i = 0; i < module->value_count; ++i)
    if (!ltc_mlir_is_number(&module->types[i]) &&
        !ltc_chars_are(module->types[i].element, element))
      return 0;
  return 1;
}

/* For the function below: dimension d of operand i goes with this loop. */
static inline int ltc_linalg_move(ltc_linalg_loops *nest,
                                  const ltc_mlir *module, uint32_t value,
                                  uint32_t i, uint32_t d, uint64_t loop) {
  const ltc_mlir_type *type = &module->types[value];
  int64_t stride = 1;
  if (d >= type->rank || loop >= LTC_LINALG_LOOPS)
    return 0;
  for (uint32_t inner = d + 1; inner < type->rank; ++inner)
    stride *= module->sizes[type->first_size + inner];
  nest->strides[i][loop] += stride;
  nest->sizes[loop] = module->sizes[type->first_size + d];
  if (loop >= nest->loops)
    nest->loops = (uint32_t)loop + 1;
  return 1;
}

/* One of "affine_map<(d0, d1) -> (d1, 0)>": returns where it ends, or NULL if a
   dimension is no single loop, and not 0. */
static inline const char *ltc_linalg_map(ltc_linalg_loops *nest,
                                         const ltc_mlir *module, uint32_t value,
                                         uint32_t i, const char *at,
                                         const char *end) {
  uint32_t d = 0;
  for (; at < end && (at[0] != '-' || at[1] != '>'); ++at)
    ;
  for (at += 4; at < end && *at != ')'; ++d) { /* "-> (" */
    uint64_t loop = 0;
    if (*at == 'd')
      for (++at; at < end && *at >= '0' && *at <= '9' && loop < 1000; ++at)
        loop = 10 * loop + (uint64_t)(*at - '0');
    else if (*at++ != '0')
      return NULL;
    else
      loop = UINT64_MAX;
    if (loop != UINT64_MAX && !ltc_linalg_move(nest, module, value, i, d, loop))
      return NULL;
    if (at + 1 < end && at[0] == ',' && at[1] == ' ')
      at += 2;
    else if (at < end && *at != ')')
      return NULL;
  }
  return at < end && d == module->types[value].rank ? at : NULL;
}

/* The loops of an op; 0 if it is none of linalg's that is such a nest, or a
   size is not known. */
static inline int ltc_linalg_read(ltc_linalg_loops *nest,
                                  const ltc_mlir *module,
                                  const ltc_mlir_op *op) {
  ltc_chars maps = ltc_mlir_attribute(op, "indexing_maps");
  ltc_chars order = ltc_mlir_attribute(op, "permutation");
  const uint32_t *operands = module->operands + op->first_operand;
  int is_fill = ltc_chars_are(op->name, "linalg.fill");
  if (!maps.begin)
    maps = ltc_mlir_attribute(op, "linalg.memoized_indexing_maps");
  memset(nest, 0, sizeof(*nest));
  nest->operands = op->operands;
  if (op->operands > LTC_LINALG_OPERANDS || op->operands < op->results ||
      (!maps.begin && !order.begin && !is_fill))
    return 0;
  for (uint32_t i = 0; i < op->operands; ++i)
    if (ltc_mlir_elements(module, operands[i]) < 0)
      return 0;
  for (uint32_t i = 0; i < op->operands; ++i) {
    const ltc_mlir_type *type = &module->types[operands[i]];
    const char *at = order.begin;
    if (maps.begin) {
      maps.begin =
          ltc_linalg_map(nest, module, operands[i], i, maps.begin, maps.end);
      if (!maps.begin)
        return 0;
    }
    for (uint32_t d = 0; !maps.begin && d < type->rank; ++d) {
      uint64_t dim = d; /* of the result, dimension d is loop d */
      for (; order.begin && i == 0 && at < order.end; ++at)
        if (at[0] == ' ' && at[1] >= '0' && at[1] <= '9') {
          dim = (uint64_t)strtol(++at, NULL, 10);
          break;
        }
      if (!ltc_linalg_move(nest, module, operands[i], i, (uint32_t)dim, d))
        return 0;
    }
  }
  return 1;
}

/* How many points the loops have; of an op without loops one. */
static inline int64_t ltc_linalg_points(const ltc_linalg_loops *nest) {
  int64_t points = 1;
  for (uint32_t l = 0; l < nest->loops; ++l)
    points *= nest->sizes[l];
  return points;
}

/* Where operand i is at a point, in elements; the last loop goes fastest. */
static inline int64_t ltc_linalg_place(const ltc_linalg_loops *nest, uint32_t i,
                                       int64_t point) {
  int64_t place = 0;
  for (uint32_t l = nest->loops; l-- > 0; point /= nest->sizes[l])
    place += point % nest->sizes[l] * nest->strides[i][l];
  return place;
}

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* LTC_LINALG_TEXT_H */
