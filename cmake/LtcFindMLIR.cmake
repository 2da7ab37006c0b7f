# LLVM and MLIR 22, static. Defines
#
#   ltc::mlir                          headers of LLVM and MLIR
#   ltc_link_llvm(target component..)  LLVM's static libraries by component
#
# and the MLIR* targets to link by name, e.g. MLIRLinalgTransforms. Link only
# what is used: everything at once does not load (see -z defs in LtcBuild).

find_program(LTC_LLVM_CONFIG NAMES llvm-config-22 llvm-config
             DOC "llvm-config of the LLVM to build with")
if(LTC_LLVM_CONFIG)
  execute_process(COMMAND "${LTC_LLVM_CONFIG}" --cmakedir
                  OUTPUT_VARIABLE llvm_cmake_dir OUTPUT_STRIP_TRAILING_WHITESPACE)
  cmake_path(GET llvm_cmake_dir PARENT_PATH llvm_hint)
endif()
find_package(MLIR CONFIG HINTS "${llvm_hint}/mlir")
if(NOT MLIR_FOUND OR NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "MLIR 22 was not found. On Debian or Ubuntu: apt-get install "
          "llvm-22-dev libmlir-22-dev mlir-22-tools. Elsewhere pass -DMLIR_DIR=<prefix>/lib/cmake/mlir.")
endif()
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
set(LLVM_RUNTIME_OUTPUT_INTDIR "${LTC_BIN_DIR}")
set(LLVM_LIBRARY_OUTPUT_INTDIR "${LTC_LIB_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

add_library(ltc_mlir_headers INTERFACE)
add_library(ltc::mlir ALIAS ltc_mlir_headers)
target_include_directories(ltc_mlir_headers SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
separate_arguments(llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_options(ltc_mlir_headers INTERFACE ${llvm_definitions})

# Distributions build LLVM as one shared library, and each MLIR archive names
# it. Left in, a process would hold two copies of LLVM.
function(ltc_unlink_shared_llvm)
  get_property(archives GLOBAL PROPERTY MLIR_ALL_LIBS)
  foreach(archive IN LISTS archives)
    if(TARGET ${archive})
      get_target_property(links ${archive} INTERFACE_LINK_LIBRARIES)
      if(links)
        list(REMOVE_ITEM links LLVM MLIR "$<LINK_ONLY:LLVM>" "\\$<LINK_ONLY:LLVM>")
        set_target_properties(${archive} PROPERTIES INTERFACE_LINK_LIBRARIES "${links}")
      endif()
    endif()
  endforeach()
endfunction()
ltc_unlink_shared_llvm()

# LLVM's archives name a shared zstd, which a user's machine may lack.
if(TARGET zstd::libzstd_static AND TARGET LLVMSupport)
  get_target_property(links LLVMSupport INTERFACE_LINK_LIBRARIES)
  list(TRANSFORM links REPLACE "zstd::libzstd_shared" "zstd::libzstd_static")
  set_target_properties(LLVMSupport PROPERTIES INTERFACE_LINK_LIBRARIES "${links}")
endif()

function(ltc_link_llvm target)
  llvm_map_components_to_libnames(libraries ${ARGN})
  target_link_libraries(${target} PRIVATE ltc::mlir ${libraries})
  # Templates leave a fifth of the code as copies of other code, which would be
  # resident while a graph is compiled.
  if(LTC_LLD)
    target_link_options(${target} PUBLIC -Wl,--icf=all)
  endif()
endfunction()
