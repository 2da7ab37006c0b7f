/*===- board.h - The board that this example drives ---------------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* The board that this example drives: memory that the host does not reach, and
|* a processor that does what is queued. Here both are the host's own; a driver
|* of hardware has its registers and rings in their place.
|*
\*===----------------------------------------------------------------------===*/
#ifndef BOARD_H
#define BOARD_H

#include <ltc/plugin.h>
#include <ltc/program.h>
#include <pthread.h>

struct ltc_error {
  ltc_error_code code;
  int64_t site;
  char message[200];
};

struct ltc_buffer {
  char *data; /* an address of the board's */
  size_t bytes;
};

struct ltc_device {
  pthread_mutex_t mutex;
  size_t limit, allocated, max_allocated;
  _Atomic int64_t launches, copies, parts; /* by the board's processor */
};

struct ltc_error *fail(ltc_error_code code, const char *format, ...);

/* program.c: a program and its runs. `words` and `operands` are copies. */
typedef struct run {
  ltc_program *program;
  ltc_operand *operands;
  size_t operand_count;
  int64_t *symbols;
  char *arena;
  uint32_t first_step, end_step;
} run;
ltc_error *program_load(ltc_device *device, ltc_bytes artifact,
                        ltc_program **program);
void program_free(ltc_device *device, ltc_program *program);
/* Checks a launch and copies what it borrows; NULL or what is wrong. */
ltc_error *run_begin(run *made, ltc_program *program, const ltc_launch *launch);
ltc_error *run_steps(ltc_device *device, const run *given);
void run_end(run *done);

/* program.c: the board's compiler, and which calls it wants in its parts. */
ltc_error *part_compile(ltc_device *device, ltc_bytes part, ltc_bytes *code);
void part_free(ltc_device *device, ltc_bytes code);
int32_t call_taken(ltc_device *device, ltc_bytes call);

/* queue.c: what queues and fences are. */
ltc_error *queue_create(ltc_device *device, ltc_queue **queue);
void queue_free(ltc_device *device, ltc_queue *queue);
ltc_error *queue_resume(ltc_device *device, ltc_queue *queue);
ltc_error *queue_copy(ltc_queue *queue, void *to, const void *from,
                      size_t bytes);
ltc_error *queue_run(ltc_queue *queue, run given);
ltc_error *fence_record(ltc_device *device, ltc_queue *queue,
                        ltc_fence **fence);
ltc_error *fence_wait(ltc_device *device, ltc_fence *fence, int64_t nanoseconds,
                      int32_t *reached);
void fence_free(ltc_device *device, ltc_fence *fence);

#endif
