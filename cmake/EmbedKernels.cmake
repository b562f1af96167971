# Kernel sources inside the library: cl/**/*.cl and *.clh become one C file, a table of mica__kernel_source sorted by
# path (strcmp order), each line a string of its own without its '\n', because ISO C promises no longer ones.
#
# Included, it defines mica_embed_kernels(folder output). Run with cmake -P at build time, it writes that file. CMake is
# the generator so that cross builds need no compiler for the host; file contents only ever pass through quoted
# strings, never through lists, so ';' and '[' in a kernel mean nothing.

function(mica_embed_kernels folder output)
  file(GLOB_RECURSE kernels RELATIVE ${folder} CONFIGURE_DEPENDS ${folder}/*.cl ${folder}/*.clh)
  list(SORT kernels)
  list(TRANSFORM kernels PREPEND ${folder}/ OUTPUT_VARIABLE files)
  # The list is a file, so that removing a kernel makes the table anew as adding one does.
  file(CONFIGURE OUTPUT ${output}.list CONTENT "${kernels}" @ONLY)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DMICA_EMBED_FOLDER=${folder} -DMICA_EMBED_OUTPUT=${output} -P
            ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    DEPENDS ${files} ${output}.list ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    COMMENT "Embedding kernels"
    VERBATIM)
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE)
  return()
endif()

file(READ ${MICA_EMBED_OUTPUT}.list kernels)
set(text "/* Made by cmake/EmbedKernels.cmake from the files under cl/. */\n#include \"runtime/kernel_source.h\"\n\n")
set(table "")
set(count 0)
foreach(kernel IN LISTS kernels)
  file(READ ${MICA_EMBED_FOLDER}/${kernel} content)
  if(content STREQUAL "")
    message(FATAL_ERROR "cl/${kernel} is empty")
  endif()
  if(NOT content MATCHES "\n$")
    string(APPEND content "\n")
  endif()
  string(REGEX REPLACE "\n$" "" content "${content}")
  # '?' is escaped too: "??/" would be a trigraph in ISO C.
  foreach(special "\\" "\"" "?")
    string(REPLACE "${special}" "\\${special}" content "${content}")
  endforeach()
  string(REPLACE "\n" "\",\n  \"" content "${content}")
  string(APPEND text "static const char *const lines_${count}[] = {\n  \"${content}\"};\n\n")
  string(APPEND table "  {\"${kernel}\", lines_${count}, sizeof lines_${count} / sizeof *lines_${count}},\n")
  math(EXPR count "${count} + 1")
endforeach()
string(APPEND text "const mica__kernel_source mica__kernel_sources[] = {\n${table}  {0},\n};\n\n"
                   "const size_t mica__kernel_source_count = ${count};\n")
file(WRITE ${MICA_EMBED_OUTPUT} "${text}")
