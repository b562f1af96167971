# Installation: headers, libraries, the CMake package, mica.pc and mica-run.pc.
#
#   find_package(mica)                      gives mica::mica, the shared library; it needs nothing else
#   find_package(mica COMPONENTS run)       gives mica::run too: datasets, published models, runs
#   find_package(mica COMPONENTS static)    gives mica::mica_static, with run mica::run_static too, and finds the
#                                           libraries that these need
#   pkg-config [--static] mica, or mica-run
#
# Each file is of one component: libmica, libmica-run (what programs load), libmica-dev (what programs are built with)
# or mica (the command). cmake/packaging makes a package of each.

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME libmica-dev)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/mica)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/mica ${PROJECT_BINARY_DIR}/include/mica
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
foreach(library IN LISTS libraries)
  string(REPLACE _ - name ${library})
  install(TARGETS ${library} EXPORT ${name}-targets LIBRARY COMPONENT lib${name} NAMELINK_COMPONENT libmica-dev
                                                    RUNTIME COMPONENT lib${name})
  install(TARGETS ${library}_static EXPORT ${name}-static-targets)
  install(EXPORT ${name}-targets NAMESPACE mica:: DESTINATION ${package_dir})
  install(EXPORT ${name}-static-targets NAMESPACE mica:: DESTINATION ${package_dir})
endforeach()

get_property(mica_packages GLOBAL PROPERTY mica_PACKAGES)
get_property(mica_run_packages GLOBAL PROPERTY mica_run_PACKAGES)
set(made ${PROJECT_BINARY_DIR}/package)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/mica-config.cmake.in ${made}/mica-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${made}/mica-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${made}/mica-config.cmake ${made}/mica-config-version.cmake
              ${PROJECT_SOURCE_DIR}/cmake/Findlibdeflate.cmake ${PROJECT_SOURCE_DIR}/cmake/FindProtobufC.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindPCRE2.cmake ${PROJECT_SOURCE_DIR}/cmake/Findutf8proc.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindSndFile.cmake ${PROJECT_SOURCE_DIR}/cmake/Findsodium.cmake
        DESTINATION ${package_dir})

# Relative to the .pc file, so that an installed tree can be moved and staged.
file(RELATIVE_PATH pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
foreach(library IN LISTS libraries)
  get_property(pc_libs GLOBAL PROPERTY ${library}_PC_LIBS)
  list(JOIN pc_libs " " pc_libs)
  string(REPLACE _ - name ${library})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${made}/${name}.pc @ONLY)
  install(FILES ${made}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT license)
# The manual page and completions are written by the command itself, which has to run for that.
if(TARGET mica_cli AND NOT CMAKE_CROSSCOMPILING AND NOT MICA_SANITIZE)
  set(manual ${PROJECT_BINARY_DIR}/manual)
  file(MAKE_DIRECTORY ${manual})
  add_custom_command(
    TARGET mica_cli POST_BUILD
    COMMAND ${CMAKE_COMMAND} -DMICA=$<TARGET_FILE:mica_cli> -DFOLDER=${manual} -P
            ${PROJECT_SOURCE_DIR}/cmake/Manual.cmake
    VERBATIM)
  install(FILES ${manual}/mica.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT mica)
  install(FILES ${manual}/mica DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT mica)
  install(FILES ${manual}/_mica DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT mica)
  install(FILES ${manual}/mica.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT mica)
endif()
