/*===- board.h - The board's compiler -----------------------------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
#include <ltc/plugin.h>

/* What the board runs for a part of a graph: the module, which it borrows, as
   an interpreter stands in the place of a vendor's code generator. NULL where
   that has what the board cannot do. */
typedef struct code code;
code *code_read(const char *text, size_t size);
void code_free(code *made);
void code_run(const code *made, const int64_t *words);  /* of a library call */
int32_t call_taken(ltc_device *device, ltc_bytes call); /* of plugin.h */
