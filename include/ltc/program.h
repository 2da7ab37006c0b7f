/*===- program.h - A compiled program, read in plain C ----------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* A program is data: a list of steps that are done in order, and the code that
|* they run. These are the bytes that plugin.h's program_load is given, and what
|* the cache keeps. This header reads them in place: it needs a C11 compiler and
|* nothing else. docs/program-format.md explains it with an example, and says
|* what changed from one version to the next.
|*
|*   header:   magic, version, bytes of the payload, checksum; LTC_HEADER_BYTES
|*   payload:  for each section its place and number of records, then the
|*             sections, each at a multiple of 8 bytes
|*
|* All is little-endian.
|*
|* A number is an int64_t. One of the 2^20 from LTC_FIRST_FORMULA on is not
|* itself but the value of a formula: a polynomial in the program's symbols,
|* which are sizes that the caller chooses for each run.
|*
\*===----------------------------------------------------------------------===*/
#ifndef LTC_PROGRAM_H
#define LTC_PROGRAM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LTC_PROGRAM_MAGIC "LTCARTI\n"
#define LTC_PROGRAM_VERSION 9
#define LTC_HEADER_BYTES 40
#define LTC_NONE UINT32_MAX
#define LTC_FIRST_FORMULA (-INT64_C(0x6c74630000000000))
#define LTC_MAX_FORMULAS (INT64_C(1) << 20)
#define LTC_ARENA_ALIGNMENT 64

/* Bytes of the last section; not NUL-terminated. */
typedef struct ltc_text {
  uint64_t offset, size;
} ltc_text;

/* The sum of `terms` terms, 0 if there are none. */
typedef struct ltc_formula {
  uint32_t first_term, terms;
} ltc_formula;

/* coefficient * the product of symbols whose numbers are the factors. */
typedef struct ltc_term {
  int64_t coefficient;
  uint32_t first_factor, factors;
} ltc_term;

/* An input, or behind them a result. Tensors are dense and row-major. */
typedef struct ltc_value_type {
  uint32_t dtype; /* number of ltc::DType (types.h) */
  uint32_t rank, first_dim;
  uint32_t is_scalar; /* 64 bits: a double, or an integer or bool */
  uint32_t donated;   /* of a result: the input whose memory it is, or NONE */
} ltc_value_type;

/* Code of a declared kind: "elf" is a relocatable object, which calls none of
   the others and of the outside what docs/program-format.md lists; "ptx" is
   text for an NVIDIA GPU. */
typedef struct ltc_blob {
  ltc_text kind, bytes;
} ltc_blob;

/* A loop that can be run in pieces, on the CPU
     void kernel(int64_t begin, int64_t end, const int64_t *words)
   for iterations [begin, end) of its grid, by the symbol `name` of a blob. On a
   GPU an iteration is a block of `threads`, and the words are its parameter. */
typedef struct ltc_kernel_code {
  ltc_text name;
  /* pointwise, row_reduce, column_reduce, serial, part, region */
  ltc_text kind;
  uint32_t blob;
  uint32_t threads; /* that share an iteration: 1 on a CPU */
} ltc_kernel_code;

/* A library call: the text of a graph of one node (graph.h), whose inputs are
   the operands and whose outputs are the results. */
typedef struct ltc_library_call {
  ltc_text graph;
  uint32_t node; /* of the program's graph, which made it; or NONE */
  /* Whether donated memory may have been written to when it fails. Never so of
     a call that fails for some values of its operands. */
  uint32_t spoils;
} ltc_library_call;

/* What a check in a kernel means. Kernels report its number to
     void ltc_index_error(int64_t site, int64_t index, int64_t size)
     void ltc_value_error(int64_t site)
   and go on: results are garbage then. Where kernels are parts, each has the
   site of its own number. */
typedef struct ltc_error_site {
  ltc_text op;
  ltc_text words; /* with {index} and {size} in their places; may be empty */
  uint32_t node, reserved; /* of the program's graph, or NONE */
} ltc_error_site;

/* What a word is counted from. */
enum {
  LTC_NUMBER, /* nothing: the word is the amount */
  LTC_INPUT,  /* the address of input `index`, or of a scalar its 64 bits */
  LTC_RESULT, /* the address of result `index` */
  LTC_ARENA,  /* the address of part `index` of the arena */
  LTC_SYMBOLS /* the address of the symbols' values, int64_t each */
};

/* A 64-bit argument: a base and an amount of bytes behind it. */
typedef struct ltc_word {
  uint32_t base, index;
  int64_t amount; /* a number */
} ltc_word;

/* A dimension of a grid: ceil(length / step) iterations. */
typedef struct ltc_extent {
  int64_t length; /* a number */
  int64_t step;
} ltc_extent;

enum {
  /* Runs kernel `target` over its grid; the last dimension counts fastest. */
  LTC_LAUNCH,
  /* Makes library call `target`. Of each operand, then of each result: the
     words of a tensor are its address, sizes and strides (in elements); that
     of a scalar is its 64 bits. */
  LTC_CALL,
  /* Copies words[2] bytes from words[1] to words[0]; they may overlap. */
  LTC_COPY
};

typedef struct ltc_step {
  uint32_t kind, target;
  uint32_t first_word, words;
  uint32_t first_extent, extents;
  /* Iterations that are worth a thread of their own; INT64_MAX: none are. */
  int64_t grain;
  /* Writes to donated memory, or calls what cannot be taken back: must not run
     once a step has failed. Others may, and nobody looks at what they do. */
  uint32_t writes_donated, reserved;
  /* The nodes of the program's graph that it computes, or parts of them, among
     `nodes`; one may stand in several steps, or in none. For people. */
  uint32_t first_node, nodes;
} ltc_step;

typedef struct ltc_program_info {
  ltc_text compiler; /* what made it */
  ltc_text target;   /* "kind:triple:cpu:features" (target.h) */
  ltc_text graph;    /* text of the graph (graph.h), without source lines */
  uint32_t inputs;   /* of the value types; the others are results */
  uint32_t symbols;
} ltc_program_info;

/* A program's tables, as they lie in its bytes. */
typedef struct ltc_program_view {
  const ltc_program_info *info; /* one */
  const ltc_formula *formulas;
  const ltc_term *terms;
  const uint32_t *factors;
  const ltc_value_type *types;
  const int64_t *dims; /* numbers */
  /* Parts of the arena, scratch memory for one run: bytes of each, numbers.
     Each begins at the next multiple of LTC_ARENA_ALIGNMENT. */
  const int64_t *arena;
  const ltc_blob *blobs;
  const ltc_kernel_code *kernels;
  const ltc_library_call *calls;
  const ltc_error_site *sites;
  const ltc_word *words;
  const ltc_extent *extents;
  const ltc_step *steps;
  const uint32_t *nodes; /* numbers of nodes, as in ltc_error_site */
  const char *texts;
  uint64_t text_bytes;
  uint32_t formula_count, term_count, factor_count, type_count, dim_count,
      arena_count, blob_count, kernel_count, call_count, site_count, word_count,
      extent_count, step_count, node_count;
} ltc_program_view;

enum { LTC_SECTIONS = 16 };

static inline int ltc_is_formula(int64_t number) {
  return number >= LTC_FIRST_FORMULA &&
         number < LTC_FIRST_FORMULA + LTC_MAX_FORMULAS;
}

static inline uint32_t ltc_formula_number(int64_t number) {
  return (uint32_t)(number - LTC_FIRST_FORMULA);
}

/* Where a text begins; it has `size` bytes. */
static inline const char *ltc_text_begin(const ltc_program_view *program,
                                         ltc_text text) {
  return program->texts + text.offset;
}

/* The value of a number for these values of the program's symbols. Returns 0
   if it does not fit an int64_t, and leaves *value alone. */
static inline int ltc_evaluate(const ltc_program_view *program, int64_t number,
                               const int64_t *symbols, int64_t *value) {
  if (!ltc_is_formula(number)) {
    *value = number;
    return 1;
  }
  const ltc_formula *formula = &program->formulas[ltc_formula_number(number)];
  int64_t sum = 0;
  for (uint32_t t = 0; t < formula->terms; ++t) {
    const ltc_term *term = &program->terms[formula->first_term + t];
    int64_t product = term->coefficient;
    for (uint32_t f = 0; f < term->factors; ++f)
      if (__builtin_mul_overflow(
              product, symbols[program->factors[term->first_factor + f]],
              &product))
        return 0;
    if (__builtin_add_overflow(sum, product, &sum))
      return 0;
  }
  *value = sum;
  return 1;
}

/* Where a part of the arena begins; of part `arena_count` how many bytes all
   take. Returns 0 if that is negative or does not fit. */
static inline int ltc_arena_offset(const ltc_program_view *program,
                                   uint32_t part, const int64_t *symbols,
                                   int64_t *offset) {
  int64_t end = 0;
  for (uint32_t i = 0; i < part; ++i) {
    int64_t bytes;
    if (!ltc_evaluate(program, program->arena[i], symbols, &bytes) ||
        bytes < 0 || __builtin_add_overflow(end, bytes, &end) ||
        __builtin_add_overflow(end, LTC_ARENA_ALIGNMENT - 1, &end))
      return 0;
    end -= end % LTC_ARENA_ALIGNMENT;
  }
  *offset = end;
  return 1;
}

/* How many iterations a launch has. Returns 0 as above. */
static inline int ltc_iterations(const ltc_program_view *program,
                                 const ltc_step *step, const int64_t *symbols,
                                 int64_t *iterations) {
  int64_t product = 1;
  for (uint32_t i = 0; i < step->extents; ++i) {
    const ltc_extent *extent = &program->extents[step->first_extent + i];
    int64_t length;
    if (!ltc_evaluate(program, extent->length, symbols, &length) || length < 0)
      return 0;
    length = length / extent->step + (length % extent->step != 0);
    if (__builtin_mul_overflow(product, length, &product))
      return 0;
  }
  *iterations = product;
  return 1;
}

/* For the functions below. */

static inline int ltc_has_range(uint64_t first, uint64_t count, uint64_t all) {
  return first <= all && count <= all - first;
}

static inline int ltc_has_number(const ltc_program_view *program,
                                 int64_t number) {
  return !ltc_is_formula(number) ||
         ltc_formula_number(number) < program->formula_count;
}

static inline int ltc_has_word(const ltc_program_view *program, ltc_word word) {
  const ltc_program_info *info = program->info;
  uint32_t results = program->type_count - info->inputs;
  return ltc_has_number(program, word.amount) &&
         (word.base == LTC_NUMBER || word.base == LTC_SYMBOLS ||
          (word.base == LTC_INPUT && word.index < info->inputs) ||
          (word.base == LTC_RESULT && word.index < results) ||
          (word.base == LTC_ARENA && word.index < program->arena_count));
}

static inline int ltc_has_step(const ltc_program_view *program, ltc_step step) {
  uint32_t targets = step.kind == LTC_LAUNCH ? program->kernel_count
                     : step.kind == LTC_CALL ? program->call_count
                     : step.kind == LTC_COPY ? 1
                                             : 0;
  return step.target < targets && (step.kind != LTC_COPY || step.words == 3) &&
         ltc_has_range(step.first_word, step.words, program->word_count) &&
         ltc_has_range(step.first_extent, step.extents,
                       program->extent_count) &&
         ltc_has_range(step.first_node, step.nodes, program->node_count);
}

/* Finds the tables in `bytes`, at an address that is a multiple of 8, which the
   view borrows. Returns NULL, or what is wrong in static storage. Afterwards
   every number, index and text of the tables is inside of what it names. The
   checksum, which tells damaged bytes, is the host's to compare. */
static inline const char *ltc_program_open(ltc_program_view *program,
                                           const void *bytes, size_t size) {
  static const char magic[] = LTC_PROGRAM_MAGIC;
  static const uint8_t record[LTC_SECTIONS] = {
      sizeof(ltc_program_info), sizeof(ltc_formula),
      sizeof(ltc_term),         sizeof(uint32_t),
      sizeof(ltc_value_type),   sizeof(int64_t),
      sizeof(int64_t),          sizeof(ltc_blob),
      sizeof(ltc_kernel_code),  sizeof(ltc_library_call),
      sizeof(ltc_error_site),   sizeof(ltc_word),
      sizeof(ltc_extent),       sizeof(ltc_step),
      sizeof(uint32_t),         sizeof(char)};
  uint64_t header[2], place[LTC_SECTIONS][2];
  const char *payload, *begin[LTC_SECTIONS];
  if (size < LTC_HEADER_BYTES || memcmp(bytes, magic, 8) != 0)
    return "the header is missing";
  if ((uintptr_t)bytes % 8 != 0)
    return "the bytes do not begin at a multiple of 8";
  memcpy(header, (const char *)bytes + 8, sizeof(header));
  if (header[0] != LTC_PROGRAM_VERSION)
    return "it has another format version";
  if (header[1] != size - LTC_HEADER_BYTES || header[1] < sizeof(place))
    return "the length is wrong";
  memset(program, 0, sizeof(*program));
  payload = (const char *)bytes + LTC_HEADER_BYTES;
  memcpy(place, payload, sizeof(place));
  for (int i = 0; i < LTC_SECTIONS; ++i) {
    int is_text = i == LTC_SECTIONS - 1;
    if (place[i][0] % 8 != 0 || (!is_text && place[i][1] >= UINT32_MAX) ||
        !ltc_has_range(place[i][0], place[i][1] * record[i], header[1]))
      return "a table is outside of it";
    begin[i] = payload + place[i][0];
  }
  if (place[0][1] != 1)
    return "it says nothing about itself";
  program->info = (const ltc_program_info *)begin[0];
#define LTC_TABLE(number, pointer, type, count)                                \
  program->pointer = (const type *)begin[number];                              \
  program->count = (uint32_t)place[number][1]
  LTC_TABLE(1, formulas, ltc_formula, formula_count);
  LTC_TABLE(2, terms, ltc_term, term_count);
  LTC_TABLE(3, factors, uint32_t, factor_count);
  LTC_TABLE(4, types, ltc_value_type, type_count);
  LTC_TABLE(5, dims, int64_t, dim_count);
  LTC_TABLE(6, arena, int64_t, arena_count);
  LTC_TABLE(7, blobs, ltc_blob, blob_count);
  LTC_TABLE(8, kernels, ltc_kernel_code, kernel_count);
  LTC_TABLE(9, calls, ltc_library_call, call_count);
  LTC_TABLE(10, sites, ltc_error_site, site_count);
  LTC_TABLE(11, words, ltc_word, word_count);
  LTC_TABLE(12, extents, ltc_extent, extent_count);
  LTC_TABLE(13, steps, ltc_step, step_count);
  LTC_TABLE(14, nodes, uint32_t, node_count);
  program->texts = begin[15];
  program->text_bytes = place[15][1];
#undef LTC_TABLE

  int ok = program->info->inputs <= program->type_count;
#define LTC_TEXT(text)                                                         \
  (ok &= ltc_has_range((text).offset, (text).size, program->text_bytes))
  LTC_TEXT(program->info->compiler);
  LTC_TEXT(program->info->target);
  LTC_TEXT(program->info->graph);
  for (uint32_t i = 0; i < program->formula_count; ++i)
    ok &= ltc_has_range(program->formulas[i].first_term,
                        program->formulas[i].terms, program->term_count);
  for (uint32_t i = 0; i < program->term_count; ++i)
    ok &= ltc_has_range(program->terms[i].first_factor,
                        program->terms[i].factors, program->factor_count);
  for (uint32_t i = 0; i < program->factor_count; ++i)
    ok &= program->factors[i] < program->info->symbols;
  for (uint32_t i = 0; i < program->type_count; ++i) {
    const ltc_value_type *type = &program->types[i];
    int is_result = i >= program->info->inputs;
    ok &= ltc_has_range(type->first_dim, type->rank, program->dim_count) &&
          (type->donated == LTC_NONE ||
           (is_result && type->donated < program->info->inputs &&
            !program->types[type->donated].is_scalar));
  }
  for (uint32_t i = 0; i < program->dim_count; ++i)
    ok &= ltc_has_number(program, program->dims[i]);
  for (uint32_t i = 0; i < program->arena_count; ++i)
    ok &= ltc_has_number(program, program->arena[i]);
  for (uint32_t i = 0; i < program->blob_count; ++i) {
    LTC_TEXT(program->blobs[i].kind);
    LTC_TEXT(program->blobs[i].bytes);
  }
  for (uint32_t i = 0; i < program->kernel_count; ++i) {
    LTC_TEXT(program->kernels[i].name);
    LTC_TEXT(program->kernels[i].kind);
    ok &= program->kernels[i].blob < program->blob_count;
  }
  for (uint32_t i = 0; i < program->call_count; ++i)
    LTC_TEXT(program->calls[i].graph);
  for (uint32_t i = 0; i < program->site_count; ++i) {
    LTC_TEXT(program->sites[i].op);
    LTC_TEXT(program->sites[i].words);
  }
#undef LTC_TEXT
  for (uint32_t i = 0; i < program->word_count; ++i)
    ok &= ltc_has_word(program, program->words[i]);
  for (uint32_t i = 0; i < program->extent_count; ++i)
    ok &= ltc_has_number(program, program->extents[i].length) &&
          program->extents[i].step > 0;
  for (uint32_t i = 0; i < program->step_count; ++i)
    ok &= ltc_has_step(program, program->steps[i]);
  return ok ? NULL : "a table names what is not there";
}

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* LTC_PROGRAM_H */
