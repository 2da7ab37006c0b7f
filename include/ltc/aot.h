/*===- aot.h - Runs a compiled model, in plain C ----------------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* libltc_aot.so runs what torch_ltc.aot.compile() wrote (docs/aot.md). It needs
|* the C and C++ libraries of the system, and neither PyTorch nor a compiler.
|*
|*   ltc_aot_model *model = ltc_aot_open("model.ltcpkg");
|*   const ltc_aot_entry *entry = ltc_aot_find(model, "forward");
|*   int64_t sizes[] = {8, 784};
|*   ltc_aot_tensor in = {pixels, sizeof(pixels), sizes};
|*   ltc_aot_tensor out = {scores, sizeof(scores), NULL};
|*   if (!entry || ltc_aot_run(entry, &in, &out) != 0)
|*     fprintf(stderr, "%s\n", ltc_aot_error());
|*   ltc_aot_close(model);
|*
|* A bundle holds machine code: open only files that you would also run.
|*
|* Ownership. A model owns its entries and all that they point to, until it is
|* closed. Memory of tensors is the caller's; a run keeps no pointer to it.
|*
|* Threads. Any thread may call, on one model several at a time: runs of one
|* model wait for each other. For runs side by side open the file once for each
|* thread; its pages are shared. A run uses as many threads as
|* ltc_aot_use_threads() says; those that helped wait, asleep, for the next run
|* of the same thread, and end with it.
|*
|* Errors. A function that fails says so by its result, and ltc_aot_error() says
|* why. Nothing is thrown and nothing is printed.
|*
\*===----------------------------------------------------------------------===*/
#ifndef LTC_AOT_H
#define LTC_AOT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LTC_AOT_API __attribute__((visibility("default")))
#else
#define LTC_AOT_API
#endif

/* Of this header; ltc_aot_version() says the library's. A library runs what was
   compiled against an older header of the same hundreds. */
#define LTC_AOT_VERSION 103

/* Element types, in the numbers of ltc_dtype (plugin.h). */
enum {
  LTC_AOT_BOOL, /* one byte, 0 or 1 */
  LTC_AOT_U8,
  LTC_AOT_I8,
  LTC_AOT_I16,
  LTC_AOT_I32,
  LTC_AOT_I64,
  LTC_AOT_F16,
  LTC_AOT_BF16,
  LTC_AOT_F32,
  LTC_AOT_F64,
  LTC_AOT_C64,
  LTC_AOT_C128,
  LTC_AOT_U16,
  LTC_AOT_U32,
  LTC_AOT_U64,
  LTC_AOT_F8E4M3FN,
  LTC_AOT_F8E5M2,
  LTC_AOT_C32
};

/* What a function returns that can fail. */
enum {
  LTC_AOT_OK,
  LTC_AOT_INVALID_ARGUMENT, /* the caller's values, or the file, are wrong */
  LTC_AOT_UNSUPPORTED,      /* this machine or library cannot do it */
  LTC_AOT_OUT_OF_RANGE,     /* an index among the values */
  LTC_AOT_OUT_OF_MEMORY,
  LTC_AOT_FAILED,
  LTC_AOT_INTERRUPTED /* since version 103 */
};

typedef struct ltc_aot_model ltc_aot_model;
typedef struct ltc_aot_entry ltc_aot_entry;

/* A dimension: between which sizes it may lie. Fixed if they are equal. */
typedef struct ltc_aot_dim {
  int64_t least, most; /* INT64_MAX: no limit */
} ltc_aot_dim;

/* An input or output of an entry. */
typedef struct ltc_aot_value {
  const char *name;
  uint32_t dtype, rank;
  const ltc_aot_dim *dims; /* of an integer, what it may be */
  int32_t is_written;      /* an input that a run also writes to */
  int32_t is_integer;      /* an input of rank 0 that sizes may depend on; since
                              version 102 */
} ltc_aot_value;

/* Memory of an input or output: row-major without gaps, at a multiple of its
   element's size. Inputs and outputs must not overlap. */
typedef struct ltc_aot_tensor {
  void *data;
  size_t bytes;         /* that there are; an output may have more */
  const int64_t *sizes; /* of an input, `rank` of them; null if all are fixed.
                           Of an output they are not read. */
} ltc_aot_tensor;

/* LTC_AOT_VERSION of the library. */
LTC_AOT_API uint32_t ltc_aot_version(void);

/* Why the calling thread's last call failed; empty before that. The text lives
   until its next call fails. */
LTC_AOT_API const char *ltc_aot_error(void);
/* Of what kind it was; LTC_AOT_OK before that. */
LTC_AOT_API int ltc_aot_error_code(void);

/* How many threads runs use from now on, in this process; 0, as in the
   beginning, is one for each core that it may use. */
LTC_AOT_API void ltc_aot_use_threads(uint32_t count);

/* Whether Ctrl-C, SIGINT, also ends loops in bundles: then runs put a handler
   before the one that the program has, and half a second after the signal such
   a run fails with LTC_AOT_INTERRUPTED. Not in the beginning, and nothing where
   the program has no handler, since the signal ends the process there. Since
   version 103. */
LTC_AOT_API void ltc_aot_heed_interrupts(int heed);

/* Whether this processor runs the code of a target: "x86-64-v3". */
LTC_AOT_API int ltc_aot_has_target(const char *name);

/* Opens a bundle, and the file with its weights that lies beside it, if it has
   one. Null if it is damaged, or has no code for this processor
   (LTC_AOT_UNSUPPORTED), or others than the user and root may write to the
   file. Nothing of it is run before all of its bytes have been compared with
   their checksum. */
LTC_AOT_API ltc_aot_model *ltc_aot_open(const char *path);

/* The same of bytes in memory, at a multiple of 64, which must stay as they are
   until the model is closed. Their weights must be inside. */
LTC_AOT_API ltc_aot_model *ltc_aot_open_memory(const void *bytes, size_t size);

/* No entry of it may be running. Null is allowed. */
LTC_AOT_API void ltc_aot_close(ltc_aot_model *model);

/* Which of the bundle's targets was chosen: "x86-64-v3". */
LTC_AOT_API const char *ltc_aot_target(const ltc_aot_model *model);

LTC_AOT_API uint32_t ltc_aot_entry_count(const ltc_aot_model *model);
/* By number; null if there are fewer. */
LTC_AOT_API const ltc_aot_entry *ltc_aot_entry_at(const ltc_aot_model *model,
                                                  uint32_t number);
/* By name; null, with an error that lists the names, if there is none. */
LTC_AOT_API const ltc_aot_entry *ltc_aot_find(const ltc_aot_model *model,
                                              const char *name);
LTC_AOT_API const char *ltc_aot_entry_name(const ltc_aot_entry *entry);
/* What the front end noted for itself: JSON. */
LTC_AOT_API const char *ltc_aot_entry_notes(const ltc_aot_entry *entry);

LTC_AOT_API uint32_t ltc_aot_input_count(const ltc_aot_entry *entry);
LTC_AOT_API uint32_t ltc_aot_output_count(const ltc_aot_entry *entry);
/* Null if there are fewer. */
LTC_AOT_API const ltc_aot_value *ltc_aot_input(const ltc_aot_entry *entry,
                                               uint32_t number);
LTC_AOT_API const ltc_aot_value *ltc_aot_output(const ltc_aot_entry *entry,
                                                uint32_t number);

/* The sizes of an output, `rank` of them, for inputs of these sizes; only those
   of `inputs` are read, and integers. */
LTC_AOT_API int ltc_aot_output_sizes(const ltc_aot_entry *entry,
                                     const ltc_aot_tensor *inputs,
                                     uint32_t output, int64_t *sizes);

/* Runs an entry: reads the inputs and writes the outputs, in the order of their
   numbers. When it fails, outputs and inputs that it writes to have no defined
   values; state is as before, unless the error is LTC_AOT_FAILED or
   LTC_AOT_INTERRUPTED. */
LTC_AOT_API int ltc_aot_run(const ltc_aot_entry *entry,
                            const ltc_aot_tensor *inputs,
                            const ltc_aot_tensor *outputs);

/* Gives the state of a model, which are the buffers that its entries write to,
   the values that it had when it was opened. */
LTC_AOT_API void ltc_aot_reset(ltc_aot_model *model);

/* Random ops of later runs draw what follows from this seed; from 0 if it is
   never set. */
LTC_AOT_API void ltc_aot_seed(ltc_aot_model *model, uint64_t seed);

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* LTC_AOT_H */
