# mica_feature(NAME help PACKAGE package TARGET target LIBRARY library)
#
# An optional library. Adds the option MICA_WITH_<NAME>, on if find_package finds the package. If it is on, Mica links
# the target, sources see MICA_WITH_<NAME>=1, the installed CMake package finds the package for static linking, and
# mica.pc names -l<library> for it. mica.pc requires no module of others, whose development files it would need.
#
# Targets are named as CMake's Find modules name them. A package's own configuration may name them otherwise: expat's
# has expat::expat.
set(CMAKE_FIND_PACKAGE_PREFER_CONFIG OFF)

function(mica_feature name help)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "PACKAGE;TARGET;LIBRARY" "")
  find_package(${arg_PACKAGE} QUIET)
  option(MICA_WITH_${name} "${help}" ${${arg_PACKAGE}_FOUND})
  if(MICA_WITH_${name})
    find_package(${arg_PACKAGE} REQUIRED)
    set_property(GLOBAL APPEND PROPERTY MICA_FEATURE_DEFINITIONS MICA_WITH_${name}=1)
    set_property(GLOBAL APPEND PROPERTY MICA_FEATURE_LIBRARIES ${arg_TARGET})
    set_property(GLOBAL APPEND PROPERTY MICA_FEATURE_PACKAGES ${arg_PACKAGE})
    set_property(GLOBAL APPEND PROPERTY MICA_FEATURE_PC_LIBS -l${arg_LIBRARY})
  else()
    set_property(GLOBAL APPEND PROPERTY MICA_FEATURES_ABSENT ${name})
  endif()
endfunction()
