# mica_feature(NAME help PACKAGE package TARGET target PKGCONFIG module|-lLIBRARY)
#
# An optional library. Adds the option MICA_WITH_<NAME>, on where find_package finds the package. Where it is on, Mica
# links it, Mica's sources see MICA_WITH_<NAME>=1, and the installed package and mica.pc name it for static linking;
# by -lLIBRARY where the module itself names libraries that its package does not bring.
function(mica_feature name help)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "PACKAGE;TARGET;PKGCONFIG" "")
  find_package(${arg_PACKAGE} QUIET)
  option(MICA_WITH_${name} "${help}" ${${arg_PACKAGE}_FOUND})
  if(MICA_WITH_${name})
    find_package(${arg_PACKAGE} REQUIRED)
    set_property(GLOBAL APPEND PROPERTY MICA_FEATURE_DEFINITIONS MICA_WITH_${name}=1)
    set_property(GLOBAL APPEND PROPERTY MICA_FEATURE_LIBRARIES ${arg_TARGET})
    set_property(GLOBAL APPEND PROPERTY MICA_FEATURE_PACKAGES ${arg_PACKAGE})
    if(arg_PKGCONFIG MATCHES "^-l")
      set_property(GLOBAL APPEND PROPERTY MICA_FEATURE_PC_LIBS ${arg_PKGCONFIG})
    else()
      set_property(GLOBAL APPEND PROPERTY MICA_FEATURE_PKGCONFIG ${arg_PKGCONFIG})
    endif()
  endif()
endfunction()
