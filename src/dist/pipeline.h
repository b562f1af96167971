/* dist/pipeline.h: shared by the files of a pipeline. */
#ifndef MICA_DIST_PIPELINE_H
#define MICA_DIST_PIPELINE_H

#include "ir/graph.h"

#include <mica/parallel.h>

/* The state of a graph of the whole chain before one of its layers: the type of the layer's operand, the numbers of
 * dropouts and of values so far, and whether the graph has a step. cost: operations of the layer. */
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
