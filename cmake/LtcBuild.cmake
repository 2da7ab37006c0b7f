# How every target of the project is compiled, linked and laid out.
#
#   ltc_add_library(name SOURCES ... [PUBLIC_LINK ...] [PRIVATE_LINK ...]
#                   [STATIC] [EXPORTS symbol ...] [FOLDER folder] [OUTPUT_NAME file]
#                   [SOVERSION version])
#   ltc_add_objects(name SOURCES ...)
#   ltc_add_tool(name SOURCES ... [LINK ...])
#   ltc_precompile(target header ...)
#   ltc_inline_across_files(target)
#
# Shared libraries land in <build>/lib, and in torch_ltc/lib of the wheel; those
# of one PyTorch in a FOLDER there, torch2.13. They find each other by $ORIGIN.
# C++ programs get them without Python, in <prefix>/lib/torch_ltc (LtcCppPackage).

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(LTC_LIB_DIR "${PROJECT_BINARY_DIR}/lib")
set(LTC_BIN_DIR "${PROJECT_BINARY_DIR}/bin")
set(LTC_PYTHON_DIR "${PROJECT_BINARY_DIR}/python") # looks like site-packages
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${LTC_LIB_DIR}")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/archive")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${LTC_BIN_DIR}")
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

# A warm ccache makes a build from nothing cheap, in another checkout too, but for
# what is inlined across files when it is linked (20 s).
find_program(LTC_CCACHE ccache)
if(LTC_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(ccache "${PROJECT_SOURCE_DIR}/cmake/ccache.sh" "${LTC_CCACHE}" "${PROJECT_SOURCE_DIR}")
  set(CMAKE_C_COMPILER_LAUNCHER ${ccache})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ccache})
endif()

add_library(ltc_options INTERFACE)
# std::stable_sort of libstdc++ 12 calls what clang knows for deprecated.
target_compile_options(ltc_options INTERFACE -Wall -Wextra -Wno-unused-parameter -Wno-error=deprecated-declarations)
target_include_directories(ltc_options INTERFACE "${PROJECT_SOURCE_DIR}/include")
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(ltc_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

# lld links the compiler library in about 1 s where bfd takes 5.
find_program(LTC_LLD NAMES ld.lld-22 ld.lld)
if(LTC_LLD)
  execute_process(COMMAND "${LTC_LLD}" --version OUTPUT_VARIABLE version)
  string(REGEX MATCH "[0-9]+[.][0-9.]+" LTC_LLD_VERSION "${version}")
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    target_link_options(ltc_options INTERFACE "--ld-path=${LTC_LLD}")
  else()
    file(REAL_PATH "${LTC_LLD}" lld)
    file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/ld")
    file(CREATE_LINK "${lld}" "${PROJECT_BINARY_DIR}/ld/ld.lld" SYMBOLIC)
    target_link_options(ltc_options INTERFACE "-B${PROJECT_BINARY_DIR}/ld" -fuse-ld=lld)
  endif()
endif()

if(LTC_SANITIZE)
  target_compile_options(ltc_options INTERFACE -fsanitize=${LTC_SANITIZE} -fno-sanitize=vptr -fno-omit-frame-pointer)
  target_link_options(ltc_options INTERFACE -fsanitize=${LTC_SANITIZE})
endif()

# Everything that the wheel holds.
add_custom_target(python_package)

# In the build, in the wheel, and as part of it.
function(ltc_place_library name folder output_name)
  set_target_properties(${name} PROPERTIES
    OUTPUT_NAME "${output_name}"
    LIBRARY_OUTPUT_DIRECTORY "${LTC_LIB_DIR}/${folder}"
    INSTALL_RPATH "$ORIGIN;$ORIGIN/..;$ORIGIN/../../../torch/lib")
  add_dependencies(python_package ${name})
  # A wheel would hold a link as another copy.
  install(TARGETS ${name} LIBRARY DESTINATION "torch_ltc/lib/${folder}" COMPONENT python NAMELINK_SKIP)
endfunction()

# What others may link to: names that match one of these, as linkers know them,
# and that headers mark LTC_API. Nothing of what templates and static archives
# (the standard library's, PyTorch's, LLVM's) left in it.
function(ltc_export_only target)
  list(JOIN ARGN ";" symbols)
  set(script "${CMAKE_CURRENT_BINARY_DIR}/${target}.exports")
  file(CONFIGURE OUTPUT "${script}" CONTENT "{ global: @symbols@; local: *; };\n" @ONLY)
  target_link_options(${target} PRIVATE "-Wl,--version-script=${script}")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${script}")
endfunction()

# EXPORTS: patterns for ltc_export_only(); by default those of namespace ltc.
function(ltc_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "STATIC" "FOLDER;OUTPUT_NAME;SOVERSION" "SOURCES;PUBLIC_LINK;PRIVATE_LINK;EXPORTS")
  if(arg_STATIC)
    add_library(${name} STATIC ${arg_SOURCES})
  else()
    add_library(${name} SHARED ${arg_SOURCES})
    target_link_options(${name} PRIVATE -Wl,--as-needed -Wl,--gc-sections)
    if(NOT LTC_SANITIZE)
      target_link_options(${name} PRIVATE -Wl,-z,defs)
    endif()
    if(NOT arg_EXPORTS) # functions, and what classes that are derived from or thrown come with
      set(arg_EXPORTS _ZN3ltc* _ZNK3ltc* _ZTIN3ltc* _ZTSN3ltc* _ZTVN3ltc*)
    endif()
    ltc_export_only(${name} ${arg_EXPORTS})
    if(NOT arg_OUTPUT_NAME)
      set(arg_OUTPUT_NAME ${name})
    endif()
    ltc_place_library(${name} "${arg_FOLDER}" ${arg_OUTPUT_NAME})
    if(arg_SOVERSION)
      set_target_properties(${name} PROPERTIES SOVERSION "${arg_SOVERSION}")
    endif()
    install(TARGETS ${name} LIBRARY DESTINATION "lib/torch_ltc/${arg_FOLDER}" COMPONENT cpp)
  endif()
  target_link_libraries(${name} PUBLIC ${arg_PUBLIC_LINK} PRIVATE ltc_options ${arg_PRIVATE_LINK})
  target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}/include")
endfunction()

# Objects that several libraries are linked from, with the options of a library.
function(ltc_add_objects name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES")
  add_library(${name} OBJECT ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ltc_options)
endfunction()

function(ltc_add_tool name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ltc_options ${arg_LINK})
endfunction()

# Precompiles headers for a target's C++ files, e.g. <torch/torch.h>. Torch and
# MLIR headers cost 5-15 s a file without it. Pays from two files on.
function(ltc_precompile target)
  list(TRANSFORM ARGN REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:\\1>")
  target_precompile_headers(${target} PRIVATE ${ARGN})
endfunction()

# In a release, by ThinLTO, where the compiler is Clang and lld reads what it
# writes: for libraries whose small functions in many files make up each call.
# What has not changed since an earlier build comes from its cache.
set(LTC_THINLTO_CACHE "${PROJECT_BINARY_DIR}/thinlto" CACHE PATH
  "Folder of ThinLTO's cache, which several builds may share")
function(ltc_inline_across_files target)
  if(LTC_LLD_VERSION VERSION_GREATER_EQUAL CMAKE_CXX_COMPILER_VERSION
     AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
    set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION_RELEASE ON)
    target_link_options(${target} PRIVATE
      "$<$<CONFIG:Release>:LINKER:--thinlto-cache-dir=${LTC_THINLTO_CACHE}>")
  endif()
endfunction()
