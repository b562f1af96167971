/* labels: null single
 *
 * Attributes beside the table of operators: what a file says and Mica does not know is refused by name, never passed
 * over. */
#include "onnx/ops/table.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/wire.h"

#include <mica/mica.h>
#include <mica/onnx.h>
#include <string.h>

/* An attribute of a file: the field that holds it and the type that it says. */
typedef struct attribute {
  const char *name;
  char holds; /* f, i, s, n (integers), l (floats), b (a body) or 0 for nothing */
  int type;
  double number;
} attribute;

static mica__text attribute_message(const attribute *a) {
  mica__text message = {0}, body = {0};
  wire_text(&message, 1, a->name);
  if (a->holds == 'f') wire_float(&message, 2, (float)a->number);
  if (a->holds == 'i') wire_int(&message, 3, (int64_t)a->number);
  if (a->holds == 's') wire_text(&message, 4, "RIGHT");
  if (a->holds == 'b') wire_inside(&message, 6, &body);
  if (a->holds == 'l') wire_float(&message, 7, (float)a->number);
  if (a->holds == 'n') wire_int(&message, 8, (int64_t)a->number);
  if (a->type) wire_int(&message, 20, a->type);
  return message;
}

static void add_node(mica__text *message, int field, const char *text, const char *domain, const attribute *list) {
  mica__text node = wire_node(text);
  if (*domain) wire_text(&node, 7, domain);
  for (; list->name; list++) {
    mica__text own = attribute_message(list);
    wire_inside(&node, WIRE_NODE_ATTRIBUTE, &own);
  }
  wire_inside(message, field, &node);
}

static mica__text set_of(const char *domain, int64_t version) {
  mica__text set = {0};
  wire_text(&set, 1, domain);
  wire_int(&set, 2, version);
  return set;
}

/* A model of the graph that imports a version of a domain's operator set. */
static mica__text model_of(mica__text *graph, const char *domain, int64_t version) {
  mica__text model = {0}, set = set_of(domain, version);
  mica__text x = wire_port("x", 1, (int64_t[]){2, -1}), y = wire_port("y", 1, (int64_t[]){2, -1});
  wire_inside(graph, WIRE_GRAPH_INPUT, &x);
  wire_inside(graph, WIRE_GRAPH_OUTPUT, &y);
  wire_int(&model, 1, 8);
  wire_inside(&model, 8, &set);
  wire_inside(&model, WIRE_MODEL_GRAPH, graph);
  return model;
}

/* What a runner of the model says, or its run on x = (-2, 3) where that gets so far. */
static mica_status try_model(mica__text *file, float *y) {
  const float x[] = {-2, 3};
  mica_onnx *model = NULL;
  mica_onnx_runner *runner = NULL;
  mica_engine *engine = NULL;
  mica_engine_config config = mica_engine_config_default();
  config.device = "null";
  ck_ok(mica_engine_create(&config, &engine));
  mica_queue *queue = mica_engine_queue(engine);
  mica_status status = mica_onnx_open_memory("m", file->data, file->length, &model);
  if (status == MICA_OK) status = mica_onnx_runner_create(engine, model, NULL, &runner);
  const mica_onnx_feed feed = {.name = "x", .dtype = MICA_F32, .shape = MICA_SHAPE(2), .data = x};
  if (status == MICA_OK && y) status = mica_onnx_run(runner, queue, &feed, 1);
  mica_onnx_runner_destroy(runner);
  mica_onnx_close(model);
  mica_engine_destroy(engine);
  mica__text_free(file);
  return status;
}

static mica_status try_node(const char *node, const char *domain, int64_t version, const attribute *list) {
  mica__text graph = {0};
  add_node(&graph, WIRE_GRAPH_NODE, node, domain, list);
  mica__text file = model_of(&graph, domain, version);
  return try_model(&file, NULL);
}

#define FLOAT 1
#define INT 2
#define STRING 3
#define FLOATS 6
#define INTS 7

typedef struct wrong {
  const char *node, *domain;
  int64_t version;
  attribute list[4];
  mica_status status;
  const char *sentence;
} wrong;

static void check_refused(const wrong *list, size_t count) {
  for (size_t i = 0; i < count; i++) {
    ck_assert_int_eq(try_node(list[i].node, list[i].domain, list[i].version, list[i].list), list[i].status);
    ck_assert_msg(strstr(mica_error_message(), list[i].sentence), "%zu: %s", i, mica_error_message());
  }
}

START_TEST(unknown_attributes_are_refused) {
  static const wrong list[] = {
      {"Softmax x > y",
       "",
       13,
       {{"axes", 'n', INTS, 1}},
       MICA_E_UNSUPPORTED,
       "node 'y' (Softmax): attribute 'axes' is unknown; the operator has: axis"},
      {"Sign x > y", "", 13, {{"axis", 'i', INT, 1}}, MICA_E_UNSUPPORTED, "the operator has no attributes"},
      {"Softmax x > y", "", 13, {{"", 'i', INT, 1}}, MICA_E_UNSUPPORTED, "attribute '' is unknown"},
      {"QuickGelu x > y",
       "com.microsoft",
       1,
       {{"beta", 'f', FLOAT, 1}},
       MICA_E_UNSUPPORTED,
       "attribute 'beta' is unknown; the operator has: alpha"},
      {"GroupQueryAttention x x x - - x x > y",
       "com.microsoft",
       1,
       {{"num_heads", 'i', INT, 1}, {"kv_num_heads", 'i', INT, 1}, {"heads", 'i', INT, 1}},
       MICA_E_UNSUPPORTED,
       "attribute 'heads' is unknown"},
      {"QMoE x x x x - x x > y",
       "com.microsoft",
       1,
       {{"use_sparse_mixer", 'i', INT, 1}},
       MICA_E_UNSUPPORTED,
       "attribute 'use_sparse_mixer' is 1; only 0 is supported"},
      {"Softmax x > y", "", 13, {{"axis", 'i', INT, 0}, {"axis", 'i', INT, 0}}, MICA_E_FORMAT, "is given twice"},
  };
  check_refused(list, sizeof list / sizeof *list);
}
END_TEST

START_TEST(attributes_of_another_version_are_refused) {
  static const wrong list[] = {
      {"Clip x > y",
       "",
       11,
       {{"min", 'f', FLOAT, 0}},
       MICA_E_UNSUPPORTED,
       "attribute 'min' is of versions 1 to 10 of the operator; the model imports version 11"},
      {"Shape x > y",
       "",
       14,
       {{"start", 'i', INT, 0}},
       MICA_E_UNSUPPORTED,
       "is known since version 15 of the operator; the model imports version 14"},
      {"Cast x > y", "", 13, {{"to", 's', STRING, 0}}, MICA_E_FORMAT, "'to' is of type STRING, but must be INT"},
      {"Concat x > y", "", 13, {{0}}, MICA_E_FORMAT, "attribute 'axis' is missing; the operator needs it"},
      {"GroupQueryAttention x x x - - x x > y",
       "com.microsoft",
       1,
       {{"num_heads", 'i', INT, 1}},
       MICA_E_FORMAT,
       "attribute 'kv_num_heads' is missing; the operator needs it"},
      {"MoE x x x - x > y", "com.microsoft", 2, {{0}}, MICA_E_UNSUPPORTED, "the operator set com.microsoft (for MoE)"},
      {"RotaryEmbedding x x x x > y",
       "com.microsoft",
       1,
       {{"interleaved", 'f', FLOAT, 0}},
       MICA_E_FORMAT,
       "'interleaved' is of type FLOAT, but must be INT"},
      {"Relu x > y",
       "",
       29,
       {{0}},
       MICA_E_UNSUPPORTED,
       "m uses version 29 of the operator set ai.onnx (for Relu); Mica supports versions up to 28"},
      {"Gelu x > y", "com.microsoft", 2, {{0}}, MICA_E_UNSUPPORTED, "the operator set com.microsoft (for Gelu)"},
      {"BatchNormalization x x x x x > y",
       "",
       7,
       {{"spatial", 'i', INT, 0}},
       MICA_E_UNSUPPORTED,
       "attribute 'spatial' is 0; only 1 is supported"},
  };
  check_refused(list, sizeof list / sizeof *list);
  ck_ok(try_node("Clip x > y", "", 10, (attribute[]){{"min", 'f', FLOAT, 0}, {0}}));
  ck_ok(try_node("Relu x > y", "", 28, (attribute[]){{0}}));
  ck_ok(try_node("Concat x > y", "", 3, (attribute[]){{0}}));
}
END_TEST

START_TEST(attributes_of_another_type_are_refused) {
  static const wrong list[] = {
      {"Softmax x > y",
       "",
       13,
       {{"axis", 'f', FLOAT, 0}},
       MICA_E_FORMAT,
       "attribute 'axis' is of type FLOAT, but must be INT"},
      {"Softmax x > y", "", 13, {{"axis", 'f', 0, 0}}, MICA_E_FORMAT, "is of type FLOAT, but must be INT"},
      {"Softmax x > y", "", 13, {{"axis", 'f', INT, 0}}, MICA_E_FORMAT, "lacks a value of its declared type"},
      {"Softmax x > y", "", 13, {{"axis", 'n', INTS, 0}}, MICA_E_FORMAT, "is of type INTS, but must be INT"},
      {"Softmax x > y", "", 13, {{"axis", 0, 0, 0}}, MICA_E_FORMAT, "is of type UNDEFINED, but must be INT"},
      {"ReduceMean x > y", "", 13, {{"axes", 'i', INT, 0}}, MICA_E_FORMAT, "is of type INT, but must be INTS"},
      {"ReduceMean x > y", "", 13, {{"axes", 'l', INTS, 0}}, MICA_E_FORMAT, "lacks a value of its declared type"},
      {"ReduceMean x > y", "", 13, {{"axes", 'i', 99, 0}}, MICA_E_FORMAT, "is of type unknown, but must be INTS"},
      {"LeakyRelu x > y", "", 13, {{"alpha", 'i', INT, 16777217}}, MICA_E_FORMAT, "is of type INT, but must be FLOAT"},
      {"LeakyRelu x > y", "", 13, {{"alpha", 's', STRING, 0}}, MICA_E_FORMAT, "is of type STRING, but must be FLOAT"},
      {"Constant > y", "", 13, {{"value", 0, 4, 0}}, MICA_E_FORMAT, "lacks a value of its declared type"},
  };
  check_refused(list, sizeof list / sizeof *list);
  ck_ok(try_node("LeakyRelu x > y", "", 13, (attribute[]){{"alpha", 'i', INT, 2}, {0}}));
  ck_ok(try_node("LeakyRelu x > y", "", 13, (attribute[]){{"alpha", 'f', 0, 2}, {0}}));
  ck_ok(try_node("ReduceMean x > y", "", 13, (attribute[]){{"axes", 0, 0, 0}, {0}}));
}
END_TEST

/* In a body and in a function, and a reference to an attribute of the call's. */
START_TEST(bodies_and_functions_are_checked) {
  const attribute axes[] = {{"axes", 'n', INTS, 0}, {0}}, none[] = {{0}};
  mica__text graph = {0}, loop = wire_node("If x > y"), body = {0}, branch = {0};
  add_node(&body, WIRE_GRAPH_NODE, "Softmax x > z", "", axes);
  wire_text(&branch, 1, "then_branch");
  wire_inside(&branch, WIRE_ATTRIBUTE_GRAPH, &body);
  wire_inside(&loop, WIRE_NODE_ATTRIBUTE, &branch);
  branch = attribute_message(&(attribute){"else_branch", 'b', 5, 0});
  wire_inside(&loop, WIRE_NODE_ATTRIBUTE, &branch);
  wire_inside(&graph, WIRE_GRAPH_NODE, &loop);
  mica__text file = model_of(&graph, "", 13);
  ck_assert_int_eq(try_model(&file, NULL), MICA_E_UNSUPPORTED);
  ck_assert_msg(strstr(mica_error_message(), "node 'z' (Softmax): attribute 'axes'"), "%s", mica_error_message());

  for (int c = 0; c < 3; c++) {
    /* 0: unknown in the function; 1: a reference of another type; 2: a right one */
    const attribute alpha[] = {{"a", c == 2 ? 'f' : 's', c == 2 ? FLOAT : STRING, 2}, {0}};
    mica__text function = {0}, set = set_of("", 13), whole = {0}, inner = wire_node("LeakyRelu a > b"), refers = {0};
    wire_text(&function, 1, "Leak");
    wire_text(&function, 4, "a");
    wire_text(&function, 5, "b");
    wire_text(&function, 6, "a");
    wire_text(&refers, 1, c == 0 ? "beta" : "alpha");
    wire_int(&refers, 20, FLOAT);
    wire_text(&refers, 21, "a");
    wire_inside(&inner, WIRE_NODE_ATTRIBUTE, &refers);
    wire_inside(&function, 7, &inner);
    wire_inside(&function, 9, &set);
    add_node(&whole, WIRE_GRAPH_NODE, "Leak x > y", "", c ? alpha : none);
    file = model_of(&whole, "", 13);
    wire_inside(&file, WIRE_MODEL_FUNCTION, &function);
    float y[2];
    const mica_status want[] = {MICA_E_UNSUPPORTED, MICA_E_FORMAT, MICA_OK};
    const char *const sentences[] = {"attribute 'beta' is unknown", "(Leak): attribute 'a' is of type STRING", ""};
    ck_assert_int_eq(try_model(&file, y), want[c]);
    if (c < 2) ck_assert_msg(strstr(mica_error_message(), sentences[c]), "%s", mica_error_message());
  }
}
END_TEST

/* A row without attributes would refuse them all: each says what it has, or that it has none. */
START_TEST(every_operator_lists_its_attributes) {
  size_t count = 0;
  for (const mica__onnx_op *op; (op = mica__onnx_op_at(count)); count++) {
    int32_t rows = 0;
    const mica__onnx_attribute *list = mica__onnx_op_attributes(op, &rows);
    ck_assert_msg(rows > 0, "%s.%s has no rows of attributes below it (ONNX_NO_ATTR if it has none)", op->domain,
                  op->name);
    ck_assert_msg(mica__onnx_newest(op->domain) >= op->since, "%s.%s: no operator set is that new", op->domain,
                  op->name);
    for (int32_t i = 0; i < rows; i++) {
      ck_assert_msg(rows == 1 || list[i].name, "%s.%s has attributes and ONNX_NO_ATTR", op->domain, op->name);
      if (!list[i].name) continue;
      ck_assert_msg(list[i].first >= op->since && list[i].first <= list[i].last &&
                        list[i].first <= mica__onnx_newest(op->domain),
                    "%s.%s: versions of '%s'", op->domain, op->name, list[i].name);
      for (int32_t k = 0; k < i; k++)
        ck_assert_msg(strcmp(list[k].name, list[i].name) != 0 || list[k].last < list[i].first ||
                          list[i].last < list[k].first,
                      "%s.%s has '%s' twice", op->domain, op->name, list[i].name);
    }
  }
  ck_assert_uint_gt(count, 200);
}
END_TEST

TESTS(NEEDS(ONNX), NULL, NULL, unknown_attributes_are_refused, attributes_of_another_version_are_refused,
      attributes_of_another_type_are_refused, bodies_and_functions_are_checked, every_operator_lists_its_attributes)
