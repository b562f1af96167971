# PCRE2 for texts of bytes, of which Debian 12 has no CMake package: PCRE2::8bit.
find_path(PCRE2_INCLUDE_DIR pcre2.h DOC "folder of pcre2.h")
find_library(PCRE2_LIBRARY pcre2-8 DOC "PCRE2 for texts of bytes")
mark_as_advanced(PCRE2_INCLUDE_DIR PCRE2_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(PCRE2 REQUIRED_VARS PCRE2_LIBRARY PCRE2_INCLUDE_DIR)
if(PCRE2_FOUND AND NOT TARGET PCRE2::8bit)
  add_library(PCRE2::8bit UNKNOWN IMPORTED)
  set_target_properties(PCRE2::8bit PROPERTIES IMPORTED_LOCATION ${PCRE2_LIBRARY}
                                               INTERFACE_INCLUDE_DIRECTORIES ${PCRE2_INCLUDE_DIR})
endif()
