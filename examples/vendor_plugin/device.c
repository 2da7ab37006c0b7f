/*===- device.c - A board: memory, queues and programs ------------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
#include "board.h"

#include <errno.h>
#include <fcntl.h>
#include <ltc/plugin_defaults.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct ltc_device {
  ltc_account account;
  ltc_trace trace;
};

struct ltc_buffer {
  char *data; /* memory of the board's: the host's own stands in for it */
  size_t bytes;
};

struct ltc_program {
  ltc_program_view view;
  void *bytes;  /* that it reads in place */
  code **parts; /* by number of the kernel */
};

struct ltc_fence {
  int event; /* can be read once it is reached */
  ltc_error outcome;
};

typedef struct command {
  enum { COPY, RUN, RECORD, RESUME } kind;
  void *to; /* COPY; of zeros from NULL */
  const void *from;
  size_t bytes;
  ltc_program *program; /* RUN: its steps from `step` to `end` */
  uint32_t step, end;
  int64_t *words;   /* of all steps */
  ltc_fence *fence; /* RECORD */
} command;

struct ltc_queue {
  ltc_device *device;
  pthread_t thread; /* the board's processor */
  int ring[2];      /* a pipe stands in for the board's ring of commands */
};

static ltc_error *device_count(uint32_t *count) {
  *count = 1;
  return NULL;
}

static ltc_error *device_open(uint32_t ordinal, const ltc_property *options,
                              size_t option_count, ltc_device **device) {
  if (ordinal != 0)
    return ltc_fail(LTC_INVALID_ARGUMENT, "there is no board %u", ordinal);
  ltc_device made = {0};
  ltc_error *error = ltc_account_open(&made.account, options, option_count);
  if (!error)
    *device = memcpy(malloc(sizeof(made)), &made, sizeof(made));
  return error;
}

static void device_close(ltc_device *device) {
  free(device->trace.spans);
  free(device);
}

static const ltc_property *properties(ltc_device *device, size_t *count) {
  static const ltc_property target = {"target", "linalg:board:v2:"};
  *count = 1;
  return &target;
}

static void memory(ltc_device *device, ltc_memory *out, int32_t reset_peak) {
  ltc_account_read(&device->account, out, reset_peak);
}

static ltc_error *buffer_alloc(ltc_device *device, size_t bytes,
                               ltc_buffer **buffer) {
  ltc_buffer made = {NULL, bytes};
  if (ltc_account_take(&device->account, bytes)) {
    made.data = aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (!made.data)
      ltc_account_give(&device->account, bytes);
  }
  if (!made.data)
    return ltc_fail(LTC_OUT_OF_MEMORY, "the board has no %zu bytes", bytes);
  *buffer = memcpy(malloc(sizeof(made)), &made, sizeof(made));
  return NULL;
}

static void buffer_free(ltc_device *device, ltc_buffer *buffer) {
  ltc_account_give(&device->account, buffer->bytes);
  free(buffer->data);
  free(buffer);
}

static ltc_error *part_compile(ltc_device *device, ltc_bytes part,
                               ltc_bytes *made) {
  code *read = code_read(part.data, part.size);
  if (!read)
    return ltc_fail(LTC_UNSUPPORTED, "the board cannot do all of this part");
  code_free(read);
  *made =
      (ltc_bytes){memcpy(malloc(part.size), part.data, part.size), part.size};
  return NULL;
}

static void part_free(ltc_device *device, ltc_bytes made) {
  free((void *)made.data);
}

static void program_free(ltc_device *device, ltc_program *program) {
  for (uint32_t i = 0; program->parts && i < program->view.kernel_count; ++i)
    if (program->parts[i])
      code_free(program->parts[i]);
  free(program->parts);
  free(program->bytes);
  free(program);
}

static ltc_error *program_load(ltc_device *device, ltc_bytes bytes,
                               ltc_program **program) {
  ltc_program *made = calloc(1, sizeof(*made));
  ltc_program_view *view = &made->view;
  ltc_error *error = ltc_program_keep(view, &made->bytes, bytes);
  if (!error && !ltc_target_is(view, "linalg"))
    error = ltc_fail(LTC_UNSUPPORTED, "the board runs what it has compiled");
  made->parts = calloc(view->kernel_count + 1, sizeof(code *));
  for (uint32_t i = 0; !error && i < view->kernel_count; ++i) {
    ltc_text text = view->blobs[view->kernels[i].blob].bytes;
    made->parts[i] = code_read(ltc_text_begin(view, text), text.size);
    if (!made->parts[i])
      error = ltc_fail(LTC_DEVICE_FAILED, "the code is none of the board's");
  }
  if (error)
    program_free(device, made);
  else
    *program = made;
  return error;
}

static ltc_error *perform(command *what) {
  if (what->kind == COPY && what->bytes && what->from)
    memcpy(what->to, what->from, what->bytes);
  else if (what->kind == COPY && what->bytes)
    memset(what->to, 0, what->bytes);
  for (; what->step < what->end; ++what->step) {
    const ltc_step *step = &what->program->view.steps[what->step];
    const int64_t *words = what->words + step->first_word;
    if (step->kind == LTC_CALL)
      return ltc_fail(LTC_UNSUPPORTED, "library calls are the host's");
    if (step->kind == LTC_LAUNCH)
      code_run(what->program->parts[step->target], words);
    else
      memmove((void *)words[0], (void *)words[1], (size_t)words[2]);
  }
  return NULL;
}

/* The board: does what is in the ring, in order, until that is closed. */
static void *process(void *given) {
  ltc_queue *queue = given;
  ltc_outcome outcome = {0};
  command what;
  while (TEMP_FAILURE_RETRY(read(queue->ring[0], &what, sizeof(what))) > 0) {
    int64_t start = ltc_clock();
    if (what.kind == RUN && outcome.skips)
      ltc_outcome_add(&outcome, ltc_fail(LTC_SKIPPED, "one before it failed"));
    else
      ltc_outcome_add(&outcome, perform(&what));
    if (what.kind == RUN || what.kind == COPY)
      ltc_trace_add(&queue->device->trace, what.kind == RUN ? "run" : "copy", 0,
                    start, ltc_clock());
    free(what.words);
    if (what.kind == RESUME)
      outcome.skips = 0;
    if (what.kind == RECORD) {
      what.fence->outcome = ltc_outcome_take(&outcome);
      eventfd_write(what.fence->event, 1);
    }
  }
  return NULL;
}

/* Done at once where there is no queue. */
static ltc_error *submit(ltc_queue *queue, command what) {
  ltc_error *error = queue ? NULL : perform(&what);
  if (!queue)
    free(what.words);
  else if (TEMP_FAILURE_RETRY(write(queue->ring[1], &what, sizeof(what))) < 0)
    error = ltc_fail(LTC_DEVICE_FAILED, "the board's ring is broken");
  return error;
}

static ltc_error *buffer_write(ltc_device *device, ltc_queue *queue,
                               ltc_buffer *buffer, size_t offset,
                               ltc_bytes data) {
  command copy = {.kind = COPY, .from = data.data, .bytes = data.size};
  copy.to = buffer->data + offset;
  ltc_error *wrong = ltc_check_range(buffer->bytes, offset, data.size);
  return wrong ? wrong : submit(queue, copy);
}

static ltc_error *buffer_read(ltc_device *device, ltc_queue *queue,
                              ltc_buffer *buffer, size_t offset, void *data,
                              size_t bytes) {
  command copy = {.kind = COPY, .to = data, .bytes = bytes};
  copy.from = buffer->data + offset;
  ltc_error *wrong = ltc_check_range(buffer->bytes, offset, bytes);
  return wrong ? wrong : submit(queue, copy);
}

static ltc_place place_of(const ltc_buffer *buffer) {
  return (ltc_place){(int64_t)buffer->data, buffer->bytes};
}

static ltc_error *program_run(ltc_device *device, ltc_queue *queue,
                              ltc_program *program, const ltc_launch *launch) {
  command run = {.kind = RUN, .program = program, .step = launch->first_step};
  ltc_error *wrong =
      ltc_launch_keep(&program->view, launch, place_of, &run.words, &run.end);
  return wrong ? wrong : submit(queue, run);
}

static ltc_error *queue_create(ltc_device *device, ltc_queue **queue) {
  ltc_queue *made = calloc(1, sizeof(*made));
  made->device = device;
  if (pipe2(made->ring, O_CLOEXEC) ||
      pthread_create(&made->thread, NULL, process, made)) {
    free(made);
    return ltc_fail(LTC_DEVICE_FAILED, "the board has no ring left");
  }
  *queue = made;
  return NULL;
}

static void queue_free(ltc_device *device, ltc_queue *queue) {
  close(queue->ring[1]);
  pthread_join(queue->thread, NULL);
  close(queue->ring[0]);
  free(queue);
}

static ltc_error *queue_resume(ltc_device *device, ltc_queue *queue) {
  return submit(queue, (command){.kind = RESUME});
}

static ltc_error *fence_record(ltc_device *device, ltc_queue *queue,
                               ltc_fence **fence) {
  *fence = calloc(1, sizeof(**fence));
  (*fence)->event = eventfd(0, EFD_CLOEXEC);
  return submit(queue, (command){.kind = RECORD, .fence = *fence});
}

static ltc_error *fence_wait(ltc_device *device, ltc_fence *fence,
                             int64_t nanoseconds, int32_t *reached) {
  struct pollfd event = {fence->event, POLLIN, 0};
  struct timespec most = {nanoseconds / 1000000000, nanoseconds % 1000000000};
  *reached = TEMP_FAILURE_RETRY(
      ppoll(&event, 1, nanoseconds < 0 ? NULL : &most, NULL));
  return *reached ? ltc_error_again(&fence->outcome) : NULL;
}

static void fence_free(ltc_device *device, ltc_fence *fence) {
  close(fence->event);
  free(fence);
}

static ltc_error *trace_start(ltc_device *device) {
  return ltc_trace_begin(&device->trace);
}

static const ltc_span *trace_stop(ltc_device *device, size_t *count,
                                  int64_t *now) {
  return ltc_trace_end(&device->trace, count, now);
}

/* clang-format off */
const ltc_plugin *ltc_plugin_query(uint32_t abi_major, const ltc_host *host) {
  static const ltc_plugin table = {
      sizeof(table), "board", ltc_read_error, ltc_free_error, device_count,
      device_open, device_close, properties, buffer_alloc, buffer_free,
      buffer_write, buffer_read, memory, program_load, program_free,
      program_run, call_taken, /* the rest may be absent: */
      .queue_create = queue_create, .queue_free = queue_free,
      .queue_resume = queue_resume, .fence_record = fence_record,
      .fence_wait = fence_wait, .fence_free = fence_free,
      .part_compile = part_compile, .part_free = part_free,
      .trace_start = trace_start, .trace_stop = trace_stop};
  return abi_major == LTC_ABI_MAJOR ? &table : NULL;
}
