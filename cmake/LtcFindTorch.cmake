# The PyTorches to build for, and the Python interpreter that imports the result.
# Defines
#
#   LTC_TORCH_DIRS   folders named torch, as wheels hold them, each of another
#                    minor version; by default the interpreter's own
#   LTC_TORCHES      their versions, e.g. 2.13;2.14: in each of
#     ltc::torch-2.13         torch_cpu and c10 with the headers of both
#     ltc::torch_python-2.13  the same, torch_python, pybind11 and Python.h
#   ltc_add_python_module(name VERSION version OUTPUT_NAME module SOURCES ... [LINK ...])
#
# No find_package(Torch): it drags in Caffe2's options and is slow.

find_package(Python 3.10 COMPONENTS Interpreter Development.Module)
if(NOT Python_Development.Module_FOUND)
  message(FATAL_ERROR "Python 3.10 or later with its C headers was not found (interpreter: "
          "${Python_EXECUTABLE}). On Debian or Ubuntu: apt-get install python3-dev.")
endif()

set(LTC_TORCH_DIRS "" CACHE STRING "PyTorches to build for: folders named torch, of wheels (default: the interpreter's)")
set(torch_dirs ${LTC_TORCH_DIRS})
if(NOT torch_dirs)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c
            "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
    OUTPUT_VARIABLE torch_dirs OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT torch_dirs)
    message(FATAL_ERROR "${Python_EXECUTABLE} has no PyTorch. Run: ${Python_EXECUTABLE} -m pip install torch")
  endif()
endif()

function(ltc_add_torch dir)
  if(NOT EXISTS "${dir}/version.py")
    message(FATAL_ERROR "${dir} is no PyTorch: it has no version.py.")
  endif()
  file(STRINGS "${dir}/version.py" line REGEX "^__version__")
  if(NOT line MATCHES "'(([0-9]+\\.[0-9]+)[^']*)'")
    message(FATAL_ERROR "${dir}/version.py names no version: ${line}")
  endif()
  set(version ${CMAKE_MATCH_2})
  message(STATUS "PyTorch ${CMAKE_MATCH_1} in ${dir}")
  if(version VERSION_GREATER 2.14)
    message(WARNING "PyTorch ${version} has not been tried; tests/versions.sh tells what it changes.")
  endif()
  if(version VERSION_LESS 2.11)
    message(FATAL_ERROR "PyTorch 2.11 or later is needed.")
  elseif(TARGET ltc_torch-${version})
    message(FATAL_ERROR "LTC_TORCH_DIRS names two PyTorches ${version}.")
  endif()

  # By one path wherever it lies, so that ccache knows what another build has compiled.
  set(headers "${PROJECT_BINARY_DIR}/torch${version}")
  file(CREATE_LINK "${dir}/include" "${headers}" SYMBOLIC)
  add_library(ltc_torch-${version} INTERFACE)
  add_library(ltc::torch-${version} ALIAS ltc_torch-${version})
  target_include_directories(ltc_torch-${version} SYSTEM INTERFACE
    "${headers}" "${headers}/torch/csrc/api/include")
  target_compile_definitions(ltc_torch-${version} INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
  # GCC built it. Since 18 Clang names the functions of an enable_if that these
  # headers have otherwise, unless it is told not to.
  if(version VERSION_LESS 2.12 AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
    target_compile_options(ltc_torch-${version} INTERFACE
      "$<$<COMPILE_LANGUAGE:CXX>:-fclang-abi-compat=17>")
  endif()
  add_library(ltc_torch_python-${version} INTERFACE)
  add_library(ltc::torch_python-${version} ALIAS ltc_torch_python-${version})
  target_link_libraries(ltc_torch_python-${version} INTERFACE ltc_torch-${version} Python::Module)

  foreach(library torch_cpu c10 torch_python)
    add_library(ltc_imported_${library}-${version} SHARED IMPORTED GLOBAL)
    set_target_properties(ltc_imported_${library}-${version} PROPERTIES
      IMPORTED_LOCATION "${dir}/lib/lib${library}.so")
  endforeach()
  target_link_libraries(ltc_torch-${version} INTERFACE
    ltc_imported_torch_cpu-${version} ltc_imported_c10-${version})
  target_link_libraries(ltc_torch_python-${version} INTERFACE ltc_imported_torch_python-${version})
  set(LTC_TORCHES ${LTC_TORCHES} ${version} PARENT_SCOPE)
endfunction()

set(LTC_TORCHES)
foreach(dir IN LISTS torch_dirs)
  ltc_add_torch("${dir}")
endforeach()

# torch_ltc.<module>, beside the libraries for the same PyTorch. Python's own
# symbols stay undefined: the interpreter has them.
function(ltc_add_python_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "VERSION;OUTPUT_NAME" "SOURCES;LINK")
  add_library(${name} MODULE ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ltc_options ltc::torch_python-${arg_VERSION} ${arg_LINK})
  ltc_export_only(${name} PyInit_${arg_OUTPUT_NAME})
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX ".${Python_SOABI}.so")
  ltc_place_library(${name} torch${arg_VERSION} ${arg_OUTPUT_NAME})
endfunction()
