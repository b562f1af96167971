/* tests/compile/mlp.h: a training step as a user builds one, from graph builders alone: the two-layer perceptron
 * 784-128-10 with softmax cross entropy and Adam (Kingma and Ba 2014). */
#ifndef MICA_TESTS_COMPILE_MLP_H
#define MICA_TESTS_COMPILE_MLP_H

#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>

#define MLP_BATCH 64
#define MLP_PIXELS 784
#define MLP_HIDDEN 128
#define MLP_CLASSES 10

/* p := p - rate m / (sqrt(v) + 1e-8), with m and v the running means of the gradient and of its square. */
static inline void mlp_adam(mica_graph *graph, const char *name, mica_value p, mica_value grad, mica_value rate) {
  char text[32];
  mica_shape shape = mica_value_shape(p);
  snprintf(text, sizeof text, "%s.m", name);
  mica_value m = mica_parameter(graph, text, MICA_F32, shape);
  snprintf(text, sizeof text, "%s.v", name);
  mica_value v = mica_parameter(graph, text, MICA_F32, shape);
  mica_value next_m = mica_add(mica_affine(m, 0.9, 0), mica_affine(grad, 0.1, 0));
  mica_value next_v = mica_add(mica_affine(v, 0.999, 0), mica_affine(mica_square(grad), 0.001, 0));
  mica_assign(m, next_m);
  mica_assign(v, next_v);
  mica_assign(p, mica_sub(p, mica_mul(rate, mica_div(next_m, mica_affine(mica_sqrt(next_v), 1, 1e-8)))));
}

/* sqrt(1 - b2^t) / (1 - b1^t) at the step t that begins now. */
static inline mica_value mlp_rate(mica_graph *graph, double rate) {
  mica_value t = mica_parameter(graph, "t", MICA_F32, MICA_SCALAR), now = mica_affine(t, 1, 1);
  mica_assign(t, now);
  mica_value second = mica_affine(mica_pow(mica_scalar(graph, MICA_F32, 0.999), now), -1, 1);
  mica_value first = mica_affine(mica_pow(mica_scalar(graph, MICA_F32, 0.9), now), -1, 1);
  return mica_affine(mica_div(mica_sqrt(second), first), rate, 0);
}

/* The loss; batch may be MICA_DYNAMIC. Inputs "x" (batch, 784) and "y" (batch, 10), one-hot. */
static inline mica_value mlp_build(mica_graph *graph, int64_t batch, bool train) {
  static const char *const names[] = {"w1", "b1", "w2", "b2"};
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(batch, MLP_PIXELS));
  mica_value y = mica_input(graph, "y", MICA_F32, MICA_SHAPE(batch, MLP_CLASSES));
  mica_value p[4] = {mica_parameter(graph, names[0], MICA_F32, MICA_SHAPE(MLP_PIXELS, MLP_HIDDEN)),
                     mica_parameter(graph, names[1], MICA_F32, MICA_SHAPE(MLP_HIDDEN)),
                     mica_parameter(graph, names[2], MICA_F32, MICA_SHAPE(MLP_HIDDEN, MLP_CLASSES)),
                     mica_parameter(graph, names[3], MICA_F32, MICA_SHAPE(MLP_CLASSES))};
  mica_value h = mica_named(mica_relu(mica_add(mica_matmul(x, p[0]), p[1])), "hidden");
  mica_value z = mica_named(mica_add(mica_matmul(h, p[2]), p[3]), "logits");
  mica_value of_class = mica_sum(mica_mul(z, y), MICA_AXES(1), false);
  mica_value loss = mica_mean(mica_sub(mica_logsumexp(z, MICA_AXES(1), false), of_class), MICA_ALL_AXES, false);
  if (!train) return mica_named(loss, "loss");
  mica_value grads[4];
  ck_ok(mica_gradients(loss, p, 4, grads));
  mica_value rate = mlp_rate(graph, 1e-3);
  for (int i = 0; i < 4; i++) mlp_adam(graph, names[i], p[i], grads[i], rate);
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  return mica_named(loss, "loss");
}

/* Uniform in [-1, 1), the same on every machine. */
static inline float mlp_random(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return (float)(int32_t)*state * 0x1p-31f;
}

static inline void mlp_initialise(mica_session *session, uint32_t seed) {
  static float w[MLP_PIXELS * MLP_HIDDEN];
  for (int i = 0; i < MLP_PIXELS * MLP_HIDDEN; i++) w[i] = 0.06f * mlp_random(&seed);
  ck_ok(mica_tensor_upload(test_queue(), mica_session_parameter(session, "w1"), w, sizeof w));
  for (int i = 0; i < MLP_HIDDEN * MLP_CLASSES; i++) w[i] = 0.2f * mlp_random(&seed);
  ck_ok(
      mica_tensor_upload(test_queue(), mica_session_parameter(session, "w2"), w, MLP_HIDDEN * MLP_CLASSES * sizeof *w));
}

/* Pictures of ten kinds, each a pattern of blobs under noise and a shift in brightness. */
static inline void mlp_batch(uint32_t *state, int64_t n, float *x, float *y) {
  for (int64_t i = 0; i < n; i++) {
    int kind = (int)((mlp_random(state) + 1) * 5) % MLP_CLASSES;
    float light = 0.2f * mlp_random(state);
    for (int j = 0; j < MLP_PIXELS; j++) {
      int row = j / 28, column = j % 28;
      bool lit = (row * (kind + 2) / 9 + column * (11 - kind) / 13) % 3 == kind % 3;
      x[i * MLP_PIXELS + j] = (lit ? 0.7f : 0.1f) + light + 0.3f * mlp_random(state);
    }
    for (int c = 0; c < MLP_CLASSES; c++) y[i * MLP_CLASSES + c] = c == kind;
  }
}

#endif
