/* labels: null single
 *
 * Models that are opened and described, and files that are refused: with a sentence, whatever they hold. */
#include "onnx/products.h"
#include "onnx/training.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/wire.h"

#include <mica/onnx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ck_refused(call, status, sentence)                                                                             \
  do {                                                                                                                 \
    ck_assert_int_eq(call, status);                                                                                    \
    ck_assert_msg(strstr(mica_error_message(), sentence) != NULL, "%s", mica_error_message());                         \
  } while (0)

static const int64_t two[] = {2, -1}, rows[] = {WIRE_OPEN, 2, -1};

static void add_node(mica__text *graph, const char *text) {
  mica__text node = wire_node(text);
  wire_inside(graph, WIRE_GRAPH_NODE, &node);
}

static mica__text graph_of(const char *const *nodes) {
  mica__text graph = {0}, x = wire_port("x", 1, rows), y = wire_port("y", 10, two);
  wire_inside(&graph, WIRE_GRAPH_INPUT, &x);
  wire_inside(&graph, WIRE_GRAPH_OUTPUT, &y);
  for (; *nodes; nodes++) add_node(&graph, *nodes);
  return graph;
}

static mica_status open_model(mica__text *model, mica_onnx **out) {
  *out = NULL;
  mica_status status = mica_onnx_open_memory("model", model->data, model->length, out);
  mica__text_free(model);
  return status;
}

static mica_status open_nodes(const char *const *nodes, mica_onnx **out) {
  mica__text graph = graph_of(nodes), model = wire_model(&graph);
  return open_model(&model, out);
}

START_TEST(a_model_is_described) {
  mica_onnx *model;
  mica__text graph = graph_of((const char *[]){"Relu x > h", "Relu h > y", "Strange.h h > z", NULL});
  mica__text weight = wire_tensor("w", 1, two, (float[]){1, 2}, 8);
  wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &weight);
  mica__text file = wire_model(&graph);
  ck_ok(open_model(&file, &model));
  ck_assert_uint_eq(mica_onnx_input_count(model), 1);
  mica_onnx_port x = mica_onnx_input(model, 0), y = mica_onnx_output_port(model, 0);
  ck_assert_str_eq(x.name, "x");
  ck_assert(x.has_dtype && x.dtype == MICA_F32 && x.has_shape && x.shape.rank == 2);
  ck_assert_int_eq(x.shape.dim[0], MICA_DYNAMIC);
  ck_assert_int_eq(x.shape.dim[1], 2);
  ck_assert_str_eq(x.dim_name[0], "n");
  ck_assert(y.dtype == MICA_F16 && !strcmp(y.type, "float16"));
  ck_assert_uint_eq(mica_onnx_operator_count(model), 2);
  mica_onnx_operator relu = mica_onnx_operator_at(model, 0), other = mica_onnx_operator_at(model, 1);
  ck_assert(!strcmp(relu.name, "Relu") && relu.count == 2 && relu.version == 17 && relu.supported);
  ck_assert(!strcmp(other.name, "Strange.h") && !other.supported);
  mica_onnx_info info = mica_onnx_describe(model);
  ck_assert_int_eq(info.opset, 17);
  ck_assert_uint_eq(info.nodes, 3);
  ck_assert_uint_eq(info.depth, 2);
  ck_assert_uint_eq(info.weight_elements, 2);
  ck_assert_uint_eq(info.weight_bytes, 8);
  mica_onnx_close(model);
}
END_TEST

START_TEST(what_is_no_model_is_refused) {
  mica_onnx *model = NULL;
  ck_refused(mica_onnx_open_memory("empty", "", 0, &model), MICA_E_FORMAT,
             "empty is not an ONNX model: it has no graph");
  ck_refused(mica_onnx_open_memory("text", "\x7fthis is text", 13, &model), MICA_E_FORMAT,
             "text is damaged or no ONNX file: byte 0");
  ck_refused(mica_onnx_open("/nowhere/model.onnx", &model), MICA_E_NOT_FOUND, "/nowhere/model.onnx");
  ck_refused(mica_onnx_open_memory("long", "\x3a\x7f\x01", 3, &model), MICA_E_FORMAT, "a field beyond the end");
  ck_refused(mica_onnx_open_memory("group", "\x3b\x01", 2, &model), MICA_E_FORMAT, "a field of a kind");
  ck_refused(mica_onnx_open_memory("number", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11, &model), MICA_E_FORMAT,
             "a number that does not end");
  ck_refused(open_nodes((const char *[]){"Relu x > y", "Neg x > y", NULL}, &model), MICA_E_FORMAT,
             "two nodes make the value 'y'");
  ck_refused(open_nodes((const char *[]){"Relu b > a", "Neg a > b", NULL}, &model), MICA_E_FORMAT, "part of a cycle");
}
END_TEST

/* Messages inside each other, 50,000 deep in 200 kB or less: graph, node, attribute, graph. */
START_TEST(deep_nesting_is_refused) {
  mica_onnx *model = NULL;
  static const int fields[] = {WIRE_GRAPH_NODE, WIRE_ATTRIBUTE_GRAPH, WIRE_NODE_ATTRIBUTE};
  size_t most = 1u << 20, at = most;
  unsigned char *file = malloc(most);
  ck_assert_ptr_nonnull(file);
  /* Written from the end: each message is its length and what is inside. */
  for (int depth = 0; depth < 50000; depth++) {
    size_t length = most - at, bytes = 1;
    for (size_t rest = length; rest >= 128; rest >>= 7) bytes++;
    at -= bytes;
    for (size_t i = 0; i < bytes; i++)
      file[at + i] = (unsigned char)((length >> (7 * i) & 127) | (i + 1 < bytes ? 128 : 0));
    file[--at] = (unsigned char)((depth == 49999 ? WIRE_MODEL_GRAPH : fields[depth % 3]) << 3 | 2);
  }
  ck_refused(mica_onnx_open_memory("deep", file + at, most - at, &model), MICA_E_FORMAT, "more than 200 deep");
  free(file);
}
END_TEST

/* Two bytes a message: more than the limit in 9 MB. */
START_TEST(too_many_messages_are_refused) {
  mica_onnx *model = NULL;
  size_t bytes = 9000000;
  unsigned char *file = calloc(bytes, 1);
  ck_assert_ptr_nonnull(file);
  for (size_t i = 0; i < bytes; i += 2) file[i] = WIRE_MODEL_GRAPH << 3 | 2;
  ck_refused(mica_onnx_open_memory("many", file, bytes, &model), MICA_E_FORMAT, "more than 4000000 messages");
  free(file);
}
END_TEST

START_TEST(functions_that_call_themselves_are_refused) {
  mica_onnx *model = NULL;
  mica__text graph = graph_of((const char *[]){"Twice x > y", NULL}), file = wire_model(&graph), function = {0};
  wire_text(&function, 1, "Twice");
  wire_text(&function, 4, "a");
  wire_text(&function, 5, "b");
  mica__text node = wire_node("Twice a > b");
  wire_inside(&function, 7, &node);
  wire_inside(&file, WIRE_MODEL_FUNCTION, &function);
  ck_refused(open_model(&file, &model), MICA_E_FORMAT, "'Twice' calls itself");
}
END_TEST

static void add_node_of(mica__text *graph, const char *text, const char *domain) {
  mica__text node = wire_node(text);
  wire_text(&node, 7, domain);
  wire_inside(graph, WIRE_GRAPH_NODE, &node);
}

/* An operator of another domain is not ONNX's operator of this name: its operands are not statistics, and it is not a
 * product. */
START_TEST(operators_of_other_domains_may_have_any_name) {
  static const char *const domains[] = {"", "ai.onnx", "com.example"};
  static const float ones[18] = {1};
  for (size_t d = 0; d < sizeof domains / sizeof *domains; d++) {
    const bool own = d < 2;
    mica_onnx *model = NULL;
    mica__onnx_products found;
    mica__text graph = graph_of((const char *[]){"Conv x w > h", NULL});
    add_node_of(&graph, "BatchNormalization h s b m v > n", domains[d]);
    add_node(&graph, "Wrap n w > y");
    mica__text weight = wire_tensor("w", 1, (int64_t[]){2, 1, 3, 3, -1}, ones, sizeof ones);
    wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &weight);
    for (const char *const *name = (const char *[]){"s", "b", "m", "v", NULL}; *name; name++) {
      mica__text part = wire_tensor(*name, 1, two, ones, 8);
      wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &part);
    }
    mica__text file = wire_model(&graph), function = {0}, inner = wire_node("Conv a c > b");
    wire_text(&function, 1, "Wrap");
    wire_text(&function, 4, "a");
    wire_text(&function, 4, "c");
    wire_text(&function, 5, "b");
    wire_text(&inner, 7, domains[d]);
    wire_inside(&function, 7, &inner);
    wire_inside(&file, WIRE_MODEL_FUNCTION, &function);
    ck_ok(open_model(&file, &model));
    ck_assert_int_eq(mica__onnx_is_statistic(model, "m"), own);
    ck_assert_int_eq(mica__onnx_is_statistic(model, "v"), own);
    ck_assert(!mica__onnx_is_statistic(model, "s"));
    ck_ok(mica__onnx_products_find(model, &found));
    ck_assert_uint_eq(found.count, own ? 2 : 1);
    mica__onnx_products_free(&found);
    mica_onnx_close(model);
  }
}
END_TEST

/* Only operators of ONNX and ONNX Runtime are kept in floating point or mean that a model is quantised. */
START_TEST(layers_of_other_domains_have_no_products) {
  static const char *const domains[] = {"", "ai.onnx", "com.microsoft", "com.example"};
  static const char *const ops[] = {
      "ConvTranspose", "LSTM",           "GRU",         "RNN",        "Einsum", "Attention", "MultiHeadAttention",
      "DeformConv",    "QuantizeLinear", "QLinearConv", "MatMulNBits"};
  for (size_t d = 0; d < sizeof domains / sizeof *domains; d++)
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
      const bool own = d < 3, quantised = o >= 8;
      char node[64];
      mica_onnx *model = NULL;
      mica__onnx_products found;
      snprintf(node, sizeof node, "%s x x > y", ops[o]);
      mica__text graph = graph_of((const char *[]){NULL});
      add_node_of(&graph, node, domains[d]);
      mica__text file = wire_model(&graph);
      ck_ok(open_model(&file, &model));
      const mica_status status = mica__onnx_products_find(model, &found);
      ck_assert_int_eq(status, own && quantised ? MICA_E_STATE : MICA_OK);
      if (status == MICA_OK) {
        ck_assert_uint_eq(found.count, own);
        mica__onnx_products_free(&found);
      }
      mica_onnx_close(model);
    }
}
END_TEST

/* A batch norm is only taken into a convolution if it is ONNX's. */
START_TEST(norms_of_other_domains_are_left) {
  static const char *const domains[] = {"", "ai.onnx", "com.example"};
  static const float ones[18] = {1};
  for (size_t d = 0; d < sizeof domains / sizeof *domains; d++) {
    mica_onnx *model = NULL;
    mica__onnx_products found;
    mica__text graph = graph_of((const char *[]){"Conv x w > h", NULL});
    add_node_of(&graph, "BatchNormalization h s b m v > y", domains[d]);
    mica__text weight = wire_tensor("w", 1, (int64_t[]){2, 1, 3, 3, -1}, ones, sizeof ones);
    wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &weight);
    for (const char *const *name = (const char *[]){"s", "b", "m", "v", NULL}; *name; name++) {
      mica__text part = wire_tensor(*name, 1, two, ones, 8);
      wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &part);
    }
    mica__text file = wire_model(&graph);
    ck_ok(open_model(&file, &model));
    ck_ok(mica__onnx_products_find(model, &found));
    ck_assert_uint_eq(found.count, 1);
    ck_assert_int_eq(found.list[0].norm != NULL, d < 2);
    mica__onnx_products_free(&found);
    mica_onnx_close(model);
  }
}
END_TEST

/* --- tensors --- */

static mica_status read_tensor(mica__text *tensor) {
  mica_dtype dtype;
  mica_shape shape;
  void *data = NULL;
  files_write("t.pb", tensor->data, tensor->length);
  mica__text_free(tensor);
  mica_status status = mica_onnx_tensor_read(files_path("t.pb"), &dtype, &shape, &data);
  if (status == MICA_OK) mica_free(data);
  return status;
}

START_TEST(tensors_that_cannot_be_are_refused) {
  static const struct {
    int64_t dims[10];
    int type;
    size_t bytes;
    mica_status status;
    const char *sentence;
  } wrong[] = {
      {{2, 3, -1}, 1, 20, MICA_E_FORMAT, "f32 (2, 3), but has 20 bytes"},
      {{3037000500, 3037000500, -1}, 1, 4, MICA_E_FORMAT, "which is too large"},
      {{INT64_MAX, 2, -1}, 2, 4, MICA_E_FORMAT, "which is too large"},
      {{1, 1, 1, 1, 1, 1, 1, 1, 1, -1}, 1, 4, MICA_E_UNSUPPORTED, "9 dimensions"},
      {{1, -1}, 17, 1, MICA_E_UNSUPPORTED, "float8e4m3fn (17)"},
      {{1, -1}, 99, 1, MICA_E_UNSUPPORTED, "elements of type unknown (99); this type is not supported"},
  };
  static const char zeros[64];
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    mica__text tensor = wire_tensor("t", wrong[i].type, wrong[i].dims, zeros, wrong[i].bytes);
    ck_refused(read_tensor(&tensor), wrong[i].status, wrong[i].sentence);
  }
  mica__text negative = wire_tensor("t", 1, two, zeros, 8);
  wire_int(&negative, 1, -5);
  ck_refused(read_tensor(&negative), MICA_E_FORMAT, "dimension 1 is -5, but must be 0 or above");
  mica__text few = wire_tensor("t", 1, two, NULL, 0);
  wire_float(&few, 4, 1);
  ck_refused(read_tensor(&few), MICA_E_FORMAT, "has 1 elements");
}
END_TEST

static void add_external(mica__text *tensor, const char *key, const char *value) {
  mica__text entry = {0};
  wire_text(&entry, 1, key);
  wire_text(&entry, 2, value);
  wire_inside(tensor, 13, &entry);
}

/* Runs a model on the null device whose one weight lies in the file. */
static mica_status run_external(const char *location, const char *offset, const char *length) {
  mica__text graph = graph_of((const char *[]){"Add x w > y", NULL});
  mica__text tensor = wire_tensor("w", 1, (int64_t[]){64, 2, -1}, NULL, 0);
  add_external(&tensor, "location", location);
  if (offset) add_external(&tensor, "offset", offset);
  if (length) add_external(&tensor, "length", length);
  wire_int(&tensor, 14, 1);
  wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &tensor);
  mica__text file = wire_model(&graph);
  files_write("inside/model.onnx", file.data, file.length);
  mica__text_free(&file);
  mica_onnx *model = NULL;
  mica_onnx_runner *runner = NULL;
  mica_engine *engine = NULL;
  mica_engine_config config = mica_engine_config_default();
  config.device = "null";
  ck_ok(mica_engine_create(&config, &engine));
  mica_status status = mica_onnx_open(files_path("inside/model.onnx"), &model);
  const float x[128] = {0};
  mica_onnx_feed feed = {.name = "x", .dtype = MICA_F32, .shape = MICA_SHAPE(64, 2), .data = x};
  if (status == MICA_OK) {
    ck_ok(mica_onnx_runner_create(engine, model, NULL, &runner));
    status = mica_onnx_run(runner, mica_engine_queue(engine), &feed, 1);
    mica_onnx_runner_destroy(runner);
  }
  mica_onnx_close(model);
  mica_engine_destroy(engine);
  return status;
}

START_TEST(external_data_stay_inside) {
  static const float weights[128] = {1};
  files_write("inside/w.bin", weights, sizeof weights);
  files_write("inside/deeper/w.bin", weights, sizeof weights);
  files_write("outside.bin", weights, sizeof weights);
  ck_ok(run_external("w.bin", NULL, NULL));
  ck_ok(run_external("deeper/w.bin", "0", "512"));
  ck_ok(run_external("./w.bin", NULL, NULL));
  ck_ok(run_external("././deeper/w.bin", NULL, NULL));
  ck_refused(run_external("./../outside.bin", NULL, NULL), MICA_E_FORMAT, "must be in a file of the model's folder");
  ck_refused(run_external("./", NULL, NULL), MICA_E_FORMAT, "must be in a file of the model's folder");
  ck_refused(run_external("../outside.bin", NULL, NULL), MICA_E_FORMAT, "must be in a file of the model's folder");
  ck_refused(run_external("deeper/../../outside.bin", NULL, NULL), MICA_E_FORMAT,
             "must be in a file of the model's folder");
  ck_refused(run_external("/etc/passwd", NULL, NULL), MICA_E_FORMAT, "must be in a file of the model's folder");
  ck_refused(run_external("", NULL, NULL), MICA_E_FORMAT, "has no location");
  ck_refused(run_external("none.bin", NULL, NULL), MICA_E_NOT_FOUND, "none.bin");
  ck_refused(run_external("w.bin", "4", NULL), MICA_E_FORMAT,
             "'w.bin': 512 bytes from byte 4 on are needed, but the file has only 512");
  ck_refused(run_external("w.bin", "18446744073709551615", NULL), MICA_E_FORMAT, "the file has only 512");
  ck_refused(run_external("w.bin", "-1", NULL), MICA_E_FORMAT, "the offset '-1'");
  ck_refused(run_external("w.bin", "0", "100"), MICA_E_FORMAT, "has 100 bytes of external data in 'w.bin'");
  ck_refused(run_external("deeper", NULL, NULL), MICA_E_FORMAT, "must be a regular file");
  (void)!symlink("../outside.bin", files_path("inside/link.bin"));
  ck_refused(run_external("link.bin", NULL, NULL), MICA_E_FORMAT, "the path leaves the model's folder");
  (void)!symlink("..", files_path("inside/up"));
  ck_refused(run_external("up/outside.bin", NULL, NULL), MICA_E_FORMAT, "the path leaves the model's folder");
  (void)!link(files_path("outside.bin"), files_path("inside/hard.bin"));
  ck_refused(run_external("hard.bin", NULL, NULL), MICA_E_FORMAT, "must be a regular file with a single hard link");
}
END_TEST

/* Links, by what they stand for; their names are the location that is opened, or stand at its beginning. */
START_TEST(links_that_stay_inside_are_followed) {
  static const float weights[128] = {1};
  static const struct {
    const char *name, *target, *location, *why; /* NULL: it is opened */
  } links[] = {
      {"same.bin", "w.bin", "same.bin", NULL},
      {"again.bin", "same.bin", "again.bin", NULL},
      {"down.bin", "./deeper//w.bin", "./down.bin", NULL},
      {"deeper/up.bin", "../w.bin", "deeper/up.bin", NULL},
      {"folder", "deeper/", "folder/w.bin", NULL},
      {"here", ".", "here/w.bin", NULL},
      {"back", "deeper/..", "back/w.bin", NULL},
      {"back", "deeper/..", "back", "must be in a file of the model's folder"},
      {"deeper/away.bin", "../../outside.bin", "deeper/away.bin", "leaves the model's folder"},
      {"root.bin", "/etc/passwd", "root.bin", "leaves the model's folder"},
      {"loop.bin", "loop.bin", "loop.bin", "the path has too many links"},
      {"around.bin", "deeper/../../inside/w.bin", "around.bin", "leaves the model's folder"},
      {"gone.bin", "nothing.bin", "gone.bin", "No such file"},
      {"folder.bin", "deeper", "folder.bin", "must be a regular file"},
  };
  files_write("inside/w.bin", weights, sizeof weights);
  files_write("inside/deeper/w.bin", weights, sizeof weights);
  files_write("outside.bin", weights, sizeof weights);
  for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
    char path[64];
    snprintf(path, sizeof path, "inside/%s", links[i].name);
    (void)unlink(files_path(path));
    ck_assert_int_eq(symlink(links[i].target, files_path(path)), 0);
    mica_status status = run_external(links[i].location, NULL, NULL);
    ck_assert_msg((status == MICA_OK) == !links[i].why, "%s: %s", links[i].name, mica_error_message());
    if (links[i].why) ck_assert_ptr_nonnull(strstr(mica_error_message(), links[i].why));
  }
  ck_refused(run_external("deeper/../w.bin", NULL, NULL), MICA_E_FORMAT, "must be in a file of the model's folder");
  ck_refused(run_external("folder/../w.bin", NULL, NULL), MICA_E_FORMAT, "must be in a file of the model's folder");
}
END_TEST

/* Lowers a model in memory for the null device, with two numbers for its input; frees the model. */
static mica_status run_null(mica__text *file) {
  const float x[2] = {0};
  mica_onnx_feed feed = {.name = "x", .dtype = MICA_F32, .shape = MICA_SHAPE(1, 2), .data = x};
  mica_onnx *model = NULL;
  mica_onnx_runner *runner = NULL;
  mica_engine *engine = NULL;
  mica_engine_config config = mica_engine_config_default();
  config.device = "null";
  ck_ok(mica_engine_create(&config, &engine));
  ck_ok(mica_onnx_open_memory("model.onnx", file->data, file->length, &model));
  ck_ok(mica_onnx_runner_create(engine, model, NULL, &runner));
  const mica_status status = mica_onnx_run(runner, mica_engine_queue(engine), &feed, 1);
  mica_onnx_runner_destroy(runner);
  mica_onnx_close(model);
  mica_engine_destroy(engine);
  mica__text_free(file);
  return status;
}

/* A small weight is read while the graph is made. If reading it fails, the operator fails too, because it lacks an
 * operand. The message must name the first failure. */
START_TEST(the_first_error_is_told) {
  mica__text graph = graph_of((const char *[]){"Add x w > y", NULL});
  mica__text tensor = wire_tensor("w", 1, (int64_t[]){2, -1}, NULL, 0);
  add_external(&tensor, "location", "w.bin");
  wire_int(&tensor, 14, 1);
  wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &tensor);
  mica__text file = wire_model(&graph);
  ck_refused(run_null(&file), MICA_E_UNSUPPORTED,
             "(Add): tensor 'w': external data in 'w.bin' cannot be read, because a model in memory has no folder");
}
END_TEST

/* Six functions that call the next one ten times: more than a million nodes in a file of a kilobyte. */
START_TEST(too_many_nodes_are_refused) {
  mica__text graph = graph_of((const char *[]){"Ten0 x > y", NULL}), file = wire_model(&graph);
  for (int k = 0; k < 6; k++) {
    mica__text function = {0};
    char name[16], call[32];
    snprintf(name, sizeof name, "Ten%d", k);
    wire_text(&function, 1, name);
    wire_text(&function, 4, "a");
    wire_text(&function, 5, "b9");
    for (int i = 0; i < 10; i++) {
      snprintf(call, sizeof call, "Ten%d a > b%d", k + 1, i);
      if (k == 5) snprintf(call, sizeof call, "Relu a > b%d", i);
      mica__text node = wire_node(call);
      wire_inside(&function, 7, &node);
    }
    wire_inside(&file, WIRE_MODEL_FUNCTION, &function);
  }
  ck_refused(run_null(&file), MICA_E_UNSUPPORTED,
             "the model has more than 1000000 nodes after its functions are expanded and its loops unrolled");
}
END_TEST

TESTS(NEEDS(ONNX), NULL, NULL, a_model_is_described, what_is_no_model_is_refused, deep_nesting_is_refused,
      too_many_messages_are_refused, functions_that_call_themselves_are_refused,
      operators_of_other_domains_may_have_any_name, layers_of_other_domains_have_no_products,
      norms_of_other_domains_are_left, tensors_that_cannot_be_are_refused, external_data_stay_inside,
      links_that_stay_inside_are_followed, the_first_error_is_told, too_many_nodes_are_refused)
