/*===- plugin.h - The C ABI of a device -------------------------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* A device is a shared library that exports ltc_plugin_query. The CPU and null
|* drivers of the project stand behind this same door. ABI major 0: members may
|* still move; from major 1 on they are only appended, and struct_size tells
|* both sides what the other one knows.
|*
|* Errors: a function that returns ltc_error* returns NULL on success. The host
|* reads an error with the plugin's error_* functions and frees it once.
|* Threads: buffer_alloc, buffer_free, buffer_host_pointer, memory and target
|* may be called from any thread; everything else of one device from one thread
|* at a time.
|*
\*===----------------------------------------------------------------------===*/
#ifndef LTC_PLUGIN_H
#define LTC_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LTC_ABI_MAJOR 0
#define LTC_EXPORT __attribute__((visibility("default")))

typedef struct ltc_error ltc_error;     /* plugin's own */
typedef struct ltc_device ltc_device;   /* plugin's own */
typedef struct ltc_buffer ltc_buffer;   /* plugin's own */
typedef struct ltc_program ltc_program; /* plugin's own */
typedef struct ltc_kernel ltc_kernel;   /* host's own */

/* Borrowed bytes; not NUL-terminated. */
typedef struct ltc_bytes {
  const void *data;
  size_t size;
} ltc_bytes;

/* ltc::ErrorCode (error.h) plus one: 0 is success. */
typedef int32_t ltc_error_code;
enum {
  LTC_OK,
  LTC_INVALID_ARGUMENT,
  LTC_UNSUPPORTED,
  LTC_OUT_OF_RANGE,
  LTC_OUT_OF_MEMORY,
  LTC_COMPILE_FAILED,
  LTC_DEVICE_FAILED,
  LTC_INTERRUPTED,
  LTC_INTERNAL,
  LTC_LINEAR_ALGEBRA
};

/* One operand of a library kernel: a tensor's memory, sizes and strides (in
   elements), or a scalar's 64 bits in `bits`. dtype: the numbers of ltc::DType.
 */
typedef struct ltc_view {
  void *data;
  const int64_t *sizes;
  const int64_t *strides;
  uint32_t rank;
  uint8_t dtype;
  uint8_t is_scalar;
  uint64_t bits;
} ltc_view;

/* What the host lends a device for as long as it is open. */
typedef struct ltc_host {
  size_t struct_size;
  /* Finds the library kernel for a call (text of a one-node graph). Returns
     NULL and fills `message` (NUL-terminated, cut to `capacity`) on failure. */
  ltc_kernel *(*kernel_resolve)(ltc_bytes call, char *message, size_t capacity);
  void (*kernel_free)(ltc_kernel *kernel);
  /* Returns LTC_OK, or a code and a message. */
  ltc_error_code (*kernel_run)(ltc_kernel *kernel, const ltc_view *operands,
                               size_t operand_count, const ltc_view *results,
                               size_t result_count, char *message,
                               size_t capacity);
  /* body(begin, end, argument) over [0, n), pieces of at least `grain`. */
  void (*parallel_for)(int64_t n, int64_t grain,
                       void (*body)(int64_t, int64_t, void *), void *argument);
} ltc_host;

/* One argument of a launch, in the order of the graph's inputs, then its
   results. Tensors are dense and row-major. A donated result repeats its
   input's buffer. */
typedef struct ltc_operand {
  ltc_buffer *buffer; /* NULL for a scalar */
  const int64_t *sizes;
  uint32_t rank;
  uint8_t dtype;
  uint64_t bits; /* the scalar */
} ltc_operand;

typedef struct ltc_memory {
  size_t allocated, max_allocated, reserved;
} ltc_memory;

typedef struct ltc_plugin {
  size_t struct_size;
  const char *name; /* static storage, [a-z][a-z0-9_]* */

  ltc_error_code (*error_code)(const ltc_error *error);
  const char *(*error_message)(const ltc_error *error); /* until error_free */
  /* Where: a number in Artifact::errorSites, or behind those one in
     Artifact::calls; -1 if unknown. */
  int64_t (*error_site)(const ltc_error *error);
  void (*error_free)(ltc_error *error);

  ltc_error *(*device_count)(uint32_t *count);
  /* `host` outlives the device. memory_limit in bytes, 0 for none. */
  ltc_error *(*device_open)(uint32_t ordinal, const ltc_host *host,
                            size_t memory_limit, ltc_device **device);
  void (*device_close)(ltc_device *device);
  /* "kind:triple:cpu:features" (target.h); static or device lifetime. */
  const char *(*target)(ltc_device *device);

  ltc_error *(*buffer_alloc)(ltc_device *device, size_t bytes,
                             ltc_buffer **buffer);
  void (*buffer_free)(ltc_device *device, ltc_buffer *buffer);
  ltc_error *(*buffer_write)(ltc_device *device, ltc_buffer *buffer,
                             size_t offset, ltc_bytes data);
  ltc_error *(*buffer_read)(ltc_device *device, ltc_buffer *buffer,
                            size_t offset, void *data, size_t bytes);
  /* The memory itself where the host can reach it, else NULL. */
  void *(*buffer_host_pointer)(ltc_device *device, ltc_buffer *buffer);
  void (*memory)(ltc_device *device, ltc_memory *out, int32_t reset_peak);

  /* `artifact`: Artifact::serialize(); borrowed for the call. */
  ltc_error *(*program_load)(ltc_device *device, ltc_bytes artifact,
                             ltc_program **program);
  void (*program_free)(ltc_device *device, ltc_program *program);
  /* Runs to completion before it returns. `symbols` are the values of the
     artifact's symbols, on which sizes and arenaBytes depend. `arena` has
     arenaBytes, or is NULL when that is 0. */
  ltc_error *(*program_run)(ltc_device *device, ltc_program *program,
                            const ltc_operand *operands, size_t count,
                            const int64_t *symbols, size_t symbol_count,
                            ltc_buffer *arena);
} ltc_plugin;

/* The one exported symbol. NULL if the plugin cannot serve this ABI major. */
LTC_EXPORT const ltc_plugin *ltc_plugin_query(uint32_t abi_major);

#ifdef __cplusplus
}
#endif
#endif /* LTC_PLUGIN_H */
