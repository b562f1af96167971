#include "support/network.h"

#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <stdlib.h>
#include <string.h>

void network_begin(network *n, const mica_nn_config *config) {
  *n = (network){0};
  ck_ok(mica_graph_create(&n->graph));
  ck_ok(mica_nn_create(n->graph, config, &n->nn));
}

void network_end(network *n, const char *name, mica_value y) {
  ck_assert_msg(mica_graph_status(n->graph) == MICA_OK, "%s: %s", name, mica_graph_message(n->graph));
  n->y = y;
  ck_ok(mica_session_create(test_engine(), n->graph, &y, 1, NULL, &n->session));
}

void network_drop(network *n) {
  mica_session_destroy(n->session);
  mica_nn_destroy(n->nn);
  mica_graph_destroy(n->graph);
}

void network_fill(const network *n, uint64_t seed) {
  for (size_t i = 0; i < mica_nn_parameter_count(n->nn); i++) {
    mica_tensor *p = mica_session_parameter(n->session, mica_nn_parameter_at(n->nn, i)->name);
    const size_t bytes = mica_tensor_bytes(p);
    const float by = mica_tensor_shape(p).rank > 1 ? 0.4f : 1;
    float *numbers = malloc(bytes);
    ck_assert(numbers);
    for (size_t k = 0; k < bytes / sizeof *numbers; k++) {
      seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
      numbers[k] = by * ((float)(seed >> 40) * 0x1p-23f - 1);
    }
    ck_ok(mica_tensor_upload(test_queue(), p, numbers, bytes));
    free(numbers);
  }
}

mica_safetensors *network_save(const network *n, const char *name) {
  mica_safetensors *file = NULL;
  ck_ok(mica_nn_save(n->nn, n->session, files_path(name), NULL, 0));
  ck_ok(mica_safetensors_open(files_path(name), &file));
  return file;
}

const mica_prune_group *network_group(const mica_pruning *p, const char *name, int32_t axis, size_t *at) {
  const mica_prune_group *g;
  size_t i = 0;
  if (!at) at = &i;
  for (*at = 0; (g = mica_pruning_group_at(p, *at)); ++*at)
    for (size_t k = 0; k < g->member_count; k++)
      if (!strcmp(g->members[k].name, name) && g->members[k].axis == axis) return g;
  return NULL;
}

void network_score(mica_pruning *p, const mica_safetensors *file) {
  for (size_t i = 0; i < mica_safetensors_count(file); i++) {
    const mica_safetensors_entry *e = mica_safetensors_at(file, i);
    ck_ok(mica_pruning_note(p, e->name, e->data, NULL));
  }
}

mica_safetensors *network_save_left(const mica_pruning *p, const mica_safetensors *file) {
  mica_safetensors *left = NULL;
  ck_ok(mica_pruning_write(p, file, false, files_path("left.safetensors")));
  ck_ok(mica_safetensors_open(files_path("left.safetensors"), &left));
  return left;
}
