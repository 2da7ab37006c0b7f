# Writes OUTPUT, a C++ file with a hash of FILES: what decides the code that the
# compiler makes. Part of the key of the cache on disk, and an ELF note: the
# runtime reads it from the library's file (runtime/cache/compiler_note.h).
set(hashes "${LLVM_VERSION}")
foreach(file IN LISTS FILES)
  file(SHA256 "${file}" hash)
  string(APPEND hashes "${hash}")
endforeach()
string(SHA256 identity "${hashes}")
string(SUBSTRING "${identity}" 0 32 identity)
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT [[
#include "mlir_lowering/stages.h"

#define LTC_IDENTITY "@identity@-llvm-@LLVM_VERSION@"

static const struct {
  uint32_t nameBytes = 4, textBytes = sizeof(text), type = 1;
  char name[4] = "LTC";
  char text[(sizeof(LTC_IDENTITY) + 3) / 4 * 4] = LTC_IDENTITY;
} note __attribute__((used, aligned(4), section(".note.ltc")));

std::string ltc::compiler::compilerIdentity() { return note.text; }
]] @ONLY)
