/* tests/support/block_layer.h: matrices in blocks and vectors of repeatable numbers, for products of few rows. */
#ifndef MICA_TESTS_SUPPORT_BLOCK_LAYER_H
#define MICA_TESTS_SUPPORT_BLOCK_LAYER_H

#include "support/graph_run.h"

#include <mica/blocks.h>

/* Begins the numbers anew. */
void block_layer_begin(void);
/* The next number, from -1 to 1. */
float block_layer_draw(void);
/* A constant matrix (rows, columns) in blocks, transposed, of the graph of graph_run.h. */
mica_value block_layer_matrix(mica_block type, int64_t rows, int64_t columns);
/* A constant vector of that graph. */
mica_value block_layer_vector(int64_t count);

#endif
