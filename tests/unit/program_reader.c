/*===- program_reader.c - A program read without C++ ------------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
#include "ltc/program.h"

#include <stdio.h>

/* Writes what a device would do, a line a step; returns NULL or what is wrong
   with the bytes. */
const char *describe_program(const void *bytes, size_t size,
                             const int64_t *symbols, char *text,
                             size_t capacity) {
  ltc_program_view program;
  const char *wrong = ltc_program_open(&program, bytes, size);
  if (wrong)
    return wrong;
  int64_t arena = 0;
  if (!ltc_arena_offset(&program, program.arena_count, symbols, &arena))
    return "the arena has no size";
  int end = snprintf(text, capacity, "arena %lld\n", (long long)arena);
  for (uint32_t i = 0; i < program.step_count; ++i) {
    const ltc_step *step = &program.steps[i];
    int64_t count = 0, first = 0;
    ltc_text name = {0, 0};
    if (!ltc_iterations(&program, step, symbols, &count))
      return "a grid has no size";
    if (step->kind == LTC_LAUNCH)
      name = program.kernels[step->target].name;
    if (step->words)
      ltc_evaluate(&program, program.words[step->first_word].amount, symbols,
                   &first);
    end += snprintf(text + end, capacity - (size_t)end, "%u %.*s %lld %lld\n",
                    step->kind, (int)name.size, ltc_text_begin(&program, name),
                    (long long)count, (long long)first);
  }
  return NULL;
}
