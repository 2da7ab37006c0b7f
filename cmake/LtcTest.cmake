# C++ tests, each a GoogleTest program that ctest runs as one test.
#
#   ltc_add_unit_test(name SOURCES ... [LINK ...] [INSIDE library ...])
#
# INSIDE: libraries of ours that it calls beyond what they export. Their objects
# become part of the program.

find_package(GTest)
if(NOT GTest_FOUND)
  message(FATAL_ERROR "GoogleTest was not found. On Debian or Ubuntu: apt-get install "
          "libgtest-dev. Or pass -DLTC_ENABLE_TESTS=OFF.")
endif()

function(ltc_add_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK;INSIDE")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ltc_options ${arg_LINK} GTest::gtest_main)
  foreach(library IN LISTS arg_INSIDE)
    target_sources(${name} PRIVATE "$<TARGET_OBJECTS:${library}>")
    target_link_libraries(${name} PRIVATE "$<TARGET_PROPERTY:${library},LINK_LIBRARIES>")
    target_include_directories(${name} PRIVATE "$<TARGET_PROPERTY:${library},INCLUDE_DIRECTORIES>")
  endforeach()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 ENVIRONMENT LTC_CACHE=off)
endfunction()
