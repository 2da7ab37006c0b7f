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
|* Sizes of memory are in bytes, sizes and strides of tensors in elements.
|* Errors: a function that returns ltc_error* returns NULL on success; otherwise
|* it leaves its out parameters alone, and the device usable. The host reads an
|* error with the plugin's error_* functions and frees it once.
|* Ownership: what a function returns through `**` is the plugin's, until the
|* host gives it to the function named ..._free or ..._close, once and never as
|* NULL. A device is closed when all of its buffers and programs are freed.
|* Pointers to arguments are borrowed for the call, unless it is said otherwise.
|* Threads: buffer_alloc, buffer_free, buffer_host_pointer, memory, target and
|* the error_* functions may be called from any thread; everything else of one
|* device from one thread at a time. After a fork() the child calls nothing.
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

/* ltc::ErrorCode (error.h, which says what each is for) plus one: 0 is success.
 */
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

/* One operand of a library kernel: a tensor's memory, sizes and strides (`rank`
   of each), or a scalar's 64 bits in `bits`: a double, or an integer or bool
   with its sign extended. dtype: the numbers of ltc::DType (types.h). */
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
  /* Finds the library kernel for a call: the text ltc_library_call::graph.
     Returns NULL and fills `message` (NUL-terminated, cut to `capacity` bytes)
     on failure. The plugin frees what it got. */
  ltc_kernel *(*kernel_resolve)(ltc_bytes call, char *message, size_t capacity);
  void (*kernel_free)(ltc_kernel *kernel);
  /* Reads the operands and writes every element of the results, in memory that
     the host's CPU reaches. Returns LTC_OK, or a code and a message. One kernel
     from one thread at a time; blocks until it is done. */
  ltc_error_code (*kernel_run)(ltc_kernel *kernel, const ltc_view *operands,
                               size_t operand_count, const ltc_view *results,
                               size_t result_count, char *message,
                               size_t capacity);
  /* body(begin, end, argument) over [0, n), in pieces of about `grain` or
     more, on several threads. Returns when all are done. */
  void (*parallel_for)(int64_t n, int64_t grain,
                       void (*body)(int64_t, int64_t, void *), void *argument);
} ltc_host;

/* One argument of a launch, in the order of the graph's inputs, then its
   results. Tensors are dense and row-major, from the buffer's first byte on. A
   donated result repeats its input's buffer. */
typedef struct ltc_operand {
  ltc_buffer *buffer;   /* NULL for a scalar */
  const int64_t *sizes; /* `rank` of them */
  uint32_t rank;
  uint8_t dtype; /* as in ltc_view */
  uint64_t bits; /* the scalar, as in ltc_view */
} ltc_operand;

/* In bytes. */
typedef struct ltc_memory {
  size_t allocated;     /* by buffers */
  size_t max_allocated; /* the most that was, since the device was opened or the
                           peak was reset */
  size_t reserved;      /* taken from the system; at least `allocated` */
} ltc_memory;

typedef struct ltc_plugin {
  size_t struct_size;
  const char *name; /* static storage, [a-z][a-z0-9_]* */
  /* No member below is NULL. */

  ltc_error_code (*error_code)(const ltc_error *error);
  const char *(*error_message)(const ltc_error *error); /* until error_free */
  /* Where: a number in the program's table of error sites, or behind those one
     in that of library calls; -1 if unknown. */
  int64_t (*error_site)(const ltc_error *error);
  void (*error_free)(ltc_error *error);

  ltc_error *(*device_count)(uint32_t *count);
  /* `host` outlives the device. `memory_limit` bounds `reserved`; 0: no limit.
     An ordinal that is not below the count: LTC_INVALID_ARGUMENT. */
  ltc_error *(*device_open)(uint32_t ordinal, const ltc_host *host,
                            size_t memory_limit, ltc_device **device);
  void (*device_close)(ltc_device *device);
  /* "kind:triple:cpu:features" (target.h); static or device lifetime. What the
     compiler makes code for. */
  const char *(*target)(ltc_device *device);

  /* Of any content, aligned to 64 bytes; `bytes` may be 0. What does not fit:
     LTC_OUT_OF_MEMORY. */
  ltc_error *(*buffer_alloc)(ltc_device *device, size_t bytes,
                             ltc_buffer **buffer);
  void (*buffer_free)(ltc_device *device, ltc_buffer *buffer);
  /* Between the host's memory and [offset, offset + bytes) of a buffer, done
     when they return. Outside of the buffer: LTC_INVALID_ARGUMENT. A write
     whose data.data is NULL is of zeros, for which no memory need be made
     resident. */
  ltc_error *(*buffer_write)(ltc_device *device, ltc_buffer *buffer,
                             size_t offset, ltc_bytes data);
  ltc_error *(*buffer_read)(ltc_device *device, ltc_buffer *buffer,
                            size_t offset, void *data, size_t bytes);
  /* The memory itself where the host can reach it, until the buffer is freed,
     else NULL. */
  void *(*buffer_host_pointer)(ltc_device *device, ltc_buffer *buffer);
  /* With reset_peak, max_allocated begins anew at `allocated`. */
  void (*memory)(ltc_device *device, ltc_memory *out, int32_t reset_peak);

  /* `artifact`: a program as program.h reads it, at an address that is a
     multiple of 8, borrowed for the call. Bytes that are none:
     LTC_INVALID_ARGUMENT; for another target: LTC_UNSUPPORTED; with code that
     cannot be loaded: LTC_DEVICE_FAILED. */
  ltc_error *(*program_load)(ltc_device *device, ltc_bytes artifact,
                             ltc_program **program);
  void (*program_free)(ltc_device *device, ltc_program *program);
  /* Runs to completion before it returns. `symbols` are the values of the
     program's symbols, on which sizes depend. `arena` has the bytes of all
     parts of the arena, or is NULL when that is 0. Other operands than the
     artifact has: LTC_INVALID_ARGUMENT, and nothing runs. After a failure at a
     site nothing that the program does later has been written: donated operands
     are as they were, but for calls that `spoil` them (program.h). */
  ltc_error *(*program_run)(ltc_device *device, ltc_program *program,
                            const ltc_operand *operands, size_t count,
                            const int64_t *symbols, size_t symbol_count,
                            ltc_buffer *arena);
} ltc_plugin;

/* The one exported symbol. The table lives as long as the process; NULL if the
   plugin cannot serve this ABI major. */
LTC_EXPORT const ltc_plugin *ltc_plugin_query(uint32_t abi_major);

#ifdef __cplusplus
}
#endif
#endif /* LTC_PLUGIN_H */
