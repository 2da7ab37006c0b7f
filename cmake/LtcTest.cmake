# C++ tests, each a GoogleTest program that ctest runs as one test.
#
#   ltc_add_unit_test(name SOURCES ... [LINK ...])

find_package(GTest)
if(NOT GTest_FOUND)
  message(FATAL_ERROR "GoogleTest was not found. On Debian or Ubuntu: apt-get install "
          "libgtest-dev. Or pass -DLTC_ENABLE_TESTS=OFF.")
endif()

function(ltc_add_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ltc_options ${arg_LINK} GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 ENVIRONMENT LTC_CACHE=off)
endfunction()
