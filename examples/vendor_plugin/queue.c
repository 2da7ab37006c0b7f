/*===- queue.c - A list of commands and a thread ------------------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* A queue is a list of commands and a thread, the board's processor.
|*
\*===----------------------------------------------------------------------===*/
#include "board.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct ltc_fence {
  ltc_queue *queue; /* whose mutex it is under */
  int reached, has_failed;
  ltc_error outcome;
};

typedef struct command {
  enum { COPY, RUN, RECORD, RESUME } kind;
  struct command *next;
  void *to; /* COPY */
  const void *from;
  size_t bytes;
  run run;          /* RUN */
  ltc_fence *fence; /* RECORD */
} command;

struct ltc_queue {
  ltc_device *device;
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  command *first, **end;
  int closed;
  /* Of the thread. */
  int skips;        /* launches, since one failed */
  ltc_error *error; /* the first since the last fence */
};

static void keep(ltc_queue *queue, ltc_error *error) {
  queue->skips |= error != NULL;
  if (!queue->error)
    queue->error = error;
  else
    free(error);
}

static void reach(ltc_queue *queue, ltc_fence *fence) {
  pthread_mutex_lock(&queue->mutex);
  if (queue->error) {
    fence->has_failed = 1;
    fence->outcome = *queue->error;
  }
  fence->reached = 1;
  pthread_cond_broadcast(&queue->changed);
  pthread_mutex_unlock(&queue->mutex);
  free(queue->error);
  queue->error = NULL;
}

static void perform(ltc_queue *queue, command *what) {
  switch (what->kind) {
  case COPY:
    ++queue->device->copies;
    if (what->bytes && what->from)
      memcpy(what->to, what->from, what->bytes);
    else if (what->bytes)
      memset(what->to, 0, what->bytes);
    break;
  case RUN:
    keep(queue, queue->skips ? fail(LTC_SKIPPED, "a launch before it failed")
                             : run_steps(queue->device, &what->run));
    run_end(&what->run);
    break;
  case RECORD:
    reach(queue, what->fence);
    break;
  case RESUME:
    queue->skips = 0;
    break;
  }
}

static void *process(void *given) {
  ltc_queue *queue = given;
  pthread_mutex_lock(&queue->mutex);
  while (1) {
    while (!queue->first && !queue->closed)
      pthread_cond_wait(&queue->changed, &queue->mutex);
    command *next = queue->first;
    if (!next)
      break;
    queue->first = next->next;
    if (!queue->first)
      queue->end = &queue->first;
    pthread_mutex_unlock(&queue->mutex);
    perform(queue, next);
    free(next);
    pthread_mutex_lock(&queue->mutex);
  }
  pthread_mutex_unlock(&queue->mutex);
  return NULL;
}

static ltc_error *append(ltc_queue *queue, command what) {
  command *made = malloc(sizeof(*made));
  *made = what;
  pthread_mutex_lock(&queue->mutex);
  *queue->end = made;
  queue->end = &made->next;
  pthread_cond_broadcast(&queue->changed);
  pthread_mutex_unlock(&queue->mutex);
  return NULL;
}

ltc_error *queue_create(ltc_device *device, ltc_queue **queue) {
  ltc_queue *made = calloc(1, sizeof(*made));
  pthread_condattr_t clock;
  made->device = device;
  made->end = &made->first;
  pthread_mutex_init(&made->mutex, NULL);
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_cond_init(&made->changed, &clock);
  pthread_create(&made->thread, NULL, process, made);
  *queue = made;
  return NULL;
}

void queue_free(ltc_device *device, ltc_queue *queue) {
  (void)device;
  pthread_mutex_lock(&queue->mutex);
  queue->closed = 1;
  pthread_cond_broadcast(&queue->changed);
  pthread_mutex_unlock(&queue->mutex);
  pthread_join(queue->thread, NULL);
  free(queue->error);
  pthread_cond_destroy(&queue->changed);
  pthread_mutex_destroy(&queue->mutex);
  free(queue);
}

ltc_error *queue_resume(ltc_device *device, ltc_queue *queue) {
  (void)device;
  return append(queue, (command){.kind = RESUME});
}

ltc_error *queue_copy(ltc_queue *queue, void *to, const void *from,
                      size_t bytes) {
  return append(
      queue, (command){.kind = COPY, .to = to, .from = from, .bytes = bytes});
}

ltc_error *queue_run(ltc_queue *queue, run given) {
  return append(queue, (command){.kind = RUN, .run = given});
}

ltc_error *fence_record(ltc_device *device, ltc_queue *queue,
                        ltc_fence **fence) {
  (void)device;
  *fence = calloc(1, sizeof(**fence));
  (*fence)->queue = queue;
  return append(queue, (command){.kind = RECORD, .fence = *fence});
}

ltc_error *fence_wait(ltc_device *device, ltc_fence *fence, int64_t nanoseconds,
                      int32_t *reached) {
  ltc_queue *queue = fence->queue;
  struct timespec until;
  int late = nanoseconds == 0;
  (void)device;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += nanoseconds / 1000000000;
  until.tv_nsec += nanoseconds % 1000000000;
  if (until.tv_nsec >= 1000000000) {
    until.tv_nsec -= 1000000000;
    ++until.tv_sec;
  }
  pthread_mutex_lock(&queue->mutex);
  while (!fence->reached && !late)
    late = nanoseconds < 0
               ? pthread_cond_wait(&queue->changed, &queue->mutex)
               : pthread_cond_timedwait(&queue->changed, &queue->mutex, &until);
  *reached = fence->reached;
  pthread_mutex_unlock(&queue->mutex);
  if (!*reached || !fence->has_failed)
    return NULL;
  ltc_error *error = malloc(sizeof(*error));
  *error = fence->outcome;
  return error;
}

void fence_free(ltc_device *device, ltc_fence *fence) {
  (void)device;
  free(fence);
}
