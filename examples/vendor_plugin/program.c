/*===- program.c - Programs, read in place, and their runs --------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* A program: the bytes as they came, read in place by program.h. Its code is
|* what part_compile gave: a module that the board can do, as text.
|*
\*===----------------------------------------------------------------------===*/
#include "board.h"
#include "module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ltc_program {
  void *bytes;
  ltc_program_view view;
  module **parts; /* by number of the kernel */
};

ltc_error *program_load(ltc_device *device, ltc_bytes artifact,
                        ltc_program **program) {
  ltc_program *made = calloc(1, sizeof(*made));
  const char *wrong;
  (void)device;
  made->bytes = malloc(artifact.size + 1);
  memcpy(made->bytes, artifact.data, artifact.size);
  wrong = ltc_program_open(&made->view, made->bytes, artifact.size);
  if (wrong) {
    program_free(device, made);
    return fail(LTC_INVALID_ARGUMENT, "no program: %s", wrong);
  }
  const ltc_program_view *view = &made->view;
  ltc_text target = view->info->target;
  if (target.size < 7 ||
      memcmp(ltc_text_begin(view, target), "linalg:", 7) != 0) {
    program_free(device, made);
    return fail(LTC_UNSUPPORTED, "the board runs what its compiler made");
  }
  made->parts = calloc(view->kernel_count + 1, sizeof(module *));
  for (uint32_t i = 0; i < view->kernel_count; ++i) {
    ltc_text code = view->blobs[view->kernels[i].blob].bytes;
    made->parts[i] = module_read(ltc_text_begin(view, code), code.size);
    if (!made->parts[i]) {
      program_free(device, made);
      return fail(LTC_DEVICE_FAILED, "the code is none of the board's");
    }
  }
  *program = made;
  return NULL;
}

void program_free(ltc_device *device, ltc_program *program) {
  (void)device;
  for (uint32_t i = 0; program->parts && i < program->view.kernel_count; ++i)
    if (program->parts[i])
      module_free(program->parts[i]);
  free(program->parts);
  free(program->bytes);
  free(program);
}

static int is_right(const ltc_program_view *view, uint32_t number,
                    const ltc_operand *given, const int64_t *symbols) {
  const ltc_value_type *type = &view->types[number];
  /* By ltc::DType: bool, u8, i8 to i64, f16, bf16, f32, f64, c64, c128, ... */
  static const int64_t widths[] = {1, 1, 1, 2,  4, 8, 2, 2,
                                   4, 8, 8, 16, 2, 4, 8};
  int64_t bytes = type->dtype < sizeof(widths) / sizeof(widths[0])
                      ? widths[type->dtype]
                      : 1;
  if (type->is_scalar)
    return 1;
  if (!given->buffer || given->rank != type->rank ||
      given->dtype != type->dtype)
    return 0;
  for (uint32_t d = 0; d < type->rank; ++d) {
    int64_t size;
    if (!ltc_evaluate(view, view->dims[type->first_dim + d], symbols, &size) ||
        size != given->sizes[d])
      return 0;
    bytes *= size;
  }
  return (size_t)bytes <= given->buffer->bytes;
}

ltc_error *run_begin(run *made, ltc_program *program,
                     const ltc_launch *launch) {
  const ltc_program_view *view = &program->view;
  int64_t arena;
  size_t count = launch->operand_count;
  if (count != view->type_count ||
      launch->symbol_count != view->info->symbols ||
      !ltc_arena_offset(view, view->arena_count, launch->symbols, &arena) ||
      (launch->arena ? launch->arena->bytes : 0) < (size_t)arena)
    return fail(LTC_INVALID_ARGUMENT, "other operands than the program's");
  for (uint32_t i = 0; i < count; ++i)
    if (!is_right(view, i, &launch->operands[i], launch->symbols))
      return fail(LTC_INVALID_ARGUMENT, "operand %u is not the program's", i);
  *made =
      (run){.program = program,
            .operand_count = count,
            .arena = launch->arena ? launch->arena->data : NULL,
            .first_step = launch->first_step,
            .end_step = launch->end_step < view->step_count ? launch->end_step
                                                            : view->step_count};
  made->operands = malloc((count + 1) * sizeof(ltc_operand));
  memcpy(made->operands, launch->operands, count * sizeof(ltc_operand));
  made->symbols = malloc((launch->symbol_count + 1) * sizeof(int64_t));
  memcpy(made->symbols, launch->symbols,
         launch->symbol_count * sizeof(int64_t));
  return NULL;
}

void run_end(run *done) {
  free(done->operands);
  free(done->symbols);
}

/* What the word is counted from, as a number. */
static int64_t base_of(const run *given, const ltc_word *word) {
  const ltc_program_view *view = &given->program->view;
  uint32_t number =
      word->base == LTC_RESULT ? view->info->inputs + word->index : word->index;
  int64_t offset = 0;
  switch (word->base) {
  case LTC_INPUT:
  case LTC_RESULT:
    return given->operands[number].buffer
               ? (int64_t)(uintptr_t)given->operands[number].buffer->data
               : (int64_t)given->operands[number].bits;
  case LTC_ARENA:
    ltc_arena_offset(view, word->index, given->symbols, &offset);
    return (int64_t)(uintptr_t)given->arena + offset;
  case LTC_SYMBOLS:
    return (int64_t)(uintptr_t)given->symbols;
  default:
    return 0;
  }
}

ltc_error *run_steps(ltc_device *device, const run *given) {
  const ltc_program_view *view = &given->program->view;
  ++device->launches;
  for (uint32_t s = given->first_step; s < given->end_step; ++s) {
    const ltc_step *step = &view->steps[s];
    int64_t *words = malloc((step->words + 1) * sizeof(int64_t));
    for (uint32_t w = 0; w < step->words; ++w) {
      const ltc_word *word = &view->words[step->first_word + w];
      int64_t amount = 0;
      ltc_evaluate(view, word->amount, given->symbols, &amount);
      words[w] = base_of(given, word) + amount;
    }
    int is_mine = step->kind != LTC_CALL;
    if (step->kind == LTC_COPY)
      memmove((void *)(uintptr_t)words[0], (void *)(uintptr_t)words[1],
              (size_t)words[2]);
    else if (is_mine)
      module_run(given->program->parts[step->target], words);
    device->parts += step->kind == LTC_LAUNCH;
    free(words);
    if (!is_mine)
      return fail(LTC_UNSUPPORTED, "step %u is a call of the host's", s);
  }
  return NULL;
}

int32_t call_taken(ltc_device *device, ltc_bytes call) {
  static const char *const ops[] = {"mm",
                                    "addmm",
                                    "relu",
                                    "t_copy",
                                    "view_copy",
                                    "threshold_backward",
                                    "add.Tensor",
                                    "sub.Tensor",
                                    "mul.Tensor",
                                    "div.Tensor",
                                    "neg",
                                    "exp",
                                    "sqrt",
                                    "tanh",
                                    "tanh_backward",
                                    "ones_like",
                                    "zeros_like",
                                    "sum.dim_IntList",
                                    "_fused_sgd",
                                    "_fused_adamw",
                                    "_log_softmax",
                                    "native_dropout",
                                    "native_dropout_backward",
                                    "_log_softmax_backward_data"};
  (void)device;
  for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); ++i) {
    char name[64];
    int size = snprintf(name, sizeof(name), "= aten::%s(", ops[i]);
    if (memmem(call.data, call.size, name, (size_t)size))
      return 1;
  }
  return 0;
}

ltc_error *part_compile(ltc_device *device, ltc_bytes part, ltc_bytes *code) {
  char *text = malloc(part.size + 1);
  (void)device;
  memcpy(text, part.data, part.size);
  text[part.size] = 0;
  module *read = module_read(text, part.size);
  if (!read) {
    free(text);
    return fail(LTC_UNSUPPORTED, "the board cannot do all of this part");
  }
  module_free(read);
  *code = (ltc_bytes){text, part.size + 1};
  return NULL;
}

void part_free(ltc_device *device, ltc_bytes code) {
  (void)device;
  free((void *)code.data);
}
