/*===- plugin_defaults.h - What drivers in C have alike ---------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* For a driver that wants nothing special there: errors with a text, an account
|* of its memory with the option memory_limit, and what program_run does first,
|* which is to compare a launch with the program and to work out the words of
|* its steps. Needs a C11 compiler and the C library. Whoever includes it has
|* this ltc_error.
|*
\*===----------------------------------------------------------------------===*/
#ifndef LTC_PLUGIN_DEFAULTS_H
#define LTC_PLUGIN_DEFAULTS_H

#include "plugin.h"
#include "program.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ltc_error {
  ltc_error_code code;
  int64_t site;
  char message[256];
};

__attribute__((format(printf, 2, 3))) static inline ltc_error *
ltc_fail(ltc_error_code code, const char *format, ...) {
  ltc_error *error = (ltc_error *)calloc(1, sizeof(*error));
  va_list arguments;
  if (!error)
    abort();
  error->code = code;
  error->site = -1;
  va_start(arguments, format);
  vsnprintf(error->message, sizeof(error->message), format, arguments);
  va_end(arguments);
  return error;
}

/* The entries error_read and error_free. */
static inline void ltc_read_error(const ltc_error *error,
                                  ltc_error_info *info) {
  info->code = error->code;
  info->message = error->message;
  info->site = error->site;
}
static inline void ltc_free_error(ltc_error *error) { free(error); }

/* What a queue's thread knows of failures: launches behind one are skipped, and
   the next fence tells of the first. Begins as zeros; for one thread. */
typedef struct ltc_outcome {
  int skips;
  ltc_error first; /* of code LTC_OK: none */
} ltc_outcome;

/* Takes what a command came to, or NULL. */
static inline void ltc_outcome_add(ltc_outcome *outcome, ltc_error *error) {
  if (!error)
    return;
  outcome->skips = 1;
  if (outcome->first.code == LTC_OK)
    outcome->first = *error;
  free(error);
}

/* What a fence is to tell each time that it is asked. */
static inline ltc_error ltc_outcome_take(ltc_outcome *outcome) {
  ltc_error first = outcome->first;
  outcome->first.code = LTC_OK;
  return first;
}

/* Another one alike; NULL of one that is none. */
static inline ltc_error *ltc_error_again(const ltc_error *error) {
  ltc_error *made =
      error->code ? ltc_fail(error->code, "%s", error->message) : NULL;
  if (made)
    made->site = error->site;
  return made;
}

/* What buffers take of a device's memory. Any thread; begins as zeros. */
typedef struct ltc_account {
  size_t limit; /* 0: none; set before the first buffer */
  size_t allocated, max_allocated;
} ltc_account;

/* Takes the one option that every device has, memory_limit, from those of
   device_open; refuses others. */
static inline ltc_error *ltc_account_open(ltc_account *account,
                                          const ltc_property *options,
                                          size_t option_count) {
  for (size_t i = 0; i < option_count; ++i) {
    const char *value = options[i].value;
    char *end = NULL;
    if (strcmp(options[i].name, "memory_limit") != 0)
      return ltc_fail(LTC_INVALID_ARGUMENT,
                      "there is no option %s: the option is memory_limit",
                      options[i].name);
    account->limit = strtoull(value, &end, 10);
    if (end == value || *end)
      return ltc_fail(LTC_INVALID_ARGUMENT,
                      "memory_limit is a number of bytes, not %s", value);
  }
  return NULL;
}

/* 0 if that would be beyond the limit. */
static inline int ltc_account_take(ltc_account *account, size_t bytes) {
  size_t now = __atomic_load_n(&account->allocated, __ATOMIC_RELAXED), most;
  do {
    size_t limit = account->limit ? account->limit : (size_t)PTRDIFF_MAX;
    if (now > limit || bytes > limit - now)
      return 0;
  } while (!__atomic_compare_exchange_n(&account->allocated, &now, now + bytes,
                                        1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  most = __atomic_load_n(&account->max_allocated, __ATOMIC_RELAXED);
  while (most < now + bytes && !__atomic_compare_exchange_n(
                                   &account->max_allocated, &most, now + bytes,
                                   1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    ;
  return 1;
}

static inline void ltc_account_give(ltc_account *account, size_t bytes) {
  __atomic_fetch_sub(&account->allocated, bytes, __ATOMIC_RELAXED);
}

/* What the entry `memory` tells, of a device that gives back what it frees. */
static inline void ltc_account_read(ltc_account *account, ltc_memory *out,
                                    int32_t reset_peak) {
  size_t now = __atomic_load_n(&account->allocated, __ATOMIC_RELAXED);
  if (reset_peak)
    __atomic_store_n(&account->max_allocated, now, __ATOMIC_RELAXED);
  out->allocated = out->reserved = now;
  out->max_allocated =
      __atomic_load_n(&account->max_allocated, __ATOMIC_RELAXED);
}

/* Spans for a profile, of one device. Any thread; begins as zeros. */
typedef struct ltc_trace {
  ltc_span *spans; /* room for LTC_TRACE_MOST, or NULL */
  size_t count;
  int is_on, lock;
} ltc_trace;

enum { LTC_TRACE_MOST = 1 << 16 };

static inline int64_t ltc_clock(void) {
  struct timespec now;
#ifdef CLOCK_MONOTONIC
  clock_gettime(CLOCK_MONOTONIC, &now);
#else /* of a compiler for C11 alone */
  timespec_get(&now, TIME_UTC);
#endif
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline void ltc_trace_lock(ltc_trace *trace) {
  while (__atomic_exchange_n(&trace->lock, 1, __ATOMIC_ACQUIRE))
    ;
}
static inline void ltc_trace_unlock(ltc_trace *trace) {
  __atomic_store_n(&trace->lock, 0, __ATOMIC_RELEASE);
}

/* `name` is in static storage; `start` and `end` are of ltc_clock(). */
static inline void ltc_trace_add(ltc_trace *trace, const char *name,
                                 uint32_t lane, int64_t start, int64_t end) {
  if (!__atomic_load_n(&trace->is_on, __ATOMIC_RELAXED))
    return;
  ltc_trace_lock(trace);
  if (trace->is_on && trace->count < LTC_TRACE_MOST) {
    ltc_span *span = &trace->spans[trace->count++];
    span->name = name;
    span->lane = lane;
    span->start = start;
    span->end = end;
  }
  ltc_trace_unlock(trace);
}

/* The entries trace_start and trace_stop. */
static inline ltc_error *ltc_trace_begin(ltc_trace *trace) {
  if (!trace->spans)
    trace->spans = (ltc_span *)malloc(LTC_TRACE_MOST * sizeof(ltc_span));
  if (!trace->spans)
    return ltc_fail(LTC_OUT_OF_MEMORY, "there is no memory for spans");
  ltc_trace_lock(trace);
  trace->count = 0;
  __atomic_store_n(&trace->is_on, 1, __ATOMIC_RELAXED);
  ltc_trace_unlock(trace);
  return NULL;
}
static inline const ltc_span *ltc_trace_end(ltc_trace *trace, size_t *count,
                                            int64_t *now) {
  ltc_trace_lock(trace);
  __atomic_store_n(&trace->is_on, 0, __ATOMIC_RELAXED);
  *count = trace->count;
  ltc_trace_unlock(trace);
  *now = ltc_clock();
  return trace->spans;
}

/* Of a transfer to or from [offset, offset + bytes) of a buffer of `size`. */
static inline ltc_error *ltc_check_range(size_t size, size_t offset,
                                         size_t bytes) {
  if (offset <= size && bytes <= size - offset)
    return NULL;
  return ltc_fail(LTC_INVALID_ARGUMENT,
                  "bytes %zu to %zu + %zu are outside of a buffer of %zu",
                  offset, offset, bytes, size);
}

/* Whether a program's target is of this kind. */
static inline int ltc_target_is(const ltc_program_view *program,
                                const char *kind) {
  ltc_text target = program->info->target;
  const char *text = ltc_text_begin(program, target);
  size_t size = strlen(kind);
  return target.size > size && memcmp(text, kind, size) == 0 &&
         text[size] == ':';
}

/* A copy of a program's bytes, which program_load borrows, and its tables in
   there; to be given to free(), also where it fails. */
static inline ltc_error *ltc_program_keep(ltc_program_view *program,
                                          void **kept, ltc_bytes bytes) {
  const char *wrong = "there is no memory for it";
  *kept = malloc(bytes.size + 1);
  if (*kept) {
    memcpy(*kept, bytes.data, bytes.size);
    wrong = ltc_program_open(program, *kept, bytes.size);
  }
  return wrong ? ltc_fail(LTC_INVALID_ARGUMENT, "no program: %s", wrong) : NULL;
}

/* Where a buffer is, at the device's address, and its size. */
typedef struct ltc_place {
  int64_t address;
  size_t bytes;
} ltc_place;

/* Bytes of an element, by the number of an ltc::DType; 0 if it is none. */
static inline int64_t ltc_dtype_bytes(uint32_t dtype) {
  static const uint8_t bytes[] = {1, 1, 1,  2, 4, 8, 2, 2, 4,
                                  8, 8, 16, 2, 4, 8, 1, 1, 4};
  return dtype < sizeof(bytes) ? bytes[dtype] : 0;
}

/* What is wrong with operand `number`, or NULL. */
static inline const char *
ltc_operand_check(const ltc_program_view *program, const ltc_launch *launch,
                  uint32_t number, ltc_place (*place_of)(const ltc_buffer *)) {
  const ltc_value_type *type = &program->types[number];
  const ltc_operand *given = &launch->operands[number];
  int64_t bytes = ltc_dtype_bytes(type->dtype);
  if (type->is_scalar)
    return NULL;
  if (!given->buffer)
    return "an operand has no buffer";
  if (given->rank != type->rank || given->dtype != type->dtype)
    return "an operand has another rank or element type than the program's";
  for (uint32_t d = 0; d < type->rank; ++d) {
    int64_t size;
    if (!ltc_evaluate(program, program->dims[type->first_dim + d],
                      launch->symbols, &size) ||
        size != given->sizes[d] || __builtin_mul_overflow(bytes, size, &bytes))
      return "an operand has another shape than the program's";
  }
  if (bytes < 0 || (uint64_t)bytes > place_of(given->buffer).bytes)
    return "an operand has a buffer that is too small";
  return NULL;
}

/* What is wrong with a launch, for LTC_INVALID_ARGUMENT; or NULL. */
static inline const char *
ltc_launch_check(const ltc_program_view *program, const ltc_launch *launch,
                 ltc_place (*place_of)(const ltc_buffer *)) {
  int64_t arena;
  if (launch->operand_count != program->type_count)
    return "the program has another number of operands";
  if (launch->symbol_count != program->info->symbols)
    return "the program has another number of symbols";
  if (!ltc_arena_offset(program, program->arena_count, launch->symbols, &arena))
    return "the symbols' values give an impossible size";
  if (arena &&
      (!launch->arena || place_of(launch->arena).bytes < (uint64_t)arena))
    return "the arena is too small";
  for (uint32_t i = 0; i < program->type_count; ++i) {
    const char *wrong = ltc_operand_check(program, launch, i, place_of);
    if (wrong)
      return wrong;
  }
  return NULL;
}

/* The words of a step of a launch that ltc_launch_check has passed. `symbols`:
   where the device finds the symbols' values. */
static inline void ltc_launch_words(const ltc_program_view *program,
                                    const ltc_launch *launch,
                                    const ltc_step *step, int64_t symbols,
                                    ltc_place (*place_of)(const ltc_buffer *),
                                    int64_t *words) {
  for (uint32_t w = 0; w < step->words; ++w) {
    const ltc_word *word = &program->words[step->first_word + w];
    const ltc_operand *operand = NULL;
    int64_t base = 0, amount = 0;
    if (word->base == LTC_INPUT)
      operand = &launch->operands[word->index];
    else if (word->base == LTC_RESULT)
      operand = &launch->operands[program->info->inputs + word->index];
    else if (word->base == LTC_SYMBOLS)
      base = symbols;
    else if (word->base == LTC_ARENA &&
             ltc_arena_offset(program, word->index, launch->symbols, &base))
      base += launch->arena ? place_of(launch->arena).address : 0;
    if (operand)
      base = operand->buffer ? place_of(operand->buffer).address
                             : (int64_t)operand->bits;
    ltc_evaluate(program, word->amount, launch->symbols, &amount);
    words[w] = base + amount;
  }
}

/* Checks a launch, and keeps what it borrows: the words of the steps that it is
   to do, up to *end, each from its first_word on. *words is to be given to
   free() when they are done. */
static inline ltc_error *
ltc_launch_keep(const ltc_program_view *program, const ltc_launch *launch,
                ltc_place (*place_of)(const ltc_buffer *), int64_t **words,
                uint32_t *end) {
  const char *wrong = ltc_launch_check(program, launch, place_of);
  size_t count = (size_t)program->word_count + launch->symbol_count + 1;
  if (wrong)
    return ltc_fail(LTC_INVALID_ARGUMENT, "%s", wrong);
  *words = (int64_t *)calloc(count, sizeof(**words));
  if (!*words)
    return ltc_fail(LTC_OUT_OF_MEMORY, "there is no memory for a launch");
  *end = launch->end_step < program->step_count ? launch->end_step
                                                : program->step_count;
  int64_t *symbols = *words + program->word_count;
  if (launch->symbol_count)
    memcpy(symbols, launch->symbols, launch->symbol_count * sizeof(*symbols));
  for (uint32_t s = launch->first_step; s < *end; ++s)
    ltc_launch_words(program, launch, &program->steps[s],
                     (int64_t)(intptr_t)symbols, place_of,
                     *words + program->steps[s].first_word);
  return NULL;
}

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* LTC_PLUGIN_DEFAULTS_H */
