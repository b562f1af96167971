/* The pattern of cases of sparse matrices. */
#include "support/op_case_helpers.h"

#define SAMPLES 2
#define VERTICES 4
#define ENTRIES 7

const mica_pattern *test_pattern(mica_graph *graph) {
  static const int32_t entries[] = {0, 0, 0, 2, 1, 1, 1, 3, 2, 0, 3, 1, 3, 3, 0, 0, 0, 1, 1, 0, 1, 1, 2, 2, 0, 0, 0, 0};
  static const int32_t rows[] = {0, 2, 2, 4, 4, 5, 5, 7, 0, 2, 2, 4, 4, 5, 0, 0};
  static const int32_t columns[] = {0, 2, 2, 4, 4, 5, 5, 7, 0, 2, 2, 4, 4, 5, 0, 0};
  static const int32_t order[] = {0, 4, 2, 5, 1, 3, 6, 0, 2, 1, 3, 4, 0, 0};
  static _Thread_local mica_pattern pattern;
  pattern.rows = mica_constant(graph, MICA_I32, MICA_SHAPE(SAMPLES, VERTICES, 2), rows);
  pattern.entries = mica_constant(graph, MICA_I32, MICA_SHAPE(SAMPLES, ENTRIES, 2), entries);
  pattern.columns = mica_constant(graph, MICA_I32, MICA_SHAPE(SAMPLES, VERTICES, 2), columns);
  pattern.order = mica_constant(graph, MICA_I32, MICA_SHAPE(SAMPLES, ENTRIES), order);
  return &pattern;
}
