/*===- driver.c - A device that computes nothing ----------------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Complete but for the arithmetic: two devices with host memory that load any
|* program and fill every result with zeros. Lets every stage but the last be
|* tested, and shows a vendor the required part of plugin.h in one file, which
|* builds against the installed headers alone.
|*
\*===----------------------------------------------------------------------===*/
#include "ltc/plugin_defaults.h"

enum { DEVICES = 2, ALIGNMENT = 64 };

struct ltc_buffer {
  char *data;
  size_t bytes;
};

struct ltc_device {
  ltc_account account;
};

struct ltc_program {
  void *bytes; /* as they came: the view reads them in place */
  ltc_program_view view;
};

static ltc_error *device_count(uint32_t *count) {
  *count = DEVICES;
  return NULL;
}

static ltc_error *device_open(uint32_t ordinal, const ltc_property *options,
                              size_t option_count, ltc_device **device) {
  ltc_account account = {0};
  if (ordinal >= DEVICES)
    return ltc_fail(LTC_INVALID_ARGUMENT, "the null driver has no device %u",
                    ordinal);
  ltc_error *error = ltc_account_open(&account, options, option_count);
  if (error)
    return error;
  *device = malloc(sizeof(**device));
  (*device)->account = account;
  return NULL;
}

static void device_close(ltc_device *device) { free(device); }

/* The host's own machine: code for it is never run, nor is a library call. */
static const ltc_property *properties(ltc_device *device, size_t *count) {
  static const ltc_property all[] = {
      {"target", "cpu:::"}, {"calls", "all"}, {"computes", "nothing"}};
  *count = sizeof(all) / sizeof(all[0]);
  return all;
}

static size_t rounded(size_t bytes) { /* and never 0 */
  return (bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
}

static ltc_error *buffer_alloc(ltc_device *device, size_t bytes,
                               ltc_buffer **buffer) {
  int fits = bytes < PTRDIFF_MAX - ALIGNMENT &&
             ltc_account_take(&device->account, bytes);
  char *data = fits ? aligned_alloc(ALIGNMENT, rounded(bytes)) : NULL;
  if (!data) {
    if (fits)
      ltc_account_give(&device->account, bytes);
    return ltc_fail(LTC_OUT_OF_MEMORY,
                    "cannot allocate %zu bytes on the null device", bytes);
  }
  *buffer = malloc(sizeof(**buffer));
  (*buffer)->data = data;
  (*buffer)->bytes = bytes;
  return NULL;
}

static void buffer_free(ltc_device *device, ltc_buffer *buffer) {
  ltc_account_give(&device->account, buffer->bytes);
  free(buffer->data);
  free(buffer);
}

static ltc_error *buffer_write(ltc_device *device, ltc_queue *queue,
                               ltc_buffer *buffer, size_t offset,
                               ltc_bytes data) {
  ltc_error *wrong = ltc_check_range(buffer->bytes, offset, data.size);
  if (wrong)
    return wrong;
  if (data.data)
    memcpy(buffer->data + offset, data.data, data.size);
  else if (data.size)
    memset(buffer->data + offset, 0, data.size);
  return NULL;
}

static ltc_error *buffer_read(ltc_device *device, ltc_queue *queue,
                              ltc_buffer *buffer, size_t offset, void *data,
                              size_t bytes) {
  ltc_error *wrong = ltc_check_range(buffer->bytes, offset, bytes);
  if (wrong)
    return wrong;
  if (bytes)
    memcpy(data, buffer->data + offset, bytes);
  return NULL;
}

static void memory(ltc_device *device, ltc_memory *out, int32_t reset_peak) {
  ltc_account_read(&device->account, out, reset_peak);
}

static void program_free(ltc_device *device, ltc_program *program) {
  free(program->bytes);
  free(program);
}

static ltc_error *program_load(ltc_device *device, ltc_bytes artifact,
                               ltc_program **program) {
  ltc_program *made = calloc(1, sizeof(*made));
  ltc_error *error = ltc_program_keep(&made->view, &made->bytes, artifact);
  if (error)
    program_free(device, made);
  else
    *program = made;
  return error;
}

static ltc_place place_of(const ltc_buffer *buffer) {
  ltc_place place = {(int64_t)(intptr_t)buffer->data, buffer->bytes};
  return place;
}

/* A device that computes goes through the steps from first_step to end_step
   here: ltc_launch_words says where each finds its operands. */
static ltc_error *program_run(ltc_device *device, ltc_queue *queue,
                              ltc_program *program, const ltc_launch *launch) {
  const char *wrong = ltc_launch_check(&program->view, launch, place_of);
  if (wrong)
    return ltc_fail(LTC_INVALID_ARGUMENT, "%s", wrong);
  for (size_t i = program->view.info->inputs; i < launch->operand_count; ++i) {
    ltc_buffer *result = launch->operands[i].buffer;
    memset(result->data, 0, result->bytes);
  }
  return NULL;
}

/* No queues: every call is done when it returns. No pointer for the host: as on
   a device with memory of its own, every transfer is a copy. */
const ltc_plugin *ltc_plugin_query(uint32_t abi_major, const ltc_host *host) {
  static const ltc_plugin plugin = {
      .struct_size = LTC_PLUGIN_REQUIRED_SIZE,
      .name = "null",
      .error_read = ltc_read_error,
      .error_free = ltc_free_error,
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
  };
  return abi_major == LTC_ABI_MAJOR ? &plugin : NULL;
}
