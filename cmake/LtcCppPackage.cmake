# What a C++ project finds by find_package(torch_ltc): the public header, the
# libraries and a CMake package that says where they are. `make install` copies
# it as component cpp; the wheel and <build>/python/torch_ltc hold it, too.

include(CMakePackageConfigHelpers)

# In <prefix>/lib/torch_ltc, or in lib of the Python package.
function(ltc_configure_cpp_package folder libraries)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/torch_ltcConfig.cmake.in"
    "${folder}/torch_ltcConfig.cmake" @ONLY)
  write_basic_package_version_file("${folder}/torch_ltcConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
endfunction()

set(header "${PROJECT_SOURCE_DIR}/ltc_backend/cpp/ltc.h")
set(installed "${PROJECT_BINARY_DIR}/cpp_package")
ltc_configure_cpp_package("${installed}" lib/torch_ltc)
install(FILES "${header}" DESTINATION include/ltc COMPONENT cpp)
install(DIRECTORY "${installed}/" DESTINATION lib/cmake/torch_ltc COMPONENT cpp)

set(staged_package "${LTC_LIB_DIR}/cmake/torch_ltc")
ltc_configure_cpp_package("${staged_package}" lib)
file(MAKE_DIRECTORY "${staged}/include/ltc")
file(CREATE_LINK "${header}" "${staged}/include/ltc/ltc.h" SYMBOLIC)
install(FILES "${header}" DESTINATION torch_ltc/include/ltc COMPONENT python)
install(DIRECTORY "${staged_package}/" DESTINATION torch_ltc/lib/cmake/torch_ltc COMPONENT python)
