# Lists that several people append to are folders of .def files, a file a family. C cannot glob an #include, so these
# functions write what it includes; adding a file re-runs CMake.
#
# mica_def_list(OUTPUT FOLDER LINE)   writes the header OUTPUT with LINE for each FOLDER/<family>.def, in which @family@
#                                     is the family's name and @file@ the file's path
# mica_def_units(OUT FOLDER LINE)     writes a unit of one LINE a family; OUT is the list of them

function(mica_def_write output line file)
  get_filename_component(family ${file} NAME_WE)
  string(CONFIGURE "${line}" text @ONLY)
  set(previous "")
  if(EXISTS ${output})
    file(READ ${output} previous)
  endif()
  if(NOT previous STREQUAL "${text}\n")
    file(WRITE ${output} "${text}\n")
  endif()
endfunction()

function(mica_def_list output folder line)
  file(GLOB files CONFIGURE_DEPENDS ${folder}/*.def)
  set(lines "")
  foreach(file IN LISTS files)
    get_filename_component(family ${file} NAME_WE)
    string(CONFIGURE "${line}" text @ONLY)
    list(APPEND lines "${text}")
  endforeach()
  list(JOIN lines "\n" text)
  mica_def_write(${output} "@text@" none)
endfunction()

function(mica_def_units out folder line)
  get_filename_component(stem ${folder} NAME)
  file(GLOB files CONFIGURE_DEPENDS ${folder}/*.def)
  set(units "")
  foreach(file IN LISTS files)
    get_filename_component(family ${file} NAME_WE)
    set(unit ${PROJECT_BINARY_DIR}/generated/${stem}/${family}.c)
    mica_def_write(${unit} "${line}" ${file})
    list(APPEND units ${unit})
  endforeach()
  set(${out} ${units} PARENT_SCOPE)
endfunction()
