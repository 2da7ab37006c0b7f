/*===- device.c - The table, devices and memory -------------------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* The table: errors, devices, memory.
|*
\*===----------------------------------------------------------------------===*/
#include "board.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

ltc_error *fail(ltc_error_code code, const char *format, ...) {
  ltc_error *error = malloc(sizeof(*error));
  va_list arguments;
  error->code = code;
  error->site = -1;
  va_start(arguments, format);
  vsnprintf(error->message, sizeof(error->message), format, arguments);
  va_end(arguments);
  return error;
}

static void error_read(const ltc_error *error, ltc_error_info *info) {
  info->code = error->code;
  info->message = error->message;
  info->site = error->site;
}

static void error_free(ltc_error *error) { free(error); }

static ltc_error *device_count(uint32_t *count) {
  *count = 1;
  return NULL;
}

static ltc_error *device_open(uint32_t ordinal, const ltc_property *options,
                              size_t option_count, ltc_device **device) {
  size_t limit = 0;
  if (ordinal != 0)
    return fail(LTC_INVALID_ARGUMENT, "there is one board, and no %u", ordinal);
  for (size_t i = 0; i < option_count; ++i) {
    char *end;
    if (strcmp(options[i].name, "memory_limit") != 0)
      return fail(LTC_INVALID_ARGUMENT,
                  "the board has no option %s: its option is memory_limit",
                  options[i].name);
    limit = strtoull(options[i].value, &end, 10);
    if (end == options[i].value || *end)
      return fail(LTC_INVALID_ARGUMENT, "memory_limit is a number of bytes");
  }
  *device = calloc(1, sizeof(**device));
  (*device)->limit = limit;
  pthread_mutex_init(&(*device)->mutex, NULL);
  return NULL;
}

static void device_close(ltc_device *device) {
  pthread_mutex_destroy(&device->mutex);
  free(device);
}

static const ltc_property *properties(ltc_device *device, size_t *count) {
  static const ltc_property all[] = {
      {"target", "linalg:board:v1:"}, /* and the compiler's version */
      {"description", "an example of a vendor's board"}};
  (void)device;
  *count = sizeof(all) / sizeof(all[0]);
  return all;
}

static size_t rounded(size_t bytes) {
  return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static ltc_error *buffer_alloc(ltc_device *device, size_t bytes,
                               ltc_buffer **buffer) {
  size_t size = bytes > SIZE_MAX / 2 ? 0 : rounded(bytes);
  char *data = NULL;
  pthread_mutex_lock(&device->mutex);
  if (size >= bytes &&
      (!device->limit || size <= device->limit - device->allocated))
    data = aligned_alloc(ALIGNMENT, size ? size : ALIGNMENT);
  if (data)
    device->allocated += size;
  if (device->allocated > device->max_allocated)
    device->max_allocated = device->allocated;
  pthread_mutex_unlock(&device->mutex);
  if (!data)
    return fail(LTC_OUT_OF_MEMORY, "the board has no %zu bytes left", bytes);
  *buffer = malloc(sizeof(**buffer));
  **buffer = (ltc_buffer){data, bytes};
  return NULL;
}

static void buffer_free(ltc_device *device, ltc_buffer *buffer) {
  pthread_mutex_lock(&device->mutex);
  device->allocated -= rounded(buffer->bytes);
  pthread_mutex_unlock(&device->mutex);
  free(buffer->data);
  free(buffer);
}

static int is_inside(const ltc_buffer *buffer, size_t offset, size_t bytes) {
  return offset <= buffer->bytes && bytes <= buffer->bytes - offset;
}

/* Queued, or at once where there is no queue. From NULL: zeros. */
static ltc_error *copy(ltc_queue *queue, void *to, const void *from,
                       size_t bytes) {
  if (queue)
    return queue_copy(queue, to, from, bytes);
  if (bytes && from)
    memcpy(to, from, bytes);
  else if (bytes)
    memset(to, 0, bytes);
  return NULL;
}

static ltc_error *buffer_write(ltc_device *device, ltc_queue *queue,
                               ltc_buffer *buffer, size_t offset,
                               ltc_bytes data) {
  (void)device;
  if (!is_inside(buffer, offset, data.size))
    return fail(LTC_INVALID_ARGUMENT, "the write ends outside of the buffer");
  return copy(queue, buffer->data + offset, data.data, data.size);
}

static ltc_error *buffer_read(ltc_device *device, ltc_queue *queue,
                              ltc_buffer *buffer, size_t offset, void *data,
                              size_t bytes) {
  (void)device;
  if (!is_inside(buffer, offset, bytes))
    return fail(LTC_INVALID_ARGUMENT, "the read ends outside of the buffer");
  return copy(queue, data, buffer->data + offset, bytes);
}

static void memory(ltc_device *device, ltc_memory *out, int32_t reset_peak) {
  pthread_mutex_lock(&device->mutex);
  if (reset_peak)
    device->max_allocated = device->allocated;
  out->allocated = out->reserved = device->allocated;
  out->max_allocated = device->max_allocated;
  pthread_mutex_unlock(&device->mutex);
}

static ltc_error *program_run(ltc_device *device, ltc_queue *queue,
                              ltc_program *program, const ltc_launch *launch) {
  run made;
  ltc_error *error = run_begin(&made, program, launch);
  if (error)
    return error;
  if (queue)
    return queue_run(queue, made);
  error = run_steps(device, &made);
  run_end(&made);
  return error;
}

static size_t statistics(ltc_device *device, ltc_statistic *out,
                         size_t capacity) {
  ltc_statistic all[] = {{"launches", device->launches},
                         {"copies", device->copies},
                         {"parts", device->parts}};
  size_t count = sizeof(all) / sizeof(all[0]);
  memcpy(out, all, (capacity < count ? capacity : count) * sizeof(all[0]));
  return count;
}

const ltc_plugin *ltc_plugin_query(uint32_t abi_major, const ltc_host *host) {
  static const ltc_plugin table = {.struct_size = sizeof(table),
                                   .name = "board",
                                   .error_read = error_read,
                                   .error_free = error_free,
                                   .device_count = device_count,
                                   .device_open = device_open,
                                   .device_close = device_close,
                                   .properties = properties,
                                   .buffer_alloc = buffer_alloc,
                                   .buffer_free = buffer_free,
                                   .buffer_write = buffer_write,
                                   .buffer_read = buffer_read,
                                   .memory = memory,
                                   .program_load = program_load,
                                   .program_free = program_free,
                                   .program_run = program_run,
                                   .call_taken = call_taken,
                                   .queue_create = queue_create,
                                   .queue_free = queue_free,
                                   .queue_resume = queue_resume,
                                   .fence_record = fence_record,
                                   .fence_wait = fence_wait,
                                   .fence_free = fence_free,
                                   .statistics = statistics,
                                   .part_compile = part_compile,
                                   .part_free = part_free};
  (void)host;
  return abi_major == LTC_ABI_MAJOR ? &table : NULL;
}
