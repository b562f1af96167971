# cmake -DMICA=COMMAND -DFOLDER=FOLDER -P Manual.cmake: the manual page and completions, as the command writes them.
foreach(file "mica.1 --man" "mica --completion bash" "_mica --completion zsh" "mica.fish --completion fish")
  separate_arguments(words UNIX_COMMAND "${file}")
  list(POP_FRONT words name)
  execute_process(COMMAND ${MICA} help ${words} OUTPUT_FILE ${FOLDER}/${name} RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "mica help ${words} failed: ${failed}")
  endif()
endforeach()
