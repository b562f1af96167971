# protobuf-c, of which there is no CMake package: protobuf-c::protobuf-c. Its compiler, protoc-c, is for Mica's own
# build.
find_path(ProtobufC_INCLUDE_DIR protobuf-c/protobuf-c.h DOC "folder of protobuf-c/protobuf-c.h")
find_library(ProtobufC_LIBRARY protobuf-c DOC "protobuf-c")
mark_as_advanced(ProtobufC_INCLUDE_DIR ProtobufC_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ProtobufC REQUIRED_VARS ProtobufC_LIBRARY ProtobufC_INCLUDE_DIR)
if(ProtobufC_FOUND AND NOT TARGET protobuf-c::protobuf-c)
  add_library(protobuf-c::protobuf-c UNKNOWN IMPORTED)
  set_target_properties(protobuf-c::protobuf-c PROPERTIES IMPORTED_LOCATION ${ProtobufC_LIBRARY}
                                                          INTERFACE_INCLUDE_DIRECTORIES ${ProtobufC_INCLUDE_DIR})
endif()
