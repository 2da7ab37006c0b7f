/*===- module.c - Reads a module ----------------------------------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Reads a module in the generic form; all that it does not know is an error.
|*
\*===----------------------------------------------------------------------===*/
#include "module.h"

#include <stdlib.h>
#include <string.h>

typedef struct reader {
  const char *at, *end;
  module *made;
  int failed;
} reader;

static int next_is(reader *r, const char *what) {
  size_t size = strlen(what);
  while (r->at < r->end && (*r->at == ' ' || *r->at == '\n'))
    ++r->at;
  if ((size_t)(r->end - r->at) < size || memcmp(r->at, what, size) != 0)
    return 0;
  r->at += size;
  return 1;
}

static void expect(reader *r, const char *what) {
  if (!r->failed && !next_is(r, what))
    r->failed = 1;
}

/* Behind the next `what`. */
static void skip_to(reader *r, const char *what) {
  while (!r->failed && !next_is(r, what))
    if (++r->at >= r->end)
      r->failed = 1;
}

static type read_type(reader *r) {
  static const char *const names[] = {"f32", "f64", "i64",  "i32",
                                      "i8",  "i1",  "index"};
  type made = {.is_tensor = next_is(r, "tensor<")};
  while (made.is_tensor && r->at < r->end && *r->at >= '0' && *r->at <= '9') {
    char *end;
    int64_t size = strtoll(r->at, &end, 10);
    if (*end != 'x' || made.rank == MOST_RANK) {
      r->failed = 1;
      return made;
    }
    made.sizes[made.rank++] = size;
    r->at = end + 1;
  }
  for (int i = 0; i < 7; ++i)
    if (next_is(r, names[i])) {
      made.element = i;
      if (made.is_tensor)
        expect(r, ">");
      return made;
    }
  r->failed = 1;
  return made;
}

static int value_of(reader *r, const char *name, size_t size, int is_new) {
  module *m = r->made;
  for (int i = m->count; !is_new && i-- > 0;)
    if (strlen(m->values[i].name) == size &&
        memcmp(m->values[i].name, name, size) == 0)
      return i;
  if (!is_new || size >= sizeof(m->values->name)) {
    r->failed = 1;
    return 0;
  }
  m->values = realloc(m->values, (size_t)(m->count + 1) * sizeof(value));
  m->values[m->count] = (value){{0}, {0}, 0, 0, NULL};
  memcpy(m->values[m->count].name, name, size);
  return m->count++;
}

/* "%12", "%12#1" or "%arg3", without what is behind it. */
static const char *read_name(reader *r, size_t *size) {
  while (r->at < r->end && *r->at == ' ')
    ++r->at;
  const char *begin = r->at;
  while (r->at < r->end && !strchr(" ,:()\n", *r->at))
    ++r->at;
  *size = (size_t)(r->at - begin);
  r->failed |= *size < 2 || *begin != '%';
  return begin;
}

static void read_results(reader *r, op *made) {
  size_t size;
  const char *name = read_name(r, &size);
  char numbered[24];
  int count = 1;
  if (next_is(r, ":"))
    count = (int)strtol(r->at, (char **)&r->at, 10);
  if (r->failed || count > MOST_OPERANDS || size > 12) {
    r->failed = 1;
    return;
  }
  memcpy(numbered, name, size);
  for (int i = 0; i < count; ++i) {
    size_t all = size;
    if (count > 1) { /* %12:2 are %12#0 and %12#1 */
      char digits[4];
      int n = 0;
      numbered[all++] = '#';
      for (int rest = i; n == 0 || rest; rest /= 10)
        digits[n++] = (char)('0' + rest % 10);
      while (n)
        numbered[all++] = digits[--n];
    }
    made->results[made->result_count++] = value_of(r, numbered, all, 1);
  }
  expect(r, "=");
}

static op *read_op(reader *r);

/* The body of an op: one block. */
static void read_body(reader *r, op *made) {
  op **end = &made->body;
  size_t size;
  int has_arguments = next_is(r, "^bb0(");
  while (has_arguments) {
    const char *name = read_name(r, &size);
    int argument = value_of(r, name, size, 1);
    expect(r, ":");
    type its = read_type(r);
    if (r->failed || made->argument_count == MOST_OPERANDS) {
      r->failed = 1;
      return;
    }
    r->made->values[argument].type = its;
    made->arguments[made->argument_count++] = argument;
    has_arguments = next_is(r, ",");
    if (!has_arguments)
      expect(r, "):");
  }
  while (!r->failed && !next_is(r, "})")) {
    *end = read_op(r);
    end = &(*end)->next;
  }
}

static op *read_op(reader *r) {
  op *made = calloc(1, sizeof(*made));
  if (next_is(r, "%")) {
    --r->at;
    read_results(r, made);
  }
  expect(r, "\"");
  const char *name = r->at;
  skip_to(r, "\"(");
  if (r->failed)
    return made;
  made->what = op_number(name, (size_t)(r->at - 2 - name));
  while (!r->failed && !next_is(r, ")")) {
    size_t size;
    name = read_name(r, &size);
    if (made->operand_count == MOST_OPERANDS)
      r->failed = 1;
    else
      made->operands[made->operand_count++] = value_of(r, name, size, 0);
    next_is(r, ",");
  }
  if (next_is(r, "<{")) {
    made->attributes = r->at;
    skip_to(r, "}>");
    made->attributes_end = r->at;
  }
  if (next_is(r, "({"))
    read_body(r, made);
  skip_to(r, "->");
  int is_list = next_is(r, "(");
  for (int i = 0; i < made->result_count; ++i) {
    type its = read_type(r);
    r->made->values[made->results[i]].type = its;
    if (i + 1 < made->result_count)
      expect(r, ",");
  }
  if (is_list)
    expect(r, ")");
  r->failed |= !op_is_right(r->made, made);
  return made;
}

static void op_free(op *o) {
  while (o) {
    op *next = o->next;
    op_free(o->body);
    free(o);
    o = next;
  }
}

void module_free(module *read) {
  op_free(read->main);
  free(read->values);
  free(read);
}

module *module_read(const char *text, size_t size) {
  reader r = {text, text + size, calloc(1, sizeof(module)), 0};
  expect(&r, "\"builtin.module\"() ({");
  if (!r.failed)
    r.made->main = read_op(&r);
  expect(&r, "})"); /* and no function besides @main */
  if (!r.failed)
    return r.made;
  module_free(r.made);
  return NULL;
}

const char *attribute(const op *o, const char *name) {
  size_t size = strlen(name);
  for (const char *at = o->attributes; at && at + size < o->attributes_end;
       ++at)
    if (memcmp(at, name, size) == 0 && memcmp(at + size, " = ", 3) == 0)
      return at + size + 3;
  return NULL;
}
