# Writes OUTPUT, a C++ file with a hash of FILES: what decides the code that the
# compiler makes. Part of the key of the cache on disk.
set(hashes "${LLVM_VERSION}")
foreach(file IN LISTS FILES)
  file(SHA256 "${file}" hash)
  string(APPEND hashes "${hash}")
endforeach()
string(SHA256 identity "${hashes}")
string(SUBSTRING "${identity}" 0 32 identity)
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT [[
#include "mlir_lowering/stages.h"
std::string ltc::compiler::compilerIdentity() {
  return "@identity@-llvm-@LLVM_VERSION@";
}
]] @ONLY)
