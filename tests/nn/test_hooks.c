/* labels: device single
 *
 * What networks hand over and take from outside: hooks of layers, prefixes of names, widths from a file, tied weights,
 * state of any type. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <mica/mica.h>
#include <stdio.h>
#include <string.h>

static mica_graph *graph;
static mica_nn *nn;

static void setup(void) { ck_ok(mica_graph_create(&graph)); }

static void begin(const mica_nn_config *config) { ck_ok(mica_nn_create(graph, config, &nn)); }

static void teardown(void) {
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  nn = NULL;
}

#define ck_graph() ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph))
#define ck_says(status, text)                                                                                          \
  ck_assert_msg(mica_graph_status(graph) == (status) && strstr(mica_graph_message(graph), text), "%s",                 \
                mica_graph_message(graph))

static mica_session *session_of(mica_value output) {
  mica_session *session = NULL;
  ck_graph();
  ck_ok(mica_session_create(test_engine(), graph, &output, 1, NULL, &session));
  ck_ok(mica_nn_initialise(nn, session));
  return session;
}

static void download(const mica_tensor *tensor, void *to, size_t bytes) {
  ck_assert_ptr_nonnull(tensor);
  ck_ok(mica_tensor_download(test_queue(), tensor, to, bytes));
}

/* --- hooks --- */

typedef struct seen {
  char text[2048];
  double factor; /* of dense weights; 0: all stay */
  bool wrong;    /* a result of another shape is given */
} seen;

static mica_value note(void *user, mica_nn *of, mica_nn_point point, const char *layer, mica_value value) {
  seen *s = user;
  size_t at = strlen(s->text);
  ck_assert_ptr_eq(of, nn);
  snprintf(s->text + at, sizeof s->text - at, "%s %s %s;", layer, mica_nn_point_name(point),
           mica_dtype_name(mica_value_dtype(value)));
  if (s->wrong && point == MICA_NN_POINT_RESULT) return mica_reshape(value, MICA_SHAPE(-1));
  if (s->factor == 0 || point != MICA_NN_POINT_WEIGHT) return value;
  return mica_mul(value, mica_nn_state_of(of, "factor", MICA_F32, MICA_SCALAR, s->factor));
}

/* Every layer with weights calls the hook, in the order of their points, with its name and its dtype. */
START_TEST(points) {
  seen s = {0};
  begin(&(mica_nn_config){.hook = note, .hook_user = &s, .dtype = MICA_F16, .name_prefix = "teacher."});
  mica_value ids = mica_input(graph, "ids", MICA_I32, MICA_SHAPE(2, 16));
  mica_value h = mica_nn_layer_norm(nn, "norm", mica_nn_embedding(nn, "embed", ids, 9, 4, NULL), NULL);
  mica_nn_push(nn, "body");
  h = mica_nn_conv(nn, "conv", mica_reshape(h, MICA_SHAPE(2, 4, 4, 4)), 6, 3, NULL);
  h = mica_nn_group_norm(nn, "gn", mica_nn_batch_norm(nn, "bn", h, NULL), 2, NULL);
  h = mica_nn_conv_transpose(nn, "up", h, 5, 2, NULL);
  mica_nn_pop(nn);
  mica_nn_rms_norm(nn, "rms", mica_nn_dense(nn, "fc", mica_flatten(h, 1), 3, NULL), NULL);
  ck_graph();
  ck_assert_str_eq(s.text, "embed weight f32;embed result f16;norm result f16;body.conv input f16;body.conv weight f16;"
                           "body.conv result f16;body.bn result f16;body.gn result f16;body.up input f16;"
                           "body.up weight f16;body.up result f16;fc input f16;fc weight f16;fc result f16;"
                           "rms result f16;");
  ck_assert_str_eq(mica_nn_point_name((mica_nn_point)3), "?");
}
END_TEST

/* What a hook returns is what the layer computes with; state that it makes is called after the layer. */
START_TEST(weights_are_replaced) {
  seen s = {.factor = 3};
  begin(&(mica_nn_config){.hook = note, .hook_user = &s});
  mica_value ones = mica_full(graph, MICA_F32, MICA_SHAPE(1, 4), 1);
  mica_dense_config c = {.weight = {.kind = MICA_INIT_CONSTANT, .value = 2}};
  mica_nn_push(nn, "head");
  mica_session *session = session_of(mica_nn_dense(nn, "fc", ones, 2, &c));
  float y[2];
  ck_ok(mica_session_run(session, test_queue(), NULL, 0));
  download(mica_session_output(session, 0), y, sizeof y);
  ck_assert_msg(y[0] == 24 && y[1] == 24, "%g %g", y[0], y[1]);
  ck_assert_ptr_nonnull(mica_session_parameter(session, "head.fc.factor"));
  mica_session_destroy(session);
}
END_TEST

START_TEST(a_wrong_shape_is_named) {
  seen s = {.wrong = true};
  begin(&(mica_nn_config){.hook = note, .hook_user = &s});
  mica_nn_dense(nn, "fc", mica_input(graph, "x", MICA_F32, MICA_SHAPE(2, 4)), 3, NULL);
  ck_says(MICA_E_SHAPE, "fc: the hook returned f32 (6), but must keep the type and shape of its result, f32 (2, 3)");
}
END_TEST

/* --- names --- */

/* Two networks of equal layers in one graph: their names differ in the graph alone, so that initial values agree and a
 * file of one is read by the other. */
START_TEST(prefix) {
  mica_nn *student = NULL;
  float w[6], v[6] = {0};
  size_t count = 0;
  begin(&(mica_nn_config){.name_prefix = "teacher.", .seed = 5});
  ck_ok(mica_nn_create(graph, &(mica_nn_config){.seed = 5}, &student));
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(1, 3));
  mica_value y = mica_sub(mica_nn_dense(nn, "fc", x, 2, NULL), mica_nn_dense(student, "fc", x, 2, NULL));
  ck_assert_str_eq(mica_nn_parameter_at(nn, 0)->name, "teacher.fc.weight");
  ck_assert_str_eq(mica_nn_parameter_at(nn, 0)->own_name, "fc.weight");
  ck_assert_str_eq(mica_nn_parameter_at(student, 0)->own_name, "fc.weight");
  ck_ok(mica_nn_freeze(nn, "fc.*", true, &count));
  ck_assert_uint_eq(count, 2);
  ck_assert(!mica_nn_parameter_at(student, 0)->frozen);
  mica_nn_step(nn);
  ck_assert_str_eq(mica_nn_parameter_at(nn, 2)->name, "teacher.step");

  mica_session *session = session_of(y);
  mica_tensor *own = mica_session_parameter(session, "fc.weight");
  ck_ok(mica_nn_initialise(student, session));
  download(mica_session_parameter(session, "teacher.fc.weight"), w, sizeof w);
  ck_ok(mica_nn_save(nn, session, files_path("prefix.safetensors"), NULL, 0));
  download(own, v, sizeof v);
  ck_assert_mem_eq(w, v, sizeof w);
  ck_assert(w[0] != w[1]);
  ck_ok(mica_tensor_upload(test_queue(), own, (const float[6]){0}, sizeof v));
  ck_ok(mica_nn_load(student, session, files_path("prefix.safetensors"), NULL));
  download(own, v, sizeof v);
  ck_assert_mem_eq(w, v, sizeof w);
  mica_session_destroy(session);
  mica_nn_destroy(student);
}
END_TEST

/* State of an optimiser and moving averages carry the prefix once. */
START_TEST(prefix_of_optimisers) {
  begin(&(mica_nn_config){.name_prefix = "b.", .training = true});
  mica_value y = mica_nn_dense(nn, "fc", mica_input(graph, "x", MICA_F32, MICA_SHAPE(1, 3)), 2, NULL);
  mica_optimizer_config how = mica_optimizer_config_default(MICA_OPTIMIZER_SGD);
  how.ema = 0.9;
  mica_optimize(nn, mica_sum(y, MICA_ALL_AXES, false), &how, NULL);
  ck_graph();
  bool averaged = false;
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const char *name = mica_nn_parameter_at(nn, i)->name;
    averaged = averaged || !strcmp(name, "b.ema.fc.weight");
    ck_assert_msg(!strncmp(name, "b.", 2) && !strstr(name + 2, "b."), "%s", name);
  }
  ck_assert(averaged);
}
END_TEST

START_TEST(tied_weights) {
  begin(&(mica_nn_config){.dtype = MICA_F16});
  mica_nn_push(nn, "body");
  mica_value ids = mica_input(graph, "ids", MICA_I64, MICA_SHAPE(MICA_DYNAMIC));
  mica_value h = mica_nn_embedding(nn, "embed", ids, 50, 8, NULL);
  mica_value w = mica_nn_weight_of(nn, "body.embed.weight");
  ck_assert(mica_value_dtype(h) == MICA_F16 && mica_value_dtype(w) == MICA_F16);
  mica_shape logits = mica_value_shape(mica_matmul(h, mica_transpose(w, MICA_AXES(1, 0))));
  ck_assert(mica_shape_equal(logits, MICA_SHAPE(MICA_DYNAMIC, 50)));
  ck_assert_uint_eq(mica_nn_parameter_count(nn), 1);
  ck_assert(mica_value_is_null(mica_nn_weight_of(nn, "embed.weight")));
  ck_says(MICA_E_NOT_FOUND, "mica_nn_weight_of: no layer made a weight 'embed.weight'");
}
END_TEST

/* An f16 network reads the rows that it needs of an f32 table; its gradient is a scatter of f32 rows. */
START_TEST(embeddings_read_rows) {
  char *text = NULL;
  begin(&(mica_nn_config){.dtype = MICA_F16});
  mica_value ids = mica_input(graph, "ids", MICA_I32, MICA_SHAPE(3));
  mica_value h = mica_nn_embedding(nn, "embed", ids, 50, 8, NULL), table = mica_nn_parameter_at(nn, 0)->value, dw;
  ck_ok(mica_gradients(mica_sum(mica_cast(h, MICA_F32), MICA_ALL_AXES, false), &table, 1, &dw));
  ck_ok(mica_graph_dump(graph, MICA_DUMP_FORMAT_TEXT, &text));
  ck_assert_msg(strstr(text, "gather %2 %1 -> f32") && strstr(text, "scatter_into_zeros(join=add) %2 %1"), "%s", text);
  mica_free(text);
}
END_TEST

/* --- state --- */

START_TEST(state_of_any_dtype) {
  begin(NULL);
  mica_value count = mica_nn_state_of(nn, "count", MICA_I64, MICA_SHAPE(3), 1e12);
  mica_value levels = mica_nn_state_of(nn, "levels", MICA_U8, MICA_SHAPE(5), 300);
  mica_session *session = session_of(mica_add(count, mica_sum(mica_cast(levels, MICA_I64), MICA_ALL_AXES, false)));
  int64_t c[3], y[3];
  uint8_t l[5];
  ck_ok(mica_session_run(session, test_queue(), NULL, 0));
  download(mica_session_parameter(session, "count"), c, sizeof c);
  download(mica_session_parameter(session, "levels"), l, sizeof l);
  download(mica_session_output(session, 0), y, sizeof y);
  ck_assert_msg(c[2] == 1000000000000 && l[4] == 255 && y[0] == c[0] + 5 * 255, "%lld %d %lld", (long long)c[2], l[4],
                (long long)y[0]);
  ck_assert_int_eq(mica_nn_parameter_at(nn, 1)->role, MICA_NN_ROLE_STATE);
  /* Files hold it too. */
  ck_ok(mica_nn_save(nn, session, files_path("state.safetensors"), NULL, 0));
  ck_ok(mica_tensor_upload(test_queue(), mica_session_parameter(session, "count"), (const int64_t[3]){0}, sizeof c));
  ck_ok(mica_nn_load(nn, session, files_path("state.safetensors"), NULL));
  download(mica_session_parameter(session, "count"), c, sizeof c);
  ck_assert_int_eq(c[0], 1000000000000);
  mica_session_destroy(session);
}
END_TEST

/* --- widths from a file --- */

/* A file with zeros of these shapes. */
static mica_safetensors *file_of(const mica_safetensors_entry *given, size_t count) {
  static const float zeros[4096];
  mica_safetensors_entry entries[8];
  mica_safetensors *file = NULL;
  for (size_t i = 0; i < count; i++) {
    int64_t elements = 0;
    ck_ok(mica_shape_count(given[i].shape, &elements));
    entries[i] = given[i];
    entries[i].dtype = MICA_F32;
    entries[i].data = zeros;
    entries[i].bytes = (size_t)elements * sizeof(float);
  }
  ck_ok(mica_safetensors_write(files_path("like.safetensors"), entries, count, NULL, 0));
  ck_ok(mica_safetensors_open(files_path("like.safetensors"), &file));
  return file;
}

START_TEST(widths_of_a_file) {
  static const struct {
    const char *name;
    mica_shape shape;
  } expected[] = {{"body.wide.weight", {4, {5, 3, 3, 3}}},
                  {"body.wide.bias", {1, {5}}},
                  {"body.each.weight", {4, {5, 1, 3, 3}}},
                  {"body.each.bias", {1, {5}}},
                  {"body.lift.weight", {4, {5, 1, 2, 2}}},
                  {"body.lift.bias", {1, {5}}},
                  {"body.up.weight", {4, {5, 2, 2, 2}}},
                  {"body.up.bias", {1, {2}}},
                  {"fc.weight", {2, {7, 72}}},
                  {"fc.bias", {1, {7}}},
                  {"last.weight", {2, {3, 7}}},
                  {"last.bias", {1, {3}}},
                  {"embed.weight", {2, {20, 4}}}};
  const mica_safetensors_entry entries[] = {{.name = "body.wide.weight", .shape = {4, {5, 3, 3, 3}}},
                                            {.name = "body.each.weight", .shape = {4, {5, 1, 3, 3}}},
                                            {.name = "body.lift.weight", .shape = {4, {5, 1, 2, 2}}},
                                            {.name = "body.up.weight", .shape = {4, {5, 2, 2, 2}}},
                                            {.name = "fc.weight", .shape = {2, {7, 99}}},
                                            {.name = "embed.weight", .shape = {2, {20, 4}}}};
  mica_safetensors *file = file_of(entries, sizeof entries / sizeof *entries);
  mica_nn_conv_config each = {.how = {.pad = {1, 1}, .groups = 8}}, two = {.how = {.stride = {2, 2}}},
                      lift = {.how = {.groups = 8}};
  begin(&(mica_nn_config){.like = file, .name_prefix = "student."});
  mica_nn_push(nn, "body");
  mica_value h = mica_nn_conv(nn, "wide", mica_input(graph, "x", MICA_F32, MICA_SHAPE(1, 3, 4, 4)), 8, 3, NULL);
  h = mica_nn_conv(nn, "each", h, 8, 3, &each);
  h = mica_nn_conv_transpose(nn, "lift", h, 8, 2, &lift);
  h = mica_nn_conv_transpose(nn, "up", h, 4, 2, &two);
  mica_nn_pop(nn);
  mica_nn_dense(nn, "last", mica_nn_dense(nn, "fc", mica_flatten(h, 1), 10, NULL), 3, NULL);
  mica_nn_embedding(nn, "embed", mica_input(graph, "ids", MICA_I32, MICA_SHAPE(3)), 50, 8, NULL);
  ck_graph();
  ck_assert_uint_eq(mica_nn_parameter_count(nn), sizeof expected / sizeof *expected);
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    char text[MICA_SHAPE_TEXT];
    ck_assert_str_eq(info->own_name, expected[i].name);
    ck_assert_msg(mica_shape_equal(mica_value_shape(info->value), expected[i].shape), "%s %s", info->name,
                  mica_shape_format(mica_value_shape(info->value), text));
  }
  mica_safetensors_close(file);
}
END_TEST

START_TEST(a_file_of_another_network) {
  mica_safetensors *file = file_of(&(mica_safetensors_entry){.name = "fc.weight", .shape = {1, {7}}}, 1);
  begin(&(mica_nn_config){.like = file});
  mica_nn_dense(nn, "fc", mica_input(graph, "x", MICA_F32, MICA_SHAPE(1, 3)), 10, NULL);
  ck_says(MICA_E_FORMAT, "fc.weight: the shape in the weights file is (7)");
  mica_safetensors_close(file);
}
END_TEST

TESTS(DEVICE, setup, teardown, points, weights_are_replaced, a_wrong_shape_is_named, prefix, prefix_of_optimisers,
      tied_weights, embeddings_read_rows, state_of_any_dtype, widths_of_a_file, a_file_of_another_network)
