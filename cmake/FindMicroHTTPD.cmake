# libmicrohttpd, which has no CMake package in Debian: MicroHTTPD::microhttpd.
find_path(MicroHTTPD_INCLUDE_DIR microhttpd.h DOC "folder of microhttpd.h")
find_library(MicroHTTPD_LIBRARY microhttpd DOC "libmicrohttpd")
mark_as_advanced(MicroHTTPD_INCLUDE_DIR MicroHTTPD_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MicroHTTPD REQUIRED_VARS MicroHTTPD_LIBRARY MicroHTTPD_INCLUDE_DIR)
if(MicroHTTPD_FOUND AND NOT TARGET MicroHTTPD::microhttpd)
  add_library(MicroHTTPD::microhttpd UNKNOWN IMPORTED)
  set_target_properties(MicroHTTPD::microhttpd PROPERTIES IMPORTED_LOCATION ${MicroHTTPD_LIBRARY}
                                                          INTERFACE_INCLUDE_DIRECTORIES ${MicroHTTPD_INCLUDE_DIR})
endif()
