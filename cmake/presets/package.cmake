# cmake -C cmake/presets/package.cmake -S . -B build: what packages have, everything but MPI and the tests.
include(${CMAKE_CURRENT_LIST_DIR}/features.cmake)
list(REMOVE_ITEM all_features MPI)
features(ON ${all_features})
features(OFF MPI)
foreach(part TESTS SAMPLES BENCH)
  set(MICA_BUILD_${part} OFF CACHE BOOL "")
endforeach()
