# mica_test(name COMMAND command... LABELS label... [ENVIRONMENT NAME=VALUE...])
#
# One ctest test in a process of its own. Exit status 77 means SKIP. Labels: null (needs no device), device, gpu,
# mpi, slow (fifteen minutes instead of five), lint, sample, single (starts no thread, or only those that tests without
# it start too: ThreadSanitizer has nothing to see), oracle (asks packages of MICA_ORACLE_PYTHON, which it finds in the
# variable of that name), long (an hour; registered only with MICA_TEST_LONG, for what is run once in a while by hand).
# Caches are not the user's own, so that tests neither depend on them nor fill them. Compiling kernels takes most of the
# time of a first run, so all build folders of a machine share a folder (tests/support/cache.sh). If it cannot be made,
# each has its own. MICA_TEST_CACHE, the option or the environment's, names another folder. Tests of first starts use
# empty folders of their own.
# MICA_TEST_WITHOUT leaves tests out by their labels; their programs are then built only when they are asked for.
# MICA_TEST_PATIENCE multiplies time-outs, for machines that are shared.
#
# Tests that need a device append their launches to one log; device.ran reads it when all of them are through (a ctest
# clean-up fixture), so that a run in which no kernel ran fails instead of passing.

set(python python3)
if(DEFINED MICA_BENCH_PYTHON)
  set(python ${MICA_BENCH_PYTHON})
endif()
set(MICA_ORACLE_PYTHON ${python} CACHE STRING "Python whose packages tests labelled oracle compare with")
option(MICA_TEST_LONG "register the tests labelled long" OFF)
set(MICA_TEST_WITHOUT "" CACHE STRING "labels whose tests are neither registered nor built, with commas between")
set(MICA_TEST_CACHE "" CACHE STRING "the tests' caches, from the source folder; empty: this machine's for tests")
set(MICA_TEST_PATIENCE 1 CACHE STRING "a whole number that multiplies the tests' time-outs")

function(mica_test_cache_folder out)
  set(folder "${MICA_TEST_CACHE}")
  if(folder STREQUAL "")
    set(folder "$ENV{MICA_TEST_CACHE}")
  endif()
  if(folder STREQUAL "")
    execute_process(COMMAND sh ${PROJECT_SOURCE_DIR}/tests/support/cache.sh ${PROJECT_VERSION}
                    OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_VARIABLE why RESULT_VARIABLE failed)
    if(failed)
      message(STATUS "Tests keep their kernels in the build folder: ${why}")
      set(folder ${PROJECT_BINARY_DIR}/cache)
    endif()
  endif()
  get_filename_component(folder ${folder} ABSOLUTE BASE_DIR ${PROJECT_SOURCE_DIR})
  set(${out} ${folder} PARENT_SCOPE)
endfunction()

# Once a run of CMake: samples include this file too.
get_property(mica_test_cache GLOBAL PROPERTY MICA_TEST_CACHE_FOLDER)
if(NOT mica_test_cache)
  mica_test_cache_folder(mica_test_cache)
  set_property(GLOBAL PROPERTY MICA_TEST_CACHE_FOLDER ${mica_test_cache})
  set(MICA_TEST_CACHE_FOLDER ${mica_test_cache} CACHE INTERNAL "where the tests' caches are, for .ci/run")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/cache.sh)
endif()
set(mica_test_launch_log ${PROJECT_BINARY_DIR}/launches.log)
set(mica_test_environment
    POCL_CACHE_DIR=${mica_test_cache}/pocl
    MICA_CACHE_DIR=${mica_test_cache}/mica
    POCL_WORK_GROUP_SPECIALIZATION=0
    MICA_TEST_LAUNCH_LOG=${mica_test_launch_log}
    MICA_SOURCE_DIR=${PROJECT_SOURCE_DIR}
    MICA_BUILD_DIR=${PROJECT_BINARY_DIR}
    MICA_ORACLE_PYTHON=${MICA_ORACLE_PYTHON})
if(MICA_SANITIZE)
  # PoCL alone: other drivers may not load beside a sanitizer (Intel's opens a library with RTLD_DEEPBIND). And up to
  # GCC 13 the search for leaks crashes now and then on a block of thread-local memory that it takes for an old glibc's.
  # The thread that makes the first engine gets a signal stack from LLVM, which AddressSanitizer would free as its own.
  list(APPEND mica_test_environment OCL_ICD_VENDORS=pocl.icd UBSAN_OPTIONS=print_stacktrace=1
       ASAN_OPTIONS=intercept_tls_get_addr=0:use_sigaltstack=0
       LSAN_OPTIONS=print_suppressions=0:suppressions=${PROJECT_SOURCE_DIR}/tests/support/lsan.supp)
endif()
# The command and the samples bound their cache to the library's default, which would evict what programs of tests keep
# (support/engine.c). The driver's cache has no bound, and all share it.
set(mica_command_environment MICA_CACHE_DIR=${mica_test_cache}/mica-command)
file(MAKE_DIRECTORY ${mica_test_cache}/pocl ${mica_test_cache}/mica ${mica_test_cache}/mica-command)

# out: EXCLUDE_FROM_ALL where tests of these labels are left out, else empty.
function(mica_test_left_out labels out)
  set(${out} "" PARENT_SCOPE)
  string(REPLACE "," ";" without "${MICA_TEST_WITHOUT}")
  foreach(label IN LISTS labels)
    if(label IN_LIST without OR (label STREQUAL "long" AND NOT MICA_TEST_LONG))
      set(${out} EXCLUDE_FROM_ALL PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

function(mica_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "COMMAND;LABELS;ENVIRONMENT")
  mica_test_left_out("${arg_LABELS}" left_out)
  if(left_out)
    return()
  endif()
  set(timeout 300)
  if("slow" IN_LIST arg_LABELS)
    set(timeout 900)
  elseif("long" IN_LIST arg_LABELS)
    set(timeout 3600)
  endif()
  if(MICA_SANITIZE)
    math(EXPR timeout "${timeout} * 5")
  endif()
  math(EXPR timeout "${timeout} * ${MICA_TEST_PATIENCE}")
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set(environment ${mica_test_environment})
  list(GET arg_COMMAND 0 program)
  if(program STREQUAL "sh" OR "sample" IN_LIST arg_LABELS)
    list(APPEND environment ${mica_command_environment})
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${timeout} SKIP_RETURN_CODE 77
                                          ENVIRONMENT "${environment};${arg_ENVIRONMENT}")
  if("slow" IN_LIST arg_LABELS)
    set_tests_properties(${name} PROPERTIES COST 1000) # begun first, so that it does not end alone
  endif()
  if("device" IN_LIST arg_LABELS AND NOT "sample" IN_LIST arg_LABELS) # samples do not log
    set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED launches)
  endif()
endfunction()

# The labels of a test file stand in its own first line: "labels: device slow" in a comment. "labels: device, shards: 4"
# makes four tests of it, each of which runs a part of the cases (test_in_shard). Edits re-run CMake.
function(mica_test_labels file out out_shards)
  file(STRINGS ${file} line LIMIT_COUNT 1 REGEX "labels:")
  if(NOT line MATCHES "labels:(( [a-z]+)+)(, shards: ([0-9]+))?")
    message(FATAL_ERROR "${file} has no line with its labels, such as /* labels: device */")
  endif()
  set(${out_shards} ${CMAKE_MATCH_4} PARENT_SCOPE)
  string(STRIP "${CMAKE_MATCH_1}" labels)
  string(REPLACE " " ";" labels "${labels}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  set(${out} ${labels} PARENT_SCOPE)
endfunction()
