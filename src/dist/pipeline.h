/* dist/pipeline.h: shared by the files of a pipeline. */
#ifndef MICA_DIST_PIPELINE_H
#define MICA_DIST_PIPELINE_H

#include "ir/graph.h"

#include <mica/parallel.h>

/* A position before a layer, as if one graph held the whole chain: the type of the layer's operand, the numbers of
 * dropouts and of values so far, if there is a step, and the layer's cost in operations. */
typedef struct mica__link {
  mica__type type;
  uint64_t draws;
  int32_t values;
  bool steps;
  double cost;
} mica__link;

/* Fills layers + 1 links; the last one is the position before the loss. */
mica_status mica__chain_measure(const mica_pipeline_config *config, mica__link *links);
/* Fills stages + 1 cuts; the most expensive stage becomes as cheap as possible. */
mica_status mica__chain_cut(const mica__link *links, int32_t layers, int32_t stages, int32_t *cuts);

mica_communicator *mica__pipeline_communicator(const mica_pipeline *pipeline);
mica_queue *mica__pipeline_queue(const mica_pipeline *pipeline);

#endif
