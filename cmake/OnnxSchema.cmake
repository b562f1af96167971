# mica_onnx_sources(SOURCES): of the layer onnx, what a build has: with MICA_WITH_ONNX all but absent.c, and an object
# library mica_onnx_schema of the code that protoc-c makes of src/onnx/onnx.proto (which is no code of ours: it is
# compiled without warnings); without it absent.c alone. Sources find the schema as <onnx.pb-c.h> and the rows of
# operators as <onnx_ops.h>, in build/generated/onnx.
include(${PROJECT_SOURCE_DIR}/cmake/DefLists.cmake)

function(mica_onnx_sources variable)
  set(sources ${${variable}})
  if(NOT MICA_WITH_ONNX)
    list(FILTER sources INCLUDE REGEX "/absent\\.c$")
    set(${variable} ${sources} PARENT_SCOPE)
    return()
  endif()
  list(FILTER sources EXCLUDE REGEX "/absent\\.c$")
  set(made ${PROJECT_BINARY_DIR}/generated/onnx)
  set(schema ${PROJECT_SOURCE_DIR}/src/onnx)
  add_custom_command(
    OUTPUT ${made}/onnx.pb-c.c ${made}/onnx.pb-c.h
    COMMAND ${CMAKE_COMMAND} -E make_directory ${made}
    COMMAND ${PROTOBUF_C_COMPILER} --c_out=${made} --proto_path=${schema} ${schema}/onnx.proto
    DEPENDS ${schema}/onnx.proto
    VERBATIM)
  add_custom_target(mica_onnx_schema_made DEPENDS ${made}/onnx.pb-c.h)
  add_library(mica_onnx_schema OBJECT ${made}/onnx.pb-c.c)
  target_compile_options(mica_onnx_schema PRIVATE -w)
  set_target_properties(mica_onnx_schema PROPERTIES C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(mica_onnx_schema PRIVATE protobuf-c::protobuf-c)
  target_include_directories(mica_internal SYSTEM INTERFACE ${made})
  add_dependencies(mica_internal mica_onnx_schema_made)
  mica_def_list(${made}/onnx_ops.h ${schema}/ops "#include \"onnx/ops/@family@.def\"")
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()
