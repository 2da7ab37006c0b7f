/*===- options.h - What the fake's clients are made with --------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
#ifndef FAKE_PJRT_OPTIONS_H
#define FAKE_PJRT_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

/* PJRT's. */
enum { TEXT, INTEGER, INTEGERS, REAL, TRUTH };
typedef struct named_value {
  size_t size;
  void *extensions;
  const char *name;
  size_t name_size;
  int type;
  union {
    const char *text;
    int64_t integer;
    const int64_t *integers;
    float real;
    unsigned char truth;
  } value;
  size_t value_size;
} named_value;

/* What is wrong with it, or NULL. */
const char *take_option(const named_value *option, size_t *devices);

/* All that were taken, as " name=value" each. */
const char *options_seen(void);

#endif
