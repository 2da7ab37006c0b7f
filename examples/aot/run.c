/*===- run.c - A CNN and a GPT without PyTorch ------------------*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|*   python examples/aot/export.py .
|*   cc examples/aot/run.c $(pkg-config --cflags --libs ltc_aot) -o run
|*   ./run cnn.ltcpkg 3            scores of three images that are made up here
|*   ./run gpt.ltcpkg 20           the 20 tokens that follow token 1
|*
\*===----------------------------------------------------------------------===*/
#include <ltc/aot.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = 28 * 28, CLASSES = 10, LENGTH = 64 };

static int run(const ltc_aot_entry *entry, const ltc_aot_tensor *in,
               const ltc_aot_tensor *out) {
  if (ltc_aot_run(entry, in, out) == LTC_AOT_OK)
    return 1;
  fprintf(stderr, "%s\n", ltc_aot_error());
  return 0;
}

/* Pixel i of the batch is (i % 255) / 255. */
static int classify(const ltc_aot_entry *entry, int64_t images) {
  size_t pixels = (size_t)images * PIXELS, scores = (size_t)images * CLASSES;
  int64_t sizes[] = {images, 1, 28, 28};
  ltc_aot_tensor in = {malloc(pixels * sizeof(float)), pixels * sizeof(float),
                       sizes};
  ltc_aot_tensor out = {malloc(scores * sizeof(float)), scores * sizeof(float),
                        NULL};
  for (size_t i = 0; i < pixels; ++i)
    ((float *)in.data)[i] = (float)(i % 255) / 255;
  int ok = run(entry, &in, &out);
  for (size_t i = 0; ok && i < scores; ++i)
    printf("%.9g%c", ((float *)out.data)[i], (i + 1) % CLASSES ? ' ' : '\n');
  free(in.data);
  free(out.data);
  return ok;
}

/* The loop is inside: text[0] is given, and so many tokens follow it. */
static int generate(const ltc_aot_entry *entry, int64_t tokens) {
  int64_t given[LENGTH] = {1}, text[LENGTH];
  ltc_aot_tensor in[] = {{given, sizeof(given), NULL},
                         {&tokens, sizeof(tokens), NULL}};
  ltc_aot_tensor out = {text, sizeof(text), NULL};
  if (!run(entry, in, &out))
    return 0;
  for (int64_t place = 1; place <= tokens; ++place)
    printf("%lld%c", (long long)text[place], place < tokens ? ' ' : '\n');
  return 1;
}

int main(int argc, char **argv) {
  int64_t count = argc == 3 ? atoll(argv[2]) : 0;
  ltc_aot_model *model = count > 0 ? ltc_aot_open(argv[1]) : NULL;
  if (!model) {
    fprintf(stderr, "usage: run model.ltcpkg count; %s\n", ltc_aot_error());
    return 2;
  }
  const ltc_aot_entry *entry = ltc_aot_entry_at(model, 0);
  int isText = strcmp(ltc_aot_entry_name(entry), "write") == 0;
  int ok = isText ? generate(entry, count) : classify(entry, count);
  ltc_aot_close(model);
  return ok ? 0 : 1;
}
