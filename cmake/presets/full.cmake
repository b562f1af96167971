# cmake -C cmake/presets/full.cmake -S . -B build: every optional library, which must be there.
include(${CMAKE_CURRENT_LIST_DIR}/features.cmake)
features(ON ${all_features})
