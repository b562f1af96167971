# cmake -C cmake/presets/minimal.cmake -S . -B build: the engine alone, without optional libraries.
include(${CMAKE_CURRENT_LIST_DIR}/features.cmake)
features(OFF ${all_features})
set(MICA_BUILD_RUN OFF CACHE BOOL "")
