/*===- options.c - What the fake's clients are made with --------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
#include "options.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char *name;
  int type;
} known[] = {{"label", TEXT},
             {"devices", INTEGER},
             {"visible", INTEGERS},
             {"share", REAL},
             {"pinned", TRUTH}};

static char seen[400];

static void see(const named_value *option) {
  char text[120];
  int size = (int)option->value_size;
  switch (option->type) {
  case TEXT:
    snprintf(text, sizeof(text), "'%.*s'", size, option->value.text);
    break;
  case INTEGER:
    snprintf(text, sizeof(text), "%ld", (long)option->value.integer);
    break;
  case INTEGERS:
    snprintf(text, sizeof(text), "%d from %ld", size,
             size ? (long)option->value.integers[0] : 0);
    break;
  case REAL:
    snprintf(text, sizeof(text), "%g", (double)option->value.real);
    break;
  default:
    snprintf(text, sizeof(text), "%s", option->value.truth ? "yes" : "no");
  }
  size_t used = strlen(seen);
  snprintf(seen + used, sizeof(seen) - used, " %.*s=%s", (int)option->name_size,
           option->name, text);
}

const char *take_option(const named_value *option, size_t *devices) {
  if (option->size < sizeof(*option))
    return "an option is too short";
  for (size_t i = 0; i < sizeof(known) / sizeof(*known); ++i) {
    if (strlen(known[i].name) != option->name_size ||
        memcmp(known[i].name, option->name, option->name_size) != 0)
      continue;
    if (option->type != known[i].type)
      return "an option has another type";
    if (option->type == INTEGER)
      *devices = option->value.integer == 1 ? 1 : 2;
    see(option);
    return NULL;
  }
  return "the fake has no such option";
}

const char *options_seen(void) { return seen; }
