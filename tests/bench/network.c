#include "bench/network.h"

#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PICTURES(label, many, pixels, planes)                                                                          \
  { .name = (label), .batch = (many), .side = (pixels), .channels = (planes) }
const bench_network bench_networks[] = {PICTURES("mlp", 64, 28, 1),
                                        PICTURES("cnn", 64, 28, 1),
                                        PICTURES("resnet18", 32, 224, 3),
                                        PICTURES("resnet50", 32, 224, 3),
                                        PICTURES("mobilenetv2", 32, 224, 3),
                                        PICTURES("vgg11", 32, 224, 3),
                                        {.name = "gpt", .batch = 16, .side = 64}};
const size_t bench_network_count = sizeof bench_networks / sizeof *bench_networks;

const bench_network *bench_network_find(const char *name) {
  for (size_t i = 0; i < bench_network_count; i++)
    if (!strcmp(bench_networks[i].name, name)) return &bench_networks[i];
  fprintf(stderr, "no model '%s'; there are", name);
  for (size_t i = 0; i < bench_network_count; i++) fprintf(stderr, "%s %s", i ? "," : "", bench_networks[i].name);
  fprintf(stderr, "\n");
  return NULL;
}

mica_shape bench_network_shape(const bench_network *n) {
  return n->channels ? MICA_SHAPE(n->batch, n->channels, n->side, n->side) : MICA_SHAPE(n->batch, n->side);
}

mica_session *bench_network_step(mica_engine *engine, const bench_network *n, mica_communicator *communicator) {
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  const double scale = n->dtype == MICA_F16 ? 65536 : 0;
  const mica_optimizer_config how = {.momentum = 0.9, .communicator = communicator, .loss_scale = scale};
  const mica_nn_config type = {.training = true, .dtype = n->dtype, .allow_tf32 = n->tf32};
  bench_ok(mica_graph_create(&graph));
  bench_ok(mica_nn_create(graph, &type, &nn));
  mica_value x = mica_input(graph, "x", n->channels ? MICA_F32 : MICA_I32, bench_network_shape(n));
  mica_value y = mica_input(graph, "y", MICA_I32, MICA_SHAPE(n->batch));
  mica_model_config network = {.name = n->name, .classes = n->classes};
  if (!n->channels) {
    network.classes = BENCH_VOCABULARY;
    network.width = 256;
    network.sequence.layers = 4;
    network.sequence.heads = 4;
    network.sequence.context = n->side;
  }
  mica_value z = mica_model_build(nn, x, &network);
  if (!n->channels) z = mica_mean(z, MICA_AXES(1), false);
  mica_value loss = mica_mean(mica_cross_entropy(z, y, NULL), MICA_ALL_AXES, false);
  mica_optimize(nn, loss, &how, NULL);
  if (mica_graph_status(graph) != MICA_OK) {
    fprintf(stderr, "%s: %s\n", n->name, mica_graph_message(graph));
    exit(1);
  }
  bench_ok(mica_session_create(engine, graph, &loss, 1, NULL, &session));
  bench_ok(mica_nn_initialise(nn, session));
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  return session;
}
