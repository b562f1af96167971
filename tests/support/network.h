/* tests/support/network.h: a network of a test from its graph to its file. */
#ifndef MICA_TESTS_SUPPORT_NETWORK_H
#define MICA_TESTS_SUPPORT_NETWORK_H

#include <mica/mica.h>

typedef struct network {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  mica_value y;
} network;

/* The graph and what layers are added to; config may be NULL. */
void network_begin(network *n, const mica_nn_config *config);
/* The session that computes y; ends the test where the graph has failed. `name` says which network it is. */
void network_end(network *n, const char *name, mica_value y);
void network_drop(network *n);
/* Weights in -0.4 .. 0.4, vectors in -1 .. 1: large enough for answers to differ. */
void network_fill(const network *n, uint64_t seed);
/* The weights in a file among those of the test (support/files.h), opened. */
mica_safetensors *network_save(const network *n, const char *name);

/* The group that an axis of a parameter is in, and its number; NULL: none. `at` may be NULL. */
const mica_prune_group *network_group(const mica_pruning *p, const char *name, int32_t axis, size_t *at);
/* Adds the magnitudes of a file's weights to the scores. */
void network_score(mica_pruning *p, const mica_safetensors *file);
/* Writes what is left of a file's weights, and opens that. */
mica_safetensors *network_save_left(const mica_pruning *p, const mica_safetensors *file);

#endif
