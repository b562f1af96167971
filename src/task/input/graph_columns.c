/* Columns of batches: vertices by number, or graphs as entries of sparse matrices (data/graph/columns.c). */
#include "data/graph/graph.h"
#include "run/common_fields.h"
#include "run/run.h"
#include "task/input/graph.h"

#include <string.h>

mica_status mica__graph_derive(mica_run *run, mica_part part, const mica_dataset *data, const mica_dataset **out) {
  const mica__edge_weights weights =
      !strcmp(mica__common_settings_of(run).model, "gcn") ? MICA__EDGES_NORMALISED : MICA__EDGES_EQUAL;
  mica_dataset *made = NULL;
  (void)part;
  MICA_TRY(mica__graph_columns(run->task_state, mica__graph_facts_of(run).sample_column, weights, data, &made));
  *out = made;
  return MICA_OK;
}
