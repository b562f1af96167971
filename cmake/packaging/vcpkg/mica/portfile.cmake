# Untried: a vcpkg port of the tree that it lies in, for `vcpkg install mica --overlay-ports=cmake/packaging/vcpkg`.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DMICA_BUILD_CLI=OFF
    -DMICA_BUILD_SAMPLES=OFF
    -DMICA_BUILD_TESTS=OFF
    -DMICA_WITH_CJSON=ON
    -DMICA_WITH_CLBLAST=OFF
    -DMICA_WITH_DEFLATE=ON
    -DMICA_WITH_EXPAT=ON
    -DMICA_WITH_JPEG=ON
    -DMICA_WITH_MICROHTTPD=OFF
    -DMICA_WITH_MPI=OFF
    -DMICA_WITH_ONNX=OFF
    -DMICA_WITH_PCRE2=ON
    -DMICA_WITH_PNG=ON
    -DMICA_WITH_SNDFILE=ON
    -DMICA_WITH_SODIUM=ON
    -DMICA_WITH_UTF8PROC=ON)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME mica CONFIG_PATH lib/cmake/mica)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
