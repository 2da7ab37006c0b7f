# What a C++ project finds by find_package(torch_ltc): the public headers, the
# libraries, a CMake package and a file for pkg-config that say where they are;
# plugin.h and program.h, which are all that a device's driver needs, and headers
# that help to write one in C; and aot.h, for programs that run bundles. `make install` copies it as component cpp; the wheel and <build>/python/torch_ltc hold it, too.

include(CMakePackageConfigHelpers)

# In <prefix>/lib/torch_ltc, or in lib of the Python package.
function(ltc_configure_cpp_package folder libraries)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/torch_ltcConfig.cmake.in"
    "${folder}/torch_ltcConfig.cmake" @ONLY)
  write_basic_package_version_file("${folder}/torch_ltcConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
endfunction()

set(headers
  "${PROJECT_SOURCE_DIR}/ltc_backend/cpp/ltc.h"
  "${PROJECT_SOURCE_DIR}/include/ltc/aot.h"
  "${PROJECT_SOURCE_DIR}/include/ltc/linalg_text.h"
  "${PROJECT_SOURCE_DIR}/include/ltc/mlir_text.h"
  "${PROJECT_SOURCE_DIR}/include/ltc/plugin.h"
  "${PROJECT_SOURCE_DIR}/include/ltc/plugin_defaults.h"
  "${PROJECT_SOURCE_DIR}/include/ltc/program.h"
  "${PROJECT_SOURCE_DIR}/include/ltc/real_ops.h")
set(installed "${PROJECT_BINARY_DIR}/cpp_package")
ltc_configure_cpp_package("${installed}" lib/torch_ltc)
install(FILES ${headers} DESTINATION include/ltc COMPONENT cpp)
install(DIRECTORY "${installed}/" DESTINATION lib/cmake/torch_ltc COMPONENT cpp)

# For what is installed alone: a wheel's libraries have no names for a linker.
list(GET LTC_TORCHES 0 first_torch)
set(libraries lib/torch_ltc)
configure_file("${PROJECT_SOURCE_DIR}/cmake/torch_ltc.pc.in" "${PROJECT_BINARY_DIR}/torch_ltc.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/torch_ltc.pc" DESTINATION lib/pkgconfig COMPONENT cpp)

configure_file("${PROJECT_SOURCE_DIR}/cmake/ltc_aot.pc.in" "${PROJECT_BINARY_DIR}/ltc_aot.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/ltc_aot.pc" DESTINATION lib/pkgconfig COMPONENT cpp)
# In the wheel it lies as deep, and libltc_aot.so has a name for a linker.
set(libraries lib)
configure_file("${PROJECT_SOURCE_DIR}/cmake/ltc_aot.pc.in" "${LTC_LIB_DIR}/pkgconfig/ltc_aot.pc" @ONLY)
install(FILES "${LTC_LIB_DIR}/pkgconfig/ltc_aot.pc" DESTINATION torch_ltc/lib/pkgconfig COMPONENT python)

set(staged_package "${LTC_LIB_DIR}/cmake/torch_ltc")
ltc_configure_cpp_package("${staged_package}" lib)
file(MAKE_DIRECTORY "${staged}/include/ltc")
foreach(header IN LISTS headers)
  cmake_path(GET header FILENAME name)
  file(CREATE_LINK "${header}" "${staged}/include/ltc/${name}" SYMBOLIC)
endforeach()
install(FILES ${headers} DESTINATION torch_ltc/include/ltc COMPONENT python)
install(DIRECTORY "${staged_package}/" DESTINATION torch_ltc/lib/cmake/torch_ltc COMPONENT python)
