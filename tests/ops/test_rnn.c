/* labels: device single
 *
 * Recurrent layers against values that PyTorch computed (tests/golden/rnn, whose README says how): results and
 * gradients of one and two layers, both directions, lengths from 0; what stands behind a length is made NaN here.
 * MICA_RNN_CASES names a file of forward cases with what ONNX adds (tests/ops/test_rnn_onnx.py writes it). */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/golden.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FEEDS = 32, MOST_OUTPUTS = 24 };

static mica_graph *graph;
static mica_session *session;
static const mica_safetensors *values;
static int number; /* of the case */
static mica_feed feeds[MOST_FEEDS];
static mica_tensor *fed[MOST_FEEDS];
static mica_value inputs[MOST_FEEDS], outputs[MOST_OUTPUTS];
static char names[MOST_FEEDS][32], expected[MOST_OUTPUTS][48];
static size_t feed_count, output_count;

static void setup(void) { ck_ok(mica_graph_create(&graph)); }

static void teardown(void) {
  mica_session_destroy(session);
  mica_graph_destroy(graph);
  session = NULL;
  graph = NULL;
  output_count = 0;
  while (feed_count > 0) mica_tensor_destroy(fed[--feed_count]);
}

static const char *golden(const char *name) { return golden_path("rnn", name); }

/* "r007.x" of case 7; NULL where the case has none. */
static const mica_safetensors_entry *entry(const char *part) {
  char name[64];
  snprintf(name, sizeof name, "r%03d.%.48s", number, part);
  return mica_safetensors_find(values, name);
}

static mica_value give(const char *part, mica_dtype dtype, mica_shape shape, const void *data) {
  ck_assert(feed_count < MOST_FEEDS);
  size_t at = feed_count++;
  snprintf(names[at], sizeof names[at], "%s", part);
  ck_ok(mica_tensor_create_from(test_engine(), dtype, shape, data, &fed[at]));
  feeds[at] = (mica_feed){names[at], fed[at]};
  return inputs[at] = mica_input(graph, names[at], dtype, shape);
}
/* An input with the entry's elements; null where there is no such entry. */
static mica_value given(const char *part) {
  const mica_safetensors_entry *e = entry(part);
  return e ? give(part, e->dtype, e->shape, e->data) : (mica_value){0};
}
static mica_value given_of_layer(int layer, const char *part) {
  char name[32];
  snprintf(name, sizeof name, "l%d.%s", layer, part);
  return given(name);
}

static void expect(const char *part, mica_value value) {
  ck_assert(output_count < MOST_OUTPUTS);
  snprintf(expected[output_count], sizeof expected[output_count], "%s", part);
  outputs[output_count++] = value;
}

/* x with NaN behind the lengths: what is there is not to be read. */
static mica_value poisoned_x(void) {
  const mica_safetensors_entry *x = entry("x"), *lengths = entry("lengths");
  if (!lengths) return given("x");
  int64_t batch = x->shape.dim[1], width = x->shape.dim[2];
  float *copy = malloc(x->bytes + 1);
  ck_assert_ptr_nonnull(copy);
  memcpy(copy, x->data, x->bytes);
  for (int64_t t = 0; t < x->shape.dim[0]; t++)
    for (int64_t b = 0; b < batch; b++)
      for (int64_t i = 0; t >= ((const int32_t *)lengths->data)[b] && i < width; i++)
        copy[(t * batch + b) * width + i] = NAN;
  mica_value value = give("x", x->dtype, x->shape, copy);
  free(copy);
  return value;
}

static double wanted(const mica_safetensors_entry *e, int64_t i) {
  return e->dtype == MICA_F64 ? ((const double *)e->data)[i] : (double)((const float *)e->data)[i];
}

/* Runs, and compares each output with the entry of its name: within `within` of max(1, the largest value). */
static void run_and_compare(double within) {
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "case %d: %s", number, mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, outputs, output_count, NULL, &session));
  ck_ok(mica_session_run(session, test_queue(), feeds, feed_count));
  for (size_t k = 0; k < output_count; k++) {
    const mica_tensor *got = mica_session_output(session, k);
    const mica_safetensors_entry *e = entry(expected[k]);
    int64_t count = mica_tensor_count(got);
    float *data = malloc(mica_tensor_bytes(got) + 1);
    double largest = 1;
    ck_assert_ptr_nonnull(data);
    ck_assert_msg(e != NULL, "case %d has no %s", number, expected[k]);
    ck_assert_msg(mica_shape_equal(e->shape, mica_tensor_shape(got)), "case %d: shape of %s", number, expected[k]);
    ck_ok(mica_tensor_download(test_queue(), got, data, mica_tensor_bytes(got)));
    for (int64_t i = 0; i < count; i++) largest = fmax(largest, fabs(wanted(e, i)));
    for (int64_t i = 0; i < count; i++)
      ck_assert_msg(fabs((double)data[i] - wanted(e, i)) <= within * largest, "case %d, %s, element %d: %g, not %g",
                    number, expected[k], (int)i, (double)data[i], wanted(e, i));
    free(data);
  }
}

/* --- PyTorch's --- */

typedef struct network {
  mica_rnn_config config;
  mica_value x, h0, c0, y, h, c;
  int layers;
  int64_t directions;
} network;

/* The kind of a case of rnn.json. */
static mica_rnn_kind kind_of(const char *json) {
  static const char *const kinds[] = {"TANH", "RELU", "LSTM", "GRU"};
  char key[32], want[32];
  snprintf(key, sizeof key, "\"case\": %d,", number);
  const char *at = strstr(json, key);
  ck_assert_msg(at != NULL, "rnn.json has no case %d", number);
  at = strstr(at, "\"kind\"");
  for (int k = 0; at && k < 4; k++) {
    snprintf(want, sizeof want, "\"%s\"", kinds[k]);
    const char *end = strchr(at, ',');
    const char *found = strstr(at, want);
    if (found && found < end) return (mica_rnn_kind)k;
  }
  ck_abort_msg("case %d of rnn.json has no kind", number);
  return MICA_RNN_KIND_TANH;
}

/* A layer's part of the states of all. */
static mica_value states_of(const network *n, mica_value all, int layer) {
  if (!all.graph) return all;
  return mica_slice(all, 0, layer * n->directions, (layer + 1) * n->directions, 1);
}

static void build(network *n) {
  mica_value h[4], c[4], input = n->x = poisoned_x();
  n->h0 = given("h0");
  n->c0 = given("c0");
  n->config.lengths = given("lengths");
  for (n->layers = 0; n->layers < 4; n->layers++) {
    char name[32];
    snprintf(name, sizeof name, "l%d.w", n->layers);
    if (!entry(name)) break;
    mica_value w = given_of_layer(n->layers, "w"), r = given_of_layer(n->layers, "r"),
               b = given_of_layer(n->layers, "b");
    n->directions = mica_value_shape(w).dim[0];
    n->config.direction = n->directions == 2 ? MICA_RNN_DIRECTION_BOTH : MICA_RNN_DIRECTION_FORWARD;
    n->config.h0 = states_of(n, n->h0, n->layers);
    n->config.c0 = states_of(n, n->c0, n->layers);
    mica_rnn_results results = mica_rnn(input, w, r, b, &n->config);
    mica_shape s = mica_value_shape(results.y);
    n->y = results.y;
    h[n->layers] = results.h;
    c[n->layers] = results.c;
    input = mica_reshape(results.y, MICA_SHAPE(s.dim[0], s.dim[1], s.dim[2] * s.dim[3]));
  }
  n->h = mica_concat(h, (size_t)n->layers, 0);
  if (n->config.kind == MICA_RNN_KIND_LSTM) n->c = mica_concat(c, (size_t)n->layers, 0);
}

/* loss + the sum of a result times its upstream gradient; the loss itself where that is not in it. */
static mica_value add_to_loss(mica_value loss, mica_value result, const char *upstream) {
  mica_value d = given(upstream);
  if (!d.graph) return loss;
  mica_value sum = mica_sum(mica_mul(result, d), MICA_ALL_AXES, false);
  return loss.graph ? mica_add(loss, sum) : sum;
}

static void differentiate(const network *n) {
  mica_value loss = {0}, wrt[MOST_FEEDS], grads[MOST_FEEDS];
  size_t count = 0, at[MOST_FEEDS];
  loss = add_to_loss(loss, n->y, "y.upstream");
  loss = add_to_loss(loss, n->h, "h.upstream");
  if (n->c.graph) loss = add_to_loss(loss, n->c, "c.upstream");
  for (size_t k = 0; k < feed_count; k++) {
    if (strcmp(names[k], "lengths") == 0 || strstr(names[k], "upstream")) continue;
    at[count] = k;
    wrt[count++] = inputs[k];
  }
  ck_ok(mica_gradients(loss, wrt, count, grads));
  for (size_t k = 0; k < count; k++) {
    char name[48];
    snprintf(name, sizeof name, "%s.gradient", names[at[k]]);
    expect(name, grads[k]);
  }
}

START_TEST(layers_are_pytorchs) {
  mica_safetensors *file = NULL;
  size_t size = 0;
  char *json = (char *)files_read(golden("rnn.json"), &size);
  json = realloc(json, size + 1);
  ck_assert_ptr_nonnull(json);
  json[size] = '\0';
  ck_ok(mica_safetensors_open(golden("rnn.safetensors"), &file));
  values = file;
  for (number = 0; entry("x"); number++) {
    network n = {.config = {.kind = kind_of(json)}};
    build(&n);
    expect("y", n.y);
    expect("h", n.h);
    if (n.c.graph) expect("c", n.c);
    differentiate(&n);
    run_and_compare(1e-4);
    teardown();
    setup();
  }
  ck_assert_int_ge(number, 40);
  mica_safetensors_close(file);
  free(json);
}
END_TEST

/* --- ONNX's --- */

static mica_rnn_activation activation_of(const char *text, int direction, char which) {
  static const char *const functions[] = {
#define NAME(name, alpha, beta) #name,
      MICA_RNN_FUNCTION_LIST(NAME)
#undef NAME
  };
  mica_rnn_activation activation = {0};
  char key[16], name[32] = "";
  snprintf(key, sizeof key, " %c%d=", which, direction);
  const char *at = strstr(text, key);
  if (!at) return activation;
  ck_assert_int_eq(sscanf(at + strlen(key), "%31[A-Z_],%lf,%lf", name, &activation.alpha, &activation.beta), 3);
  for (size_t k = 1; k < sizeof functions / sizeof *functions; k++)
    if (strcmp(functions[k], name) == 0) activation.function = (mica_rnn_function)k;
  ck_assert_msg(activation.function != MICA_RNN_FUNCTION_DEFAULT, "case %d: no function %s", number, name);
  /* In the text a 0 is a 0. */
  if (activation.alpha == 0) activation.alpha = MICA_ZERO;
  if (activation.beta == 0) activation.beta = MICA_ZERO;
  return activation;
}

START_TEST(what_onnx_adds_is_onnxruntimes) {
  mica_safetensors *file = NULL;
  ck_ok(mica_safetensors_open(getenv("MICA_RNN_CASES"), &file));
  values = file;
  for (number = 0; entry("x"); number++) {
    char key[32];
    snprintf(key, sizeof key, "r%03d", number);
    const char *text = mica_safetensors_metadata(file, key);
    ck_assert_msg(text != NULL, "case %d has no settings", number);
    mica_rnn_config config = {
        .h0 = given("h0"), .c0 = given("c0"), .peepholes = given("p"), .lengths = given("lengths")};
    config.kind = strstr(text, "LSTM")  ? MICA_RNN_KIND_LSTM
                  : strstr(text, "GRU") ? MICA_RNN_KIND_GRU
                                        : MICA_RNN_KIND_TANH;
    if (strstr(text, "reverse")) config.direction = MICA_RNN_DIRECTION_REVERSE;
    if (strstr(text, "bidirectional")) config.direction = MICA_RNN_DIRECTION_BOTH;
    config.reset_before = strstr(text, "reset_before");
    config.input_forget = strstr(text, "input_forget");
    if (strstr(text, "clip=")) config.clip = strtod(strstr(text, "clip=") + 5, NULL);
    for (int d = 0; d < 2; d++)
      for (int k = 0; k < 3; k++) config.activations[d][k] = activation_of(text, d, "fgp"[k]);
    mica_rnn_results results = mica_rnn(given("x"), given("w"), given("r"), given("b"), &config);
    expect("y", results.y);
    expect("h", results.h);
    if (results.c.graph) expect("c", results.c);
    run_and_compare(1e-5);
    teardown();
    setup();
  }
  ck_assert_int_ge(number, 1);
  mica_safetensors_close(file);
}
END_TEST

TESTS(DEVICE, setup, teardown, getenv("MICA_RNN_CASES") ? what_onnx_adds_is_onnxruntimes : layers_are_pytorchs)
