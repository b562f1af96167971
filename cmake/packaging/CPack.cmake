# Packages of a build folder, by CPack:
#
#   cpack -G TGZ    mica-<version>-<system>.tar.gz, the installed tree
#   cpack -G DEB    a Debian package for each component of cmake/Install.cmake, named as in cmake/packaging/debian
#
# A release is built by cmake/packaging/release.sh. SOURCE_DATE_EPOCH sets the time of all files.

set(CPACK_PACKAGE_NAME mica)
set(CPACK_PACKAGE_VENDOR "The Mica authors")
set(CPACK_PACKAGE_CONTACT "The Mica authors <mica@packages.invalid>")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
string(TOLOWER "${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}" CPACK_SYSTEM_NAME)
set(CPACK_PACKAGE_FILE_NAME mica-${PROJECT_VERSION}-${CPACK_SYSTEM_NAME})
set(CPACK_STRIP_FILES ON)

set(CPACK_COMPONENTS_ALL libmica libmica-dev)
if(MICA_BUILD_RUN)
  list(APPEND CPACK_COMPONENTS_ALL libmica-run)
  set(CPACK_COMPONENT_LIBMICA-DEV_DEPENDS libmica-run)
  set(CPACK_COMPONENT_LIBMICA-RUN_DEPENDS libmica)
endif()
if(TARGET mica_cli)
  list(APPEND CPACK_COMPONENTS_ALL mica)
endif()
list(APPEND CPACK_COMPONENT_LIBMICA-DEV_DEPENDS libmica)
set(CPACK_COMPONENT_MICA_DEPENDS libmica-run)

set(soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
set(CPACK_DEBIAN_LIBMICA_PACKAGE_NAME libmica${soversion})
set(CPACK_DEBIAN_LIBMICA_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBMICA-RUN_PACKAGE_NAME libmica-run${soversion})
set(CPACK_DEBIAN_LIBMICA-RUN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBMICA-DEV_PACKAGE_NAME libmica-dev)
set(CPACK_DEBIAN_LIBMICA-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_MICA_PACKAGE_NAME mica)
set(CPACK_DEBIAN_MICA_PACKAGE_SECTION science)
set(CPACK_DEBIAN_MICA_PACKAGE_RECOMMENDS "pocl-opencl-icd | opencl-icd")
set(CPACK_COMPONENT_LIBMICA_DESCRIPTION "library of Mica, which trains and runs neural networks on OpenCL 1.2")
set(CPACK_COMPONENT_LIBMICA-RUN_DESCRIPTION "library of Mica: datasets, published models, runs and tasks")
set(CPACK_COMPONENT_LIBMICA-DEV_DESCRIPTION "headers and static libraries of Mica")
set(CPACK_COMPONENT_MICA_DESCRIPTION "command of Mica: trains and runs neural networks on OpenCL 1.2")

include(CPack)
