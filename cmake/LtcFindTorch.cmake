# PyTorch, through the Python interpreter that will import it. Defines
#
#   ltc::torch         torch_cpu and c10 with the headers of both
#   ltc::torch_python  the same, torch_python, pybind11 and Python.h
#   ltc_add_python_module(name SOURCES ... [LINK ...])
#
# No find_package(Torch): it drags in Caffe2's options and is slow.

find_package(Python 3.10 COMPONENTS Interpreter Development.Module)
if(NOT Python_Development.Module_FOUND)
  message(FATAL_ERROR "Python 3.10 or later with its C headers was not found (interpreter: "
          "${Python_EXECUTABLE}). On Debian or Ubuntu: apt-get install python3-dev.")
endif()
execute_process(
  COMMAND "${Python_EXECUTABLE}" -c
          "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
  OUTPUT_VARIABLE torch_dir OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT EXISTS "${torch_dir}/version.py")
  message(FATAL_ERROR "${Python_EXECUTABLE} has no PyTorch. Run: ${Python_EXECUTABLE} -m pip install torch==2.13.0")
endif()
file(STRINGS "${torch_dir}/version.py" torch_version REGEX "^__version__")
if(NOT torch_version MATCHES "'(2\\.13\\.[^']*)'")
  message(FATAL_ERROR "PyTorch 2.13 is needed, ${torch_dir} has ${torch_version}.")
endif()
set(LTC_TORCH_VERSION "${CMAKE_MATCH_1}")
message(STATUS "PyTorch ${LTC_TORCH_VERSION} in ${torch_dir}")

add_library(ltc_torch INTERFACE)
add_library(ltc::torch ALIAS ltc_torch)
target_include_directories(ltc_torch SYSTEM INTERFACE
  "${torch_dir}/include" "${torch_dir}/include/torch/csrc/api/include")
target_compile_definitions(ltc_torch INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
add_library(ltc_torch_python INTERFACE)
add_library(ltc::torch_python ALIAS ltc_torch_python)
target_link_libraries(ltc_torch_python INTERFACE ltc_torch Python::Module)

foreach(library torch_cpu c10 torch_python)
  add_library(ltc_imported_${library} SHARED IMPORTED)
  set_target_properties(ltc_imported_${library} PROPERTIES
    IMPORTED_LOCATION "${torch_dir}/lib/lib${library}.so")
endforeach()
target_link_libraries(ltc_torch INTERFACE ltc_imported_torch_cpu ltc_imported_c10)
target_link_libraries(ltc_torch_python INTERFACE ltc_imported_torch_python)

# torch_ltc.<name>, beside the Python files of the package. Python's own
# symbols stay undefined: the interpreter has them.
function(ltc_add_python_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  add_library(${name} MODULE ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ltc_options ltc::torch_python ${arg_LINK})
  target_link_options(${name} PRIVATE -Wl,--exclude-libs,ALL)
  set_target_properties(${name} PROPERTIES
    PREFIX "" OUTPUT_NAME "${name}" SUFFIX ".${Python_SOABI}.so"
    LIBRARY_OUTPUT_DIRECTORY "${LTC_PYTHON_DIR}/torch_ltc"
    INSTALL_RPATH "$ORIGIN/lib;$ORIGIN/../torch/lib")
  add_dependencies(python_package ${name})
  install(TARGETS ${name} LIBRARY DESTINATION torch_ltc COMPONENT python)
endfunction()
