/*===- image.h - Code that is linked but for where it lies ------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* What a blob of kind "image" (program.h) holds, which needs no linker: this
|* header, the records of its fixups and of its symbols, the text of their
|* names, and its content.
|*
\*===----------------------------------------------------------------------===*/
#ifndef LTC_IMAGE_H
#define LTC_IMAGE_H

#include <stdint.h>

#define LTC_IMAGE_PAGE 4096

typedef struct ltc_image_header {
  uint64_t memory_bytes; /* that it takes; zeros behind its content */
  uint64_t sealed_bytes; /* of these, code and constants, in whole pages */
  uint64_t fixups, symbols, text_bytes, content_bytes;
} ltc_image_header;

/* A fixup: to the 64-bit word at `offset` add the address of the function of
   that name, or of the image where it has none. A symbol: where it begins. */
typedef struct ltc_image_record {
  uint64_t offset;
  uint32_t name, name_bytes; /* in the text */
} ltc_image_record;

#endif /* LTC_IMAGE_H */
