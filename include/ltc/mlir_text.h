/*===- mlir_text.h - MLIR's generic form, read in plain C -------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Reads what part_compile is handed (docs/hand-over.md) without MLIR: a module
|* as text in the generic form, in which every op is written alike,
|*   %1:2 = "name"(%0, %arg3) <{properties}> ({ ^bb0(...): ops }) {attributes}
|*       : (types) -> (types)
|* with at most one block in an op, no locations and no aliases. Ops, values
|* and sizes become tables; names and attributes stay where they are in the
|* text, which the tables borrow. Needs a C11 compiler and no library.
|*
\*===----------------------------------------------------------------------===*/
#ifndef LTC_MLIR_TEXT_H
#define LTC_MLIR_TEXT_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Characters of the text; both NULL for none. */
typedef struct ltc_chars {
  const char *begin, *end;
} ltc_chars;

/* A tensor has `rank` sizes from `first_size` on; -1 is one that is not known.
   The element of what is no tensor is all of its type. */
typedef struct ltc_mlir_type {
  ltc_chars element; /* "f32", "complex<f64>" */
  uint32_t is_tensor, rank, first_size;
} ltc_mlir_type;

/* Values are numbered as they come: an op's results, and the arguments of its
   block, in a row. The ops in its block are those behind it, up to `end`. */
typedef struct ltc_mlir_op {
  ltc_chars name;                   /* "linalg.matmul" */
  ltc_chars properties;             /* what is between <{ and }> */
  ltc_chars attributes;             /* between { and } */
  uint32_t first_operand, operands; /* in the table of operands */
  uint32_t first_result, results;
  uint32_t first_argument, arguments;
  uint32_t end;
} ltc_mlir_op;

typedef struct ltc_mlir {
  ltc_mlir_op *ops;     /* the first is the module */
  ltc_mlir_type *types; /* of each value */
  uint32_t *operands;   /* numbers of values */
  int64_t *sizes;
  uint32_t op_count, value_count, operand_count, size_count;
  const char *at; /* where the reader is, or stopped */
  /* The reader's own. */
  const char *end, *wrong;
  uint32_t *known, known_mask, depth; /* values by a hash of their names */
  ltc_chars *names;
} ltc_mlir;

enum { LTC_MLIR_DEPTH = 64 }; /* of ops in ops */

static inline int ltc_chars_are(ltc_chars chars, const char *text) {
  size_t size = strlen(text);
  return (size_t)(chars.end - chars.begin) == size &&
         memcmp(chars.begin, text, size) == 0;
}

/* For the functions below. */

static inline void ltc_mlir_fail(ltc_mlir *m, const char *why) {
  if (!m->wrong)
    m->wrong = why;
  m->end = m->at; /* nothing more is read */
}

/* Room for one more behind `count` elements, whose room doubles. */
static inline void *ltc_mlir_grow(ltc_mlir *m, void *array, uint32_t count,
                                  size_t size) {
  void *made = array;
  if ((count & (count - 1)) == 0)
    made = count < UINT32_MAX / 4
               ? realloc(array, (count ? 2 * (size_t)count : 1) * size)
               : NULL;
  if (made)
    return made;
  ltc_mlir_fail(m, "there is no memory for the module");
  return array;
}
#define LTC_MLIR_GROW(m, table, count, type)                                   \
  ((m)->table = (type *)ltc_mlir_grow(m, (m)->table, count, sizeof(type)))

static inline void ltc_mlir_space(ltc_mlir *m) {
  while (m->at < m->end && (*m->at == ' ' || *m->at == '\n'))
    ++m->at;
}

static inline int ltc_mlir_take(ltc_mlir *m, const char *what) {
  size_t size = strlen(what);
  ltc_mlir_space(m);
  if ((size_t)(m->end - m->at) < size || memcmp(m->at, what, size) != 0)
    return 0;
  m->at += size;
  return 1;
}

static inline void ltc_mlir_need(ltc_mlir *m, const char *what,
                                 const char *why) {
  if (!ltc_mlir_take(m, what))
    ltc_mlir_fail(m, why);
}

/* Where what begins at `at` ends: a string, a character, or a bracket with all
   in it; or `end`. */
static inline const char *ltc_mlir_skip(const char *at, const char *end) {
  int depth = 0;
  while (at < end) {
    char c = *at++;
    if (c == '"')
      for (; at < end && *at++ != '"';)
        at += at[-1] == '\\' && at < end;
    else if (c == '-' && at < end && *at == '>')
      ++at;
    else if (c == '(' || c == '[' || c == '{' || c == '<')
      ++depth;
    else if (c == ')' || c == ']' || c == '}' || c == '>')
      --depth;
    if (depth <= 0)
      break;
  }
  return at;
}

/* Up to the bracket that closes the one just read. */
static inline ltc_chars ltc_mlir_inside(ltc_mlir *m) {
  ltc_chars inside = {m->at, m->at};
  while (m->at < m->end && *m->at != '}')
    m->at = ltc_mlir_skip(m->at, m->end);
  inside.end = m->at;
  ltc_mlir_need(m, "}", "attributes have no end");
  return inside;
}

/* What is up to one of these characters, at least one character. */
static inline ltc_chars ltc_mlir_word(ltc_mlir *m, const char *until) {
  ltc_chars word = {m->at, m->at};
  while (m->at < m->end && !strchr(until, *m->at))
    m->at = ltc_mlir_skip(m->at, m->end);
  word.end = m->at;
  if (word.begin == word.end)
    ltc_mlir_fail(m, "there is a word missing");
  return word;
}

static inline int ltc_mlir_number(ltc_mlir *m, int64_t *number) {
  const char *begin = m->at;
  *number = 0;
  while (m->at < m->end && *m->at >= '0' && *m->at <= '9')
    if (__builtin_mul_overflow(*number, 10, number) ||
        __builtin_add_overflow(*number, *m->at++ - '0', number))
      return 0;
  return m->at != begin;
}

static inline ltc_mlir_type ltc_mlir_read_type(ltc_mlir *m) {
  ltc_mlir_type type = {{NULL, NULL}, 0, 0, m->size_count};
  type.is_tensor = (uint32_t)ltc_mlir_take(m, "tensor<");
  while (type.is_tensor && m->at < m->end &&
         (*m->at == '?' || (*m->at >= '0' && *m->at <= '9'))) {
    int64_t size = -1;
    if (*m->at == '?')
      ++m->at;
    else if (!ltc_mlir_number(m, &size))
      ltc_mlir_fail(m, "a size is too large");
    ltc_mlir_need(m, "x", "a size has no x behind it");
    LTC_MLIR_GROW(m, sizes, m->size_count, int64_t);
    if (m->wrong)
      break;
    m->sizes[m->size_count++] = size;
    ++type.rank;
  }
  type.element = ltc_mlir_word(m, ",)> \n");
  if (type.is_tensor)
    ltc_mlir_need(m, ">", "a type of tensors has no end");
  return type;
}

/* The place of a name among those that are known: its value's number plus one,
   or 0 if it is new. */
static inline uint32_t *ltc_mlir_find(ltc_mlir *m, ltc_chars name) {
  uint32_t hash = 2166136261u, at;
  for (const char *c = name.begin; c < name.end; ++c)
    hash = (hash ^ (uint8_t)*c) * 16777619u;
  for (at = hash & m->known_mask; m->known[at]; at = (at + 1) & m->known_mask) {
    ltc_chars other = m->names[m->known[at] - 1];
    size_t size = (size_t)(name.end - name.begin);
    if ((size_t)(other.end - other.begin) == size &&
        memcmp(other.begin, name.begin, size) == 0)
      break;
  }
  return &m->known[at];
}

/* A name for `count` new values. */
static inline uint32_t ltc_mlir_define(ltc_mlir *m, ltc_chars name,
                                       int64_t count) {
  static const ltc_mlir_type none = {{NULL, NULL}, 0, 0, 0};
  uint32_t first = m->value_count;
  if (count > m->end - m->at) /* each has a type */
    ltc_mlir_fail(m, "an op has too many results");
  for (int64_t i = 0; i < count && !m->wrong; ++i) {
    LTC_MLIR_GROW(m, types, m->value_count, ltc_mlir_type);
    LTC_MLIR_GROW(m, names, m->value_count, ltc_chars);
    if (m->wrong)
      break;
    m->names[m->value_count] = name;
    m->types[m->value_count++] = none;
  }
  if (m->value_count > first)
    *ltc_mlir_find(m, name) = first + 1;
  return first;
}

static inline void ltc_mlir_use(ltc_mlir *m) {
  ltc_chars name = ltc_mlir_word(m, "#, ):\n");
  uint32_t number = m->wrong ? 0 : *ltc_mlir_find(m, name);
  int64_t index = 0;
  if (number && ltc_mlir_take(m, "#") && !ltc_mlir_number(m, &index))
    number = 0;
  if (!number || index > m->value_count - number)
    ltc_mlir_fail(m, "a value is used that there is none of");
  LTC_MLIR_GROW(m, operands, m->operand_count, uint32_t);
  if (!m->wrong)
    m->operands[m->operand_count++] = number - 1 + (uint32_t)index;
}

static inline void ltc_mlir_read_op(ltc_mlir *m);

/* Behind "({". */
static inline void ltc_mlir_read_block(ltc_mlir *m, ltc_mlir_op *op) {
  op->first_argument = m->value_count;
  if (ltc_mlir_take(m, "^bb0(")) {
    do {
      ltc_mlir_space(m);
      uint32_t number = ltc_mlir_define(m, ltc_mlir_word(m, ":"), 1);
      ltc_mlir_need(m, ":", "an argument has no type");
      ltc_mlir_type type = ltc_mlir_read_type(m);
      if (m->wrong)
        return;
      m->types[number] = type;
      ++op->arguments;
    } while (ltc_mlir_take(m, ","));
    ltc_mlir_need(m, "):", "a block's arguments have no end");
  }
  while (!m->wrong && !ltc_mlir_take(m, "}"))
    ltc_mlir_read_op(m);
  ltc_mlir_need(m, ")", "an op has more than one block");
}

/* Behind the colon. */
static inline void ltc_mlir_read_types(ltc_mlir *m, const ltc_mlir_op *op) {
  uint32_t before = m->size_count;
  ltc_mlir_need(m, "(", "an op has no types");
  while (!m->wrong && !ltc_mlir_take(m, ")")) {
    ltc_mlir_take(m, ",");
    ltc_mlir_space(m);
    ltc_mlir_read_type(m);
  }
  if (!m->wrong)
    m->size_count = before; /* operands have their types */
  ltc_mlir_need(m, "->", "an op has no types of results");
  int is_list = ltc_mlir_take(m, "(");
  if (!is_list && op->results != 1)
    ltc_mlir_fail(m, "types of results are missing");
  for (uint32_t i = 0; i < op->results && !m->wrong; ++i) {
    if (i)
      ltc_mlir_need(m, ",", "a result has no type");
    ltc_mlir_space(m);
    m->types[op->first_result + i] = ltc_mlir_read_type(m);
  }
  if (is_list)
    ltc_mlir_need(m, ")", "there are more types than results");
}

static inline void ltc_mlir_read_op(ltc_mlir *m) {
  ltc_mlir_op op;
  uint32_t number = m->op_count;
  memset(&op, 0, sizeof(op));
  if (++m->depth > LTC_MLIR_DEPTH)
    ltc_mlir_fail(m, "ops are nested too deeply");
  LTC_MLIR_GROW(m, ops, number, ltc_mlir_op);
  if (m->wrong)
    return;
  ++m->op_count;
  op.first_result = m->value_count;
  if (ltc_mlir_take(m, "%")) {
    --m->at;
    ltc_chars name = ltc_mlir_word(m, ": =");
    int64_t count = 1;
    if (ltc_mlir_take(m, ":") && !ltc_mlir_number(m, &count))
      ltc_mlir_fail(m, "a number of results cannot be read");
    op.first_result = ltc_mlir_define(m, name, count);
    op.results = m->value_count - op.first_result;
    ltc_mlir_need(m, "=", "results have no op");
  }
  ltc_mlir_need(m, "\"", "an op has no name");
  op.name = ltc_mlir_word(m, "\"");
  ltc_mlir_need(m, "\"(", "an op has no operands");
  op.first_operand = m->operand_count;
  while (!m->wrong && !ltc_mlir_take(m, ")")) {
    ltc_mlir_take(m, ",");
    ltc_mlir_space(m);
    ltc_mlir_use(m);
  }
  op.operands = m->operand_count - op.first_operand;
  if (ltc_mlir_take(m, "<{")) {
    op.properties = ltc_mlir_inside(m);
    ltc_mlir_need(m, ">", "properties have no end");
  }
  if (ltc_mlir_take(m, "({"))
    ltc_mlir_read_block(m, &op);
  if (ltc_mlir_take(m, "{"))
    op.attributes = ltc_mlir_inside(m);
  ltc_mlir_need(m, ":", "an op has no types");
  ltc_mlir_read_types(m, &op);
  op.end = m->op_count;
  m->ops[number] = op;
  --m->depth;
}

/* The public functions. */

static inline void ltc_mlir_free(ltc_mlir *module) {
  free(module->ops);
  free(module->types);
  free(module->operands);
  free(module->sizes);
  free(module->names);
  free(module->known);
  memset(module, 0, sizeof(*module));
}

/* Returns NULL, or what is wrong at `at` of the text; then nothing is to be
   freed. */
static inline const char *ltc_mlir_read(ltc_mlir *module, const char *text,
                                        size_t size) {
  size_t names = 16, room = 16;
  memset(module, 0, sizeof(*module));
  module->at = text;
  module->end = text + size;
  for (size_t i = 0; i < size; ++i)
    names += text[i] == '%';
  while (room < 2 * names + 2)
    room *= 2;
  module->known = (uint32_t *)calloc(room, sizeof(uint32_t));
  module->known_mask = (uint32_t)(room - 1);
  if (!module->known || room > UINT32_MAX / 2)
    ltc_mlir_fail(module, "there is no memory for the module");
  ltc_mlir_read_op(module);
  ltc_mlir_space(module);
  if (module->at != module->end)
    ltc_mlir_fail(module, "there is more behind the module");
  const char *wrong = module->wrong, *at = module->at;
  if (wrong) {
    ltc_mlir_free(module);
    module->at = at;
  }
  return wrong;
}

/* The value of one of an op's properties or attributes: `begin` is NULL if it
   has none of that name, and none is in it if it is only there. */
static inline ltc_chars ltc_mlir_attribute(const ltc_mlir_op *op,
                                           const char *name) {
  ltc_chars lists[2] = {op->properties, op->attributes};
  for (int i = 0; i < 2; ++i)
    for (const char *at = lists[i].begin; at && at < lists[i].end; ++at) {
      ltc_chars key = {at, at}, value;
      while (at < lists[i].end && *at != ',' && strncmp(at, " = ", 3) != 0)
        at = ltc_mlir_skip(at, lists[i].end);
      key.end = value.begin = value.end = at;
      if (at < lists[i].end && *at != ',') {
        value.begin = at += 3;
        while (at < lists[i].end && *at != ',')
          at = ltc_mlir_skip(at, lists[i].end);
        value.end = at;
      }
      while (key.begin < key.end && *key.begin == ' ')
        ++key.begin;
      if (ltc_chars_are(key, name))
        return value;
    }
  ltc_chars none = {NULL, NULL};
  return none;
}

#undef LTC_MLIR_GROW

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* LTC_MLIR_TEXT_H */
