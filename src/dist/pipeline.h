/* dist/pipeline.h: declarations that the source files of pipelines share. */
#ifndef MICA_DIST_PIPELINE_H
#define MICA_DIST_PIPELINE_H

#include "ir/graph.h"

#include <mica/parallel.h>

/* What is known about the graph of the whole chain just before a layer: the type of the layer's operand, the numbers of
 * dropouts (draws) and of values so far, and whether an earlier layer has created the parameter "step". `cost` is the
 * number of floating-point operations of the layer itself. */
typedef struct mica__link {
  mica__type type;
  uint64_t draws;
  int32_t values;
  bool steps;
  double cost;
} mica__link;

/* Fills layers + 1 links, one per layer; the last link describes the graph before the loss. */
mica_status mica__chain_measure(const mica_pipeline_config *config, mica__link *links);
/* Fills stages + 1 cuts: stage k gets the layers cuts[k] to cuts[k + 1] - 1. The cuts make the most expensive stage as
 * cheap as possible. */
mica_status mica__chain_cut(const mica__link *links, int32_t layers, int32_t stages, int32_t *cuts);

mica_communicator *mica__pipeline_communicator(const mica_pipeline *pipeline);
mica_queue *mica__pipeline_queue(const mica_pipeline *pipeline);

#endif
