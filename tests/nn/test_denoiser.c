/* labels: device
 *
 * The U-Net of diffusion beside diffusers' UNet2DModel: result, loss and all gradients, by golden values; and what it
 * refuses. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/golden.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 160, PICTURES = 3, CHANNELS = 2, HEIGHT = 8, WIDTH = 4 };

static mica_safetensors *values;

static const mica_safetensors_entry *entry(const char *prefix, const char *name) {
  char whole[160];
  snprintf(whole, sizeof whole, "%s%s", prefix, name);
  const mica_safetensors_entry *e = mica_safetensors_find(values, whole);
  ck_assert_msg(e != NULL, "no %s", whole);
  return e;
}

/* Each element is near in units of the tensor's largest one. */
static void check_near(const char *name, const mica_tensor *is, const mica_safetensors_entry *want) {
  static float got[1 << 14];
  const float *w = want->data;
  const size_t count = want->bytes / sizeof *w;
  double largest = 0;
  ck_assert_uint_le(count, sizeof got / sizeof *got);
  ck_assert(mica_shape_equal(mica_tensor_shape(is), want->shape) || count == 1);
  ck_ok(mica_tensor_download(test_queue(), is, got, want->bytes));
  for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs((double)w[i]));
  for (size_t i = 0; i < count; i++)
    ck_assert_msg(fabs((double)got[i] - (double)w[i]) <= 2e-5 * fmax(largest, 1e-2), "%s[%zu]: %.9g, not %.9g", name, i,
                  (double)got[i], (double)w[i]);
}

static mica_tensor *upload(const char *name) {
  const mica_safetensors_entry *e = entry("", name);
  mica_tensor *t = NULL;
  ck_ok(mica_tensor_create_from(test_engine(), e->dtype, e->shape, e->data, &t));
  return t;
}

START_TEST(beside_diffusers) {
  const mica_denoiser_config config = {.width = 4, .depth = 1, .classes = 3, .groups = 2, .head = 4};
  const mica_shape shape = MICA_SHAPE(PICTURES, CHANNELS, HEIGHT, WIDTH);
  static const char *const inputs[] = {"x", "time", "label", "want"};
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  mica_value weights[MOST], outputs[MOST + 2];
  mica_feed feeds[4];
  ck_ok(mica_safetensors_open(golden_path("diffuse", "denoiser.safetensors"), &values));
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, &(mica_nn_config){.training = true}, &nn));
  mica_value x = mica_input(graph, "x", MICA_F32, shape), want = mica_input(graph, "want", MICA_F32, shape);
  mica_value time = mica_input(graph, "time", MICA_I32, MICA_SHAPE(PICTURES));
  mica_value label = mica_input(graph, "label", MICA_I32, MICA_SHAPE(PICTURES));
  outputs[0] = mica_denoiser_build(nn, x, time, label, &config);
  outputs[1] = mica_mse(outputs[0], want, MICA_LOSS_REDUCTION_MEAN);
  const size_t count = mica_nn_parameter_count(nn);
  ck_assert_uint_le(count, MOST);
  ck_assert_uint_eq(2 * count + 6, mica_safetensors_count(values));
  for (size_t i = 0; i < count; i++) weights[i] = mica_nn_parameter_at(nn, i)->value;
  ck_ok(mica_gradients(outputs[1], weights, count, outputs + 2));
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, outputs, count + 2, NULL, &session));
  for (size_t i = 0; i < count; i++) {
    const char *name = mica_nn_parameter_at(nn, i)->name;
    const mica_safetensors_entry *e = entry("weight.", name);
    ck_assert(mica_shape_equal(e->shape, mica_value_shape(weights[i])));
    ck_ok(mica_tensor_upload(test_queue(), mica_session_parameter(session, name), e->data, e->bytes));
  }
  for (int i = 0; i < 4; i++) feeds[i] = (mica_feed){inputs[i], upload(inputs[i])};
  ck_ok(mica_session_run(session, test_queue(), feeds, 4));
  check_near("y", mica_session_output(session, 0), entry("", "y"));
  check_near("loss", mica_session_output(session, 1), entry("", "loss"));
  for (size_t i = 0; i < count; i++) {
    const char *name = mica_nn_parameter_at(nn, i)->name;
    check_near(name, mica_session_output(session, i + 2), entry("gradient.", name));
  }
  for (int i = 0; i < 4; i++) mica_tensor_destroy((mica_tensor *)feeds[i].tensor);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  mica_safetensors_close(values);
}
END_TEST

/* Configurations and sides that do not fit are errors of the graph with a sentence. */
START_TEST(refuses) {
  static const struct {
    mica_denoiser_config config;
    mica_shape shape;
    mica_status status;
  } table[] = {
      {{.width = 4}, {4, {2, 1, 8, 8}}, MICA_OK},
      {{.width = 4}, {4, {2, 1, 7, 8}}, MICA_E_SHAPE},
      {{.width = 4, .depth = 3}, {4, {2, 1, 12, 8}}, MICA_E_SHAPE},
      {{.width = 4}, {3, {2, 8, 8}}, MICA_E_SHAPE},
      {{.width = 3}, {4, {2, 1, 8, 8}}, MICA_E_INVALID},
      {{.width = 2 * MICA_DENOISER_WIDEST}, {4, {2, 1, 8, 8}}, MICA_E_INVALID},
      {{.width = -4}, {4, {2, 1, 8, 8}}, MICA_E_INVALID},
      {{.width = 4, .depth = 99}, {4, {2, 1, 8, 8}}, MICA_E_INVALID},
      {{.width = 4, .blocks = 99}, {4, {2, 1, 8, 8}}, MICA_E_INVALID},
      {{.width = 4, .classes = -1}, {4, {2, 1, 8, 8}}, MICA_E_INVALID},
      {{.width = 4, .classes = 2}, {4, {2, 1, 8, 8}}, MICA_E_INVALID}, /* no label */
      {{.width = 4, .head = 3}, {4, {2, 1, 8, 8}}, MICA_E_INVALID},
      {{.width = 4, .groups = 5}, {4, {2, 1, 8, 8}}, MICA_E_SHAPE},
      {{.width = 4, .dropout = 1.5}, {4, {2, 1, 8, 8}}, MICA_E_INVALID},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    mica_graph *graph = NULL;
    mica_nn *nn = NULL;
    ck_ok(mica_graph_create(&graph));
    ck_ok(mica_nn_create(graph, NULL, &nn));
    mica_value x = mica_input(graph, "x", MICA_F32, table[i].shape);
    mica_value time = mica_input(graph, "time", MICA_F32, MICA_SHAPE(2));
    mica_value y = mica_denoiser_build(nn, x, time, (mica_value){0}, &table[i].config);
    ck_assert_msg(mica_graph_status(graph) == table[i].status, "%zu: %s", i, mica_graph_message(graph));
    if (table[i].status == MICA_OK) ck_assert(mica_shape_equal(mica_value_shape(y), table[i].shape));
    mica_nn_destroy(nn);
    mica_graph_destroy(graph);
  }
}
END_TEST

TESTS(DEVICE, NULL, NULL, beside_diffusers, refuses)
