/*===- probe_main.c - Loads a plugin and asks for its table -----*- C -*-===*\
|*
|* Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* What plugin_probe.cpp starts. Ends with 0 unless the plugin prevents it.
|*
\*===----------------------------------------------------------------------===*/
#include "ltc/plugin.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

static ltc_kernel *resolve(ltc_bytes call, char *message, size_t capacity) {
  (void)call;
  if (capacity)
    message[0] = 0;
  return NULL;
}

int main(int count, char **arguments) {
  static const ltc_host host = {.struct_size = sizeof(ltc_host),
                                .kernel_resolve = resolve};
  const ltc_plugin *(*query)(uint32_t, const ltc_host *);
  void *library, *symbol;
  if (count < 2)
    return 0;
  library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  symbol = library ? dlsym(library, "ltc_plugin_query") : NULL;
  if (symbol) {
    memcpy(&query, &symbol, sizeof(symbol));
    (void)query(LTC_ABI_MAJOR, &host);
  }
  _exit(0); /* its destructors are not what was asked for */
}
