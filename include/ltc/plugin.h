/*===- plugin.h - The C ABI of a device -------------------------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* A device is a shared library that exports ltc_plugin_query. All drivers of
|* the project stand behind this same door. docs/adding-a-device.md introduces
|* it, docs/abi-changelog.md says what each version brought.
|*
|* Versions: in a major version no struct changes but by members behind its
|* last one, and no member changes its meaning. A struct that begins with
|* struct_size is as long as whoever made it says; what lies behind that is
|* absent, which means 0 or NULL. The others never change.
|*
|* Sizes of memory are in bytes, sizes and strides of tensors in elements.
|* Errors: a function that returns ltc_error* returns NULL on success; otherwise
|* it leaves its out parameters alone, and the device usable. The host reads an
|* error and frees it once.
|* Ownership: what a function returns through `**` is the plugin's, until the
|* host gives it to the function named ..._free or ..._close, once and never as
|* NULL. The host frees a buffer, host memory or a program when all that was
|* queued with it is done, a fence when it is reached, a queue when all that was
|* queued in it is done, and closes a device when it has freed all that the
|* device gave. Pointers to arguments are borrowed for the call, unless it is
|* said otherwise.
|* Threads: error_*, buffer_alloc, buffer_free, buffer_host_pointer, host_*,
|* memory, properties, statistics, fence_wait, fence_elapsed, fence_free,
|* part_compile and part_free may be called from any thread at any time;
|* everything else of one device from one thread at a time. After a fork() the
|* child calls nothing.
|*
\*===----------------------------------------------------------------------===*/
#ifndef LTC_PLUGIN_H
#define LTC_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LTC_ABI_MAJOR 1
#define LTC_ABI_MINOR 5 /* counts what was appended */
#define LTC_EXPORT __attribute__((visibility("default")))

typedef struct ltc_error ltc_error;     /* plugin's own */
typedef struct ltc_device ltc_device;   /* plugin's own */
typedef struct ltc_buffer ltc_buffer;   /* plugin's own */
typedef struct ltc_program ltc_program; /* plugin's own */
typedef struct ltc_queue ltc_queue;     /* plugin's own */
typedef struct ltc_fence ltc_fence;     /* plugin's own */
typedef struct ltc_kernel ltc_kernel;   /* host's own */
typedef struct ltc_capture ltc_capture; /* host's own */

/* Borrowed bytes; not NUL-terminated. */
typedef struct ltc_bytes {
  const void *data;
  size_t size;
} ltc_bytes;

/* ltc::ErrorCode (error.h, which says what each is for) plus one, and one more:
   0 is success. */
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
  LTC_LINEAR_ALGEBRA,
  LTC_SKIPPED /* a launch behind what failed; see program_run */
};

/* What an error says. The host sets struct_size; the plugin fills in what lies
   within it. */
typedef struct ltc_error_info {
  size_t struct_size;
  ltc_error_code code;
  const char *message; /* NUL-terminated; until error_free */
  /* Where: a number in the program's table of error sites, or behind those one
     in that of library calls; -1 if unknown. */
  int64_t site;
} ltc_error_info;

/* A named text: a property, or an option. NUL-terminated. */
typedef struct ltc_property {
  const char *name; /* [a-z][a-z0-9_]* */
  const char *value;
} ltc_property;

/* A named count since the device was opened. */
typedef struct ltc_statistic {
  /* [a-z][a-z0-9_]*, static storage. Since 1.5 a ':' and any text may stand
     behind that: what of its kind is counted. */
  const char *name;
  int64_t value;
} ltc_statistic;

/* Since 1.3. Something that the device did. */
typedef struct ltc_span {
  const char *name; /* NUL-terminated, any text */
  /* Which of its parts did it, as a queue or an engine for copies: a row of a
     timeline, on which spans come one after another, or lie in one another. */
  uint32_t lane;
  int64_t start, end; /* nanoseconds by the device's clock */
} ltc_span;

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

/* Since 1.5. Why what a kernel does cannot be captured. */
typedef int32_t ltc_uncaptured;
enum {
  LTC_MAY_CAPTURE, /* it can, as far as is known before */
  LTC_NO_CAPTURES, /* the library has none for the device */
  LTC_DRAWS,       /* random numbers, by a generator that the host sets */
  LTC_LOOKS,       /* at values, before it begins, as whether indices fit */
  LTC_FOREIGN      /* it is not the library's own, which knows no more of it */
};

/* What the host lends every plugin. Lives as long as the process. */
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

  /* Since 1.4, and may be NULL: the library's kernels of a device that it knows
     itself, for which the plugin drives the same chip, as PyTorch's "cuda":
     its `type`, NUL-terminated, and its number among those of the type.
     NULL, with the reason, where there is no such device or no kernel. */
  ltc_kernel *(*kernel_resolve_on)(ltc_bytes call, const char *type,
                                   uint32_t number, char *message,
                                   size_t capacity);
  /* kernel_run with operands and results in that device's memory. What it does
     is queued in `stream`, a handle of the device's own kind (CUstream), in
     whose order it runs; the memory stays until then. An index that is out of
     range is LTC_OUT_OF_RANGE, before anything is written. Only for what
     kernel_resolve_on found. */
  ltc_error_code (*kernel_run_on)(ltc_kernel *kernel, void *stream,
                                  const ltc_view *operands,
                                  size_t operand_count, const ltc_view *results,
                                  size_t result_count, char *message,
                                  size_t capacity);

  /* Since 1.5, and may be NULL, all five: what kernel_run_on queues, captured
     by the device in its own way (cuStreamBeginCapture) instead of done, to be
     done as often as the device likes, in the order of one stream. */
  ltc_uncaptured (*kernel_uncaptured)(ltc_kernel *kernel);
  /* From now on the stream captures, which has nothing else to do, and the
     library gives such a kernel memory that stays as long as the process.
     Until capture_end the calling thread calls nothing but kernel_run_on. NULL
     on failure. */
  ltc_capture *(*capture_begin)(ltc_kernel *kernel, void *stream, char *message,
                                size_t capacity);
  /* Ends it by the device's own call. So the stream must capture still: a
     device that gave up, as for a kernel that waits for the stream, begins an
     empty one before this. */
  ltc_error_code (*capture_end)(ltc_capture *capture, char *message,
                                size_t capacity);
  /* What the device made of it (CUgraph) ends here, copies of that do not. */
  void (*capture_free)(ltc_capture *capture);
  /* Another number than before if kernels may do other things than before: what
     was captured then is not what would be now. */
  uint64_t (*kernel_settings)(void);
} ltc_host;

/* One argument of a launch, in the order of the graph's inputs, then its
   results. Tensors are dense and row-major, from the buffer's first byte on. A
   donated result repeats its input's buffer. */
typedef struct ltc_operand {
  ltc_buffer *buffer;   /* NULL for a scalar */
  const int64_t *sizes; /* `rank` of them */
  uint32_t rank;
  uint8_t dtype; /* as in ltc_view */
  uint8_t flags; /* LTC_DONATED */
  uint64_t bits; /* the scalar, as in ltc_view */
} ltc_operand;

enum {
  LTC_DONATED = 1 /* an input whose memory is that of a result */
};

/* One run of a program, or of some of its steps. */
typedef struct ltc_launch {
  size_t struct_size;
  const ltc_operand *operands; /* borrowed until program_run returns */
  size_t operand_count;
  const int64_t *symbols; /* the values of the program's symbols; the same */
  size_t symbol_count;
  /* Has the bytes of all parts of the arena, or is NULL when that is 0. What
     one part of a run leaves there, the next part finds. */
  ltc_buffer *arena;
  /* [first_step, end_step) of the program's steps are to be done, whose library
     calls call_taken has said yes to; UINT32_MAX: to the last. */
  uint32_t first_step, end_step;
} ltc_launch;

/* In bytes. */
typedef struct ltc_memory {
  size_t struct_size;   /* the host's, as in ltc_error_info */
  size_t allocated;     /* by buffers */
  size_t max_allocated; /* the most that was, since the device was opened or the
                           peak was reset */
  size_t reserved;      /* taken from the system; at least `allocated` */
} ltc_memory;

typedef struct ltc_plugin {
  size_t struct_size;
  const char *name; /* static storage, [a-z][a-z0-9_]* */

  /* No member is NULL from here to program_run. */

  /* The two that end every failure: text and place, then its memory. */
  void (*error_read)(const ltc_error *error, ltc_error_info *info);
  void (*error_free)(ltc_error *error);

  /* How many devices there are; before any is open. */
  ltc_error *(*device_count)(uint32_t *count);
  /* Options: memory_limit bounds `reserved`, in bytes as decimal digits; absent
     is no limit. Others are the plugin's own, given by the user in
     LTC_DEVICE_OPTIONS. One that the plugin does not know, a value that it
     cannot read, or an ordinal that is not below the count:
     LTC_INVALID_ARGUMENT. */
  ltc_error *(*device_open)(uint32_t ordinal, const ltc_property *options,
                            size_t option_count, ltc_device **device);
  void (*device_close)(ltc_device *device);
  /* What it is; lives as long as the device. Must be there:
       target   what the compiler makes code for, "kind:triple:cpu:features"
                (target.h); "calls:::": no code, every step is a library call or
                a copy. A device with a compiler of its own has the kind linalg,
                bytecode, graph or stablehlo, which says how it is handed parts
                of a graph (part_compile), and behind it what else its code
                depends on, "linalg:chip:version:": programs are kept on disk,
                and found by this text, unless the second or third part is
                empty.
     May be:
       calls    "all": the device does every library call itself; call_taken is
                not asked
       computes "nothing": every result is zeros, as of a device for tests
       description, for people, and what else the plugin wants to show
       name     of the chip or the like, as programs ask for it
       memory   how much it has, in bytes as decimal digits
       processors  what runs one launch side by side, the same. */
  const ltc_property *(*properties)(ltc_device *device, size_t *count);

  /* Of any content; `bytes` may be 0. Where the host or a kernel sees the
     address, it is a multiple of 64. What does not fit: LTC_OUT_OF_MEMORY. */
  ltc_error *(*buffer_alloc)(ltc_device *device, size_t bytes,
                             ltc_buffer **buffer);
  void (*buffer_free)(ltc_device *device, ltc_buffer *buffer);
  /* Between the host's memory and [offset, offset + bytes) of a buffer. In a
     queue: done in its order, with host memory that stays as it is until then.
     `queue` is NULL: done when they return; nothing queued uses the buffer.
     Outside of the buffer: LTC_INVALID_ARGUMENT, at once. A write whose
     data.data is NULL is of zeros, for which no memory need be made
     resident. */
  ltc_error *(*buffer_write)(ltc_device *device, ltc_queue *queue,
                             ltc_buffer *buffer, size_t offset, ltc_bytes data);
  ltc_error *(*buffer_read)(ltc_device *device, ltc_queue *queue,
                            ltc_buffer *buffer, size_t offset, void *data,
                            size_t bytes);
  /* With reset_peak, max_allocated begins anew at `allocated`. */
  void (*memory)(ltc_device *device, ltc_memory *out, int32_t reset_peak);

  /* `artifact`: a program as program.h reads it, at an address that is a
     multiple of 8, borrowed for the call. Bytes that are none:
     LTC_INVALID_ARGUMENT; for another target: LTC_UNSUPPORTED; with code that
     cannot be loaded: LTC_DEVICE_FAILED. */
  ltc_error *(*program_load)(ltc_device *device, ltc_bytes artifact,
                             ltc_program **program);
  void (*program_free)(ltc_device *device, ltc_program *program);
  /* Runs in the order of the queue, or, where that is NULL, to completion
     before it returns. Other operands than the artifact has:
     LTC_INVALID_ARGUMENT, and nothing runs. After a failure at a site
     nothing that the program does later has been written: donated operands are
     as they were, but for calls that `spoil` them (program.h). Behind a launch
     or a copy that failed, its queue skips launches until queue_resume: they
     write nothing, and fail with LTC_SKIPPED. Copies are never skipped. */
  ltc_error *(*program_run)(ltc_device *device, ltc_queue *queue,
                            ltc_program *program, const ltc_launch *launch);

  /* Any member may be NULL, or absent, from here on. */

  /* Library calls, each a text as in kernel_resolve: not 0 if the device does
     this one itself, in program_run; asked at any time, and always answered
     alike. The host does the others between two launches of parts of the
     program, on copies of their operands. NULL: it does none. */
  int32_t (*call_taken)(ltc_device *device, ltc_bytes call);

  /* The memory itself where the host can reach it, until the buffer is freed,
     else NULL. NULL: it never can. */
  void *(*buffer_host_pointer)(ltc_device *device, ltc_buffer *buffer);

  /* Queues: the six to fence_free are all there, or none is; then the host
     passes no queue, and every call is done when it returns.

     What is queued runs in order; two queues run side by side. A device may
     have a bound on them: LTC_UNSUPPORTED; the first one is always to be
     had. */
  ltc_error *(*queue_create)(ltc_device *device, ltc_queue **queue);
  void (*queue_free)(ltc_device *device, ltc_queue *queue);
  /* Queued like a launch: what comes behind it is not skipped for what failed
     before it. */
  ltc_error *(*queue_resume)(ltc_device *device, ltc_queue *queue);
  /* A fence is reached when all that was queued before it is done, failed or
     skipped. */
  ltc_error *(*fence_record)(ltc_device *device, ltc_queue *queue,
                             ltc_fence **fence);
  /* Waits for at most so many nanoseconds; 0 only asks, a negative number is no
     limit. Once it is reached, *reached is 1, also where it returns an error:
     the first one of what was queued since the fence recorded before it.
     Reached fences answer the same each time. */
  ltc_error *(*fence_wait)(ltc_device *device, ltc_fence *fence,
                           int64_t nanoseconds, int32_t *reached);
  void (*fence_free)(ltc_device *device, ltc_fence *fence);
  /* What is queued from now on waits for a fence of another queue. NULL: the
     host waits for it. Hosts up to 1.4 make one queue and do not call it. */
  ltc_error *(*queue_wait)(ltc_device *device, ltc_queue *queue,
                           ltc_fence *fence);
  /* Seconds from one reached fence to another, of one queue, by the device's
     own clock. NULL: the host takes its clock when it sees them reached. */
  ltc_error *(*fence_elapsed)(ltc_device *device, ltc_fence *start,
                              ltc_fence *end, double *seconds);

  /* Between two buffers of the device, or within one if the ranges do not
     overlap, like buffer_write. Hosts before 1.4 do not call it; from 1.4 on
     it copies to and from what buffer_import_on gives. */
  ltc_error *(*buffer_copy)(ltc_device *device, ltc_queue *queue,
                            ltc_buffer *to, size_t to_offset, ltc_buffer *from,
                            size_t from_offset, size_t bytes);
  /* Memory of the host's that the device copies from and to without a copy of
     its own, aligned to 64 bytes. NULL both: the host uses its own. */
  ltc_error *(*host_alloc)(ltc_device *device, size_t bytes, void **data);
  void (*host_free)(ltc_device *device, void *data);
  /* A buffer that is the host's own memory, which stays until the buffer is
     freed. Memory that the device cannot reach: LTC_UNSUPPORTED. */
  ltc_error *(*buffer_import)(ltc_device *device, void *data, size_t bytes,
                              ltc_buffer **buffer);
  /* Writes at most `capacity` of them; returns how many there are. One called
     memory_free is the bytes that buffers may still take. */
  size_t (*statistics)(ltc_device *device, ltc_statistic *out, size_t capacity);

  /* Since 1.1: a compiler of the device's own. Both are there, or neither is;
     they are for a target of the kind linalg, bytecode, graph or stablehlo.

     Of such a device call_taken says which calls are in parts. A part is what
     lies between two calls that are not, as the target's kind says
     (docs/hand-over.md):
       linalg    MLIR of upstream's dialects, as text in the generic form
       bytecode  the same as MLIR's bytecode
       graph     text as in call_taken, of many nodes
       stablehlo  StableHLO as text (docs/egress.md), without calls that check
     What part_compile gives is a blob of the program, of the kind "device",
     with a kernel of the kind "part", whose words are those of a library call
     (program.h). Kernel k has error site k: a device that fails there has
     written nothing of the part. All calls that are left are the host's.
     LTC_UNSUPPORTED: also those of the part that it refuses alone. Another
     error ends the compile. */
  ltc_error *(*part_compile)(ltc_device *device, ltc_bytes part,
                             ltc_bytes *code);
  /* The memory of what part_compile gave. */
  void (*part_free)(ltc_device *device, ltc_bytes code);

  /* Since 1.2: from a buffer of another device of this plugin, like buffer_copy
     in a queue of `device`. Nothing that is queued writes `from`, which stays
     until the copy is done. Called while neither device is in another call.
     NULL: the host reads and writes. */
  ltc_error *(*buffer_copy_between)(ltc_device *device, ltc_queue *queue,
                                    ltc_buffer *to, size_t to_offset,
                                    ltc_device *from_device, ltc_buffer *from,
                                    size_t from_offset, size_t bytes);

  /* Since 1.3: the devices of LTC_DEVICE=name:argument, whose text (NUL-
     terminated) may be a path or an address: `count` of them, from the ordinal
     `first` on. device_count counts them too from then on; the same argument
     has the same ordinals. Called from one thread at a time, also while devices
     are open. NULL: the driver takes no argument. */
  ltc_error *(*devices_named)(const char *argument, uint32_t *first,
                              uint32_t *count);

  /* Since 1.3: what the device does, for profiles. Both are there, or neither.
     From trace_start on it keeps spans; it may leave out what is too much. The
     host starts once before it stops, and knows of no other clock of the
     device's. */
  ltc_error *(*trace_start)(ltc_device *device);
  /* Those that have ended, by any order, which live until the next trace_start.
   *now is the time by the device's clock. */
  const ltc_span *(*trace_stop)(ltc_device *device, size_t *count,
                                int64_t *now);

  /* Since 1.4: a buffer that is memory of the host's library on this very
     device, which is number `number` of its `type` there (kernel_resolve_on),
     and stays until the buffer is freed. Another device's: LTC_UNSUPPORTED.
     NULL: the library knows no such device. */
  ltc_error *(*buffer_import_on)(ltc_device *device, const char *type,
                                 uint32_t number, void *data, size_t bytes,
                                 ltc_buffer **buffer);
} ltc_plugin;

/* A table may end behind any member from program_run on. */
#define LTC_PLUGIN_REQUIRED_SIZE offsetof(ltc_plugin, call_taken)

/* The one exported symbol. Opens no device and starts no thread. The table
   lives as long as the process; NULL if the plugin cannot serve this ABI
   major. */
LTC_EXPORT const ltc_plugin *ltc_plugin_query(uint32_t abi_major,
                                              const ltc_host *host);

#ifdef __cplusplus
}
#endif
#endif /* LTC_PLUGIN_H */
