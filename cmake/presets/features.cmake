# features(VALUE NAME...): asks for optional libraries, for the files beside this one.
function(features value)
  foreach(name IN LISTS ARGN)
    set(MICA_WITH_${name} ${value} CACHE STRING "")
  endforeach()
endfunction()
set(all_features CLBLAST CJSON PCRE2 UTF8PROC MPI ONNX DEFLATE PNG JPEG EXPAT SNDFILE MICROHTTPD SODIUM)
