/* labels: device single
 *
 * Operators of ai.onnx.ml on values that a reader can check by hand, and models that lie about their numbers. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/wire.h"

#include <math.h>
#include <mica/mica.h>
#include <mica/onnx.h>
#include <stdio.h>
#include <string.h>

#define FLOAT 1
#define STRING_TENSOR 8
#define INT64 7
#define MOST 40

/* An attribute: a list of reals or of integers, words parted by spaces, a text, a number, an
 * integer, or a tensor of one axis. */
typedef struct attribute {
  const char *name;
  char kind; /* f: reals, i: integers, w: words, t: a text, F: a number, I: an integer, m: floats, u: bytes */
  int count;
  double list[MOST];
  const char *text;
} attribute;
#define LIST(...)                                                                                                      \
  (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), { __VA_ARGS__ }
#define REALS(name, ...)                                                                                               \
  { name, 'f', LIST(__VA_ARGS__), NULL }
#define INTS(name, ...)                                                                                                \
  { name, 'i', LIST(__VA_ARGS__), NULL }
#define TENSOR(name, ...)                                                                                              \
  { name, 'm', LIST(__VA_ARGS__), NULL }
#define BYTES(name, ...)                                                                                               \
  { name, 'u', LIST(__VA_ARGS__), NULL }
#define WORDS(name, words)                                                                                             \
  { name, 'w', 0, {0}, words }
#define TEXT(name, text)                                                                                               \
  { name, 't', 0, {0}, text }
#define REAL(name, value)                                                                                              \
  { name, 'F', 1, {value}, NULL }
#define INT(name, value)                                                                                               \
  { name, 'I', 1, {value}, NULL }

typedef struct example {
  const char *node; /* "Scaler x > y" */
  attribute attributes[20];
  int type; /* of x: FLOAT, or INT64 whose elements are in x all the same */
  int64_t dims[3];
  float x[24];
  int y_count;
  double y[24];         /* of output y */
  const char *sentence; /* the model is refused with it; NULL: it gives y */
  int version;
} example;
#define Y(...) LIST(__VA_ARGS__), NULL, 3
#define REFUSED(sentence) 0, {0}, sentence, 3

static void add_words(mica__text *message, const char *words) {
  char word[64];
  for (size_t n; *words; words += n + (words[n] == ' ')) {
    n = strcspn(words, " ");
    snprintf(word, sizeof word, "%.*s", (int)n, words);
    wire_text(message, 9, word);
  }
}

/* A tensor of floats or of bytes. */
static void add_tensor(mica__text *message, const attribute *a) {
  float floats[MOST];
  uint8_t bytes[MOST];
  for (int i = 0; i < a->count; i++) floats[i] = (float)a->list[i], bytes[i] = (uint8_t)a->list[i];
  const int64_t dims[] = {a->count, -1};
  const bool real = a->kind == 'm';
  mica__text tensor = wire_tensor(a->name, real ? FLOAT : 2, dims, real ? (const void *)floats : (const void *)bytes,
                                  (size_t)a->count * (real ? sizeof *floats : 1));
  wire_inside(message, 5, &tensor);
}

static void add_attribute(mica__text *node, const attribute *a) {
  static const char kinds[] = "?FItm?fiw";
  mica__text message = {0};
  wire_text(&message, 1, a->name);
  for (int i = 0; i < a->count; i++) {
    if (a->kind == 'f' || a->kind == 'F') wire_float(&message, a->kind == 'f' ? 7 : 2, (float)a->list[i]);
    if (a->kind == 'i' || a->kind == 'I') wire_int(&message, a->kind == 'i' ? 8 : 3, (int64_t)a->list[i]);
  }
  if (a->kind == 't') wire_text(&message, 4, a->text);
  if (a->kind == 'w') add_words(&message, a->text);
  if (a->kind == 'm' || a->kind == 'u') add_tensor(&message, a);
  wire_int(&message, 20, a->kind == 'u' ? 4 : (int64_t)(strchr(kinds, a->kind) - kinds));
  wire_inside(node, WIRE_NODE_ATTRIBUTE, &message);
}

/* A model of the node; `more` is a second node of ONNX's own, NULL for none. */
static mica__text model_of(const example *e, const char *more) {
  static const char *const domains[] = {"ai.onnx.ml", ""};
  mica__text graph = {0}, node = wire_node(e->node), model = {0};
  wire_text(&node, 7, domains[0]);
  for (const attribute *a = e->attributes; a->name; a++) add_attribute(&node, a);
  wire_inside(&graph, WIRE_GRAPH_NODE, &node);
  if (more) node = wire_node(more), wire_inside(&graph, WIRE_GRAPH_NODE, &node);
  mica__text x = wire_port("x", e->type ? e->type : FLOAT, e->dims),
             y = wire_port("y", more ? STRING_TENSOR : FLOAT, (int64_t[]){-1});
  wire_inside(&graph, WIRE_GRAPH_INPUT, &x);
  wire_inside(&graph, WIRE_GRAPH_OUTPUT, &y);
  wire_int(&model, 1, 8);
  for (int i = 0; i < 2; i++) {
    mica__text set = {0};
    wire_text(&set, 1, domains[i]);
    wire_int(&set, 2, i ? 17 : e->version);
    wire_inside(&model, 8, &set);
  }
  wire_inside(&model, WIRE_MODEL_GRAPH, &graph);
  return model;
}

static double result_at(const mica_tensor *y, const void *data, int i) {
  return mica_tensor_dtype(y) == MICA_I64   ? (double)((const int64_t *)data)[i]
         : mica_tensor_dtype(y) == MICA_F64 ? ((const double *)data)[i]
                                            : (double)((const float *)data)[i];
}

static void check_result(const example *e, const mica_tensor *y) {
  double data[24];
  ck_assert(mica_tensor_dtype(y) == MICA_I64 || mica_tensor_dtype(y) == MICA_F32 || mica_tensor_dtype(y) == MICA_F64);
  ck_assert_msg(mica_tensor_bytes(y) == (size_t)e->y_count * mica_dtype_size(mica_tensor_dtype(y)), "%s: %zu bytes",
                e->node, mica_tensor_bytes(y));
  ck_ok(mica_tensor_download(test_queue(), y, data, mica_tensor_bytes(y)));
  for (int i = 0; i < e->y_count; i++) {
    const double got = result_at(y, data, i);
    ck_assert_msg(isnan(e->y[i]) ? isnan(got) : fabs(got - e->y[i]) <= 2e-6 * (1 + fabs(e->y[i])),
                  "%s: element %d is %.9g, and should be %.9g", e->node, i, got, e->y[i]);
  }
}

static void check_example(const example *e) {
  mica__text file = model_of(e, NULL);
  mica_onnx *model = NULL;
  mica_onnx_runner *runner = NULL;
  int64_t numbers[24];
  mica_shape shape = {0};
  for (int i = 0; i < 24; i++) numbers[i] = (int64_t)e->x[i];
  while (e->dims[shape.rank] >= 0) shape.dim[shape.rank] = e->dims[shape.rank], shape.rank++;
  ck_ok(mica_onnx_open_memory("m", file.data, file.length, &model));
  mica__text_free(&file);
  const mica_onnx_feed x = {.name = "x",
                            .dtype = e->type ? MICA_I64 : MICA_F32,
                            .shape = shape,
                            .data = e->type ? (const void *)numbers : (const void *)e->x};
  mica_status status = mica_onnx_runner_create(test_engine(), model, NULL, &runner);
  if (status == MICA_OK) status = mica_onnx_run(runner, test_queue(), &x, 1);
  if (e->sentence) {
    ck_assert_msg(status != MICA_OK, "%s is not refused: %s", e->node, e->sentence);
    ck_assert_msg(strstr(mica_error_message(), e->sentence) != NULL, "%s: %s", e->node, mica_error_message());
  } else {
    ck_assert_msg(status == MICA_OK, "%s: %s", e->node, mica_error_message());
    check_result(e, mica_onnx_output(runner, 0));
  }
  mica_onnx_runner_destroy(runner);
  mica_onnx_close(model);
}

static void check_examples(const example *list, size_t count) {
  for (size_t i = 0; i < count; i++) check_example(&list[i]);
}
#define CHECK(list) check_examples(list, sizeof(list) / sizeof *(list))

/* --- preparing --- */

START_TEST(numbers_are_prepared) {
  static const example list[] = {
      {"Scaler x > y", {REALS("offset", 1, 2), REALS("scale", 2, 10)}, 0, {2, 2, -1}, {1, 2, 3, 4}, Y(0, 0, 4, 20)},
      {"Scaler x > y", {REALS("offset", 1), REALS("scale", 2)}, INT64, {2, 2, -1}, {1, 2, 3, 4}, Y(0, 2, 4, 6)},
      {"Normalizer x > y", {TEXT("norm", "L1")}, 0, {2, 2, -1}, {3, -1, 0, 0}, Y(0.75, -0.25, 0, 0)},
      {"Normalizer x > y", {TEXT("norm", "L2")}, 0, {1, 2, -1}, {3, -4}, Y(0.6, -0.8)},
      {"Normalizer x > y", {TEXT("norm", "MAX")}, 0, {1, 2, -1}, {2, -4}, Y(1, -2)},
      {"Binarizer x > y", {REAL("threshold", 1)}, 0, {3, -1}, {0, 1, 2}, Y(0, 0, 1)},
      {"Imputer x > y",
       {REALS("imputed_value_floats", 7, 8), REAL("replaced_value_float", NAN)},
       0,
       {2, 2, -1},
       {NAN, 1, 2, NAN},
       Y(7, 1, 2, 8)},
      {"Imputer x > y",
       {INTS("imputed_value_int64s", 5), INT("replaced_value_int64", -1)},
       INT64,
       {2, 2, -1},
       {-1, 1, 2, -1},
       Y(5, 1, 2, 5)},
      {"FeatureVectorizer x x > y", {INTS("inputdimensions", 3, 1)}, 0, {1, 2, -1}, {1, 2}, Y(1, 2, 0, 1)},
      {"ZipMap x > y", {INTS("classlabels_int64s", 4, 5)}, 0, {1, 2, -1}, {0.25F, 0.75F}, Y(0.25, 0.75)},
  };
  CHECK(list);
}
END_TEST

START_TEST(categories_become_numbers) {
  const double x = NAN;
  const example list[] = {
      {"OneHotEncoder x > y", {INTS("cats_int64s", 4, 7)}, INT64, {3, -1}, {7, 5, 4}, Y(0, 1, 0, 0, 1, 0)},
      {"OneHotEncoder x > y", {INTS("cats_int64s", 4, 7), INT("zeros", 0)}, 0, {2, -1}, {7, 5}, Y(0, 1, x, x)},
      {"LabelEncoder x > y",
       {INTS("keys_int64s", 4, 7), REALS("values_floats", 0.5, 2), REAL("default_float", 9)},
       INT64,
       {1, 3, -1},
       {7, 5, 4},
       Y(2, 9, 0.5)},
      {"LabelEncoder x > y",
       {REALS("keys_floats", 0.5, NAN), INTS("values_int64s", 3, 8)},
       0,
       {3, -1},
       {NAN, 0.5F, 1},
       Y(8, 3, -1)},
      {"LabelEncoder x > y",
       {TENSOR("keys_tensor", 1, 2), TENSOR("values_tensor", 10, 20), TENSOR("default_tensor", 5)},
       0,
       {3, -1},
       {2, 1, 0},
       LIST(20, 10, 5),
       NULL,
       4},
      {"LabelEncoder x > y",
       {INTS("keys_int64s", 4, 7), INTS("values_int64s", 1)},
       INT64,
       {1, -1},
       {0},
       REFUSED("2 keys and 1 values, but must have one value per key")},
      {"LabelEncoder x > y",
       {WORDS("keys_strings", "a b"), INTS("values_int64s", 1, 2)},
       INT64,
       {1, -1},
       {0},
       REFUSED("the input holds numbers, but the categories or keys are texts")},
      {"CategoryMapper x > y",
       {INTS("cats_int64s", 4, 7), WORDS("cats_strings", "a b")},
       INT64,
       {3, -1},
       {7, 5, 4},
       Y(1, 2, 0)},
  };
  CHECK(list);
}
END_TEST

/* --- support vectors --- */

START_TEST(support_vectors_are_weighed_by_kernels) {
  const double near = exp(-0.5), far = exp(-2.5), s = 0.5 - 2 * near + far;
#define VECTORS(type) REALS("support_vectors", 1, 0, 0, 1), TEXT("kernel_type", type)
#define PAIR INTS("vectors_per_class", 1, 1), INTS("classlabels_ints", 3, 9), REALS("coefficients", 2, -1)
  const example list[] = {
      {"SVMRegressor x > y",
       {VECTORS("RBF"), REALS("kernel_params", 0.5, 0, 0), REALS("coefficients", -2, 1), REALS("rho", 0.5),
        INT("n_supports", 2)},
       0,
       {1, 2, -1},
       {2, 0},
       Y(s)},
      {"SVMRegressor x > y",
       {VECTORS("POLY"), REALS("kernel_params", 2, 1, 3), REALS("coefficients", 1, 1), REALS("rho", 0),
        INT("n_supports", 2)},
       0,
       {1, 2, -1},
       {-1, 1},
       Y(26)},
      {"SVMRegressor x > y", {REALS("coefficients", 2, 3), REALS("rho", -1)}, 0, {1, 2, -1}, {1, 1}, Y(4)},
      {"SVMRegressor x > y",
       {REALS("coefficients", 2, 3), REALS("rho", -1), INT("one_class", 1)},
       0,
       {2, 2, -1},
       {1, 1, 0, 0},
       Y(1, -1)},
      {"SVMClassifier x > y z", {VECTORS("LINEAR"), PAIR, REALS("rho", 0)}, 0, {2, 2, -1}, {1, 1, 0, 1}, Y(3, 9)},
      {"SVMClassifier x > y z",
       {VECTORS("LINEAR"), PAIR, REALS("rho", 0, 1)},
       0,
       {1, 2, -1},
       {1, 1},
       REFUSED("rho has 2 numbers, but must have 1, one per pair of classes")},
      {"SVMClassifier x > y z",
       {VECTORS("LINEAR"), PAIR, REALS("rho", 0)},
       0,
       {1, 3, -1},
       {1, 1, 1},
       REFUSED("support_vectors has 4 numbers, but must have 2 vectors of 3 features")},
  };
  CHECK(list);
}
END_TEST

/* --- linear models --- */

START_TEST(linear_models_give_scores_and_labels) {
  const double s = 1 / (1 + exp(-1.0)), e1 = exp(1), e2 = exp(2);
  const attribute w = REALS("coefficients", 1, 2, 0, 1), b = REALS("intercepts", 0.5, 0);
  const attribute one = REALS("coefficients", 1, -1), two = INTS("classlabels_ints", 3, 9);
  const example list[] = {
      {"LinearRegressor x > y", {w, b, INT("targets", 2)}, 0, {2, 2, -1}, {1, 1, 0, -1}, Y(3.5, 1, -1.5, -1)},
      {"LinearRegressor x > y", {one}, 0, {2, -1}, {3, 1}, Y(2)},
      {"LinearClassifier x > y p", {w, b, two}, 0, {2, 2, -1}, {1, 1, 0, -1}, Y(3, 9)},
      {"LinearClassifier x > l y",
       {REALS("coefficients", 1, 0, 0, 1), two, TEXT("post_transform", "SOFTMAX")},
       0,
       {1, 2, -1},
       {1, 2},
       Y(e1 / (e1 + e2), e2 / (e1 + e2))},
      {"LinearClassifier x > l y",
       {REALS("coefficients", 1, 0, 0, 1), two, TEXT("post_transform", "SOFTMAX_ZERO")},
       0,
       {1, 2, -1},
       {1, 0},
       Y(1, 0)},
      {"LinearClassifier x > l y",
       {REALS("coefficients", 1, 0, 0, 1), two, TEXT("post_transform", "SOFTMAX_ZERO")},
       0,
       {5, 2, -1},
       {0, 0, -200, 0, 0, 200, -200, -201, 1, 2},
       Y(0, 0, 1, 0, 0, 1, e1 / (1 + e1), 1 / (1 + e1), e1 / (e1 + e2), e2 / (e1 + e2))},
      {"LinearClassifier x > y p", {one, two}, 0, {2, 2, -1}, {1, 2, 2, 1}, Y(3, 9)},
      {"LinearClassifier x > l y", {one, two, TEXT("post_transform", "LOGISTIC")}, 0, {1, 2, -1}, {2, 1}, Y(1 - s, s)},
      {"LinearClassifier x > l y", {one, two}, 0, {1, 2, -1}, {2, 1}, Y(0, 1)},
      {"LinearClassifier x > y p", {one, WORDS("classlabels_strings", "no yes")}, 0, {1, 2, -1}, {2, 1}, Y(1)},
  };
  CHECK(list);
}
END_TEST

START_TEST(numbers_that_do_not_fit_are_refused) {
  static const example list[] = {
      {"Scaler x > y",
       {REALS("offset", 1, 2, 3)},
       0,
       {2, 2, -1},
       {0},
       REFUSED("offset has 3 numbers, but must have 1 or 2 (one per feature)")},
      {"Scaler x > y", {REALS("bias", 1)}, 0, {2, -1}, {0}, REFUSED("attribute 'bias' is unknown")},
      {"Normalizer x > y", {TEXT("norm", "L3")}, 0, {1, 2, -1}, {0}, REFUSED("norm is 'L3'")},
      {"LinearRegressor x > y",
       {REALS("coefficients", 1, 2, 3)},
       0,
       {1, 2, -1},
       {0},
       REFUSED("coefficients has 3 numbers, but must have 1 x 2")},
      {"LinearRegressor x > y",
       {REALS("coefficients", 1, 2), INT("targets", 1 << 30)},
       0,
       {1, 2, -1},
       {0},
       REFUSED("coefficients")},
      {"LinearClassifier x > y p",
       {REALS("coefficients", 1, 2), INTS("classlabels_ints", 1, 2, 3)},
       0,
       {1, 2, -1},
       {0},
       REFUSED("coefficients gives 1 scores per row, but there are 3 classes")},
      {"LinearClassifier x > y p",
       {REALS("coefficients", 1, 2)},
       0,
       {1, 2, -1},
       {0},
       REFUSED("the node has no class labels")},
      {"ZipMap x > y",
       {INTS("classlabels_int64s", 4, 5)},
       0,
       {1, 3, -1},
       {0},
       REFUSED("3 columns (-1: not known), but must have rank 1 or 2 and 2 columns")},
  };
  CHECK(list);
}
END_TEST

/* --- trees --- */

/* A tree of one question, feature 1 against 0.5, whose leaves are worth 10 and 20. */
#define STUMP(mode)                                                                                                    \
  INTS("nodes_treeids", 0, 0, 0), INTS("nodes_nodeids", 0, 1, 2), INTS("nodes_featureids", 1, 0, 0),                   \
      REALS("nodes_values", 0.5, 0, 0), WORDS("nodes_modes", mode " LEAF LEAF"), INTS("nodes_truenodeids", 1, 0, 0),   \
      INTS("nodes_falsenodeids", 2, 0, 0)
#define LEAVES                                                                                                         \
  INTS("target_treeids", 0, 0), INTS("target_nodeids", 1, 2), INTS("target_ids", 0, 0), REALS("target_weights", 10, 20)
#define TRACKS INTS("nodes_missing_value_tracks_true", 1, 0, 0)
/* Below, at and above 0.5, and missing. */
#define FOUR                                                                                                           \
  {4, 2, -1}, { 0, 0.25F, 0, 0.5F, 0, 0.75F, 0, NAN }

START_TEST(trees_ask_each_kind_of_question) {
  static const example list[] = {
      {"TreeEnsembleRegressor x > y", {STUMP("BRANCH_LEQ"), LEAVES}, 0, FOUR, Y(10, 10, 20, 20)},
      {"TreeEnsembleRegressor x > y", {STUMP("BRANCH_LT"), LEAVES}, 0, FOUR, Y(10, 20, 20, 20)},
      {"TreeEnsembleRegressor x > y", {STUMP("BRANCH_GTE"), LEAVES}, 0, FOUR, Y(20, 10, 10, 20)},
      {"TreeEnsembleRegressor x > y", {STUMP("BRANCH_GT"), LEAVES}, 0, FOUR, Y(20, 20, 10, 20)},
      {"TreeEnsembleRegressor x > y", {STUMP("BRANCH_EQ"), LEAVES}, 0, FOUR, Y(20, 10, 20, 20)},
      {"TreeEnsembleRegressor x > y", {STUMP("BRANCH_NEQ"), LEAVES}, 0, FOUR, Y(10, 20, 10, 10)},
      {"TreeEnsembleRegressor x > y", {STUMP("BRANCH_LEQ"), LEAVES, TRACKS}, 0, FOUR, Y(10, 10, 20, 10)},
      {"TreeEnsembleRegressor x > y", {STUMP("BRANCH_GT"), LEAVES, TRACKS}, 0, FOUR, Y(20, 20, 10, 10)},
      {"TreeEnsembleRegressor x > y",
       {STUMP("BRANCH_LT"), LEAVES, REALS("base_values", 1), TEXT("aggregate_function", "AVERAGE")},
       0,
       FOUR,
       Y(11, 21, 21, 21)},
  };
  CHECK(list);
}
END_TEST

/* Tree 0: is x at most 3? target 0 gets 1 or 2. Tree 1: is x one of 1, 2 and 5? then target 1 gets 40, else 80. */
#define FOREST(how)                                                                                                    \
  INTS("nodes_featureids", 0, 0), TENSOR("nodes_splits", 3, 0), BYTES("nodes_modes", 0, 6),                            \
      INTS("nodes_truenodeids", 0, 2), INTS("nodes_falsenodeids", 1, 3), INTS("nodes_trueleafs", 1, 1),                \
      INTS("nodes_falseleafs", 1, 1), INTS("leaf_targetids", 0, 0, 1, 1), TENSOR("leaf_weights", 1, 2, 40, 80),        \
      INTS("tree_roots", 0, 1), INT("n_targets", 2), TENSOR("membership_values", 1, 2, 5, NAN),                        \
      INT("aggregate_function", how)

START_TEST(ensembles_have_sets_and_aggregates) {
  static const example list[] = {
      {"TreeEnsemble x > y", {FOREST(1)}, 0, {4, 1, -1}, {1, 2, 5, 4}, LIST(1, 40, 1, 40, 2, 40, 2, 80), NULL, 5},
      {"TreeEnsemble x > y", {FOREST(0)}, 0, {2, 1, -1}, {1, 4}, LIST(0.5, 20, 1, 40), NULL, 5},
      {"TreeEnsemble x > y", {FOREST(2)}, 0, {2, 1, -1}, {1, 4}, LIST(1, 40, 2, 80), NULL, 5},
      {"TreeEnsemble x > y", {FOREST(3)}, 0, {2, 1, -1}, {1, 4}, LIST(1, 40, 2, 80), NULL, 5},
      {"TreeEnsemble x > y", {FOREST(9)}, 0, {1, 1, -1}, {0}, 0, {0}, "aggregate_function is 9", 5},
  };
  CHECK(list);
}
END_TEST

START_TEST(classes_of_trees_follow_the_binary_rule) {
  const double s = 1 / (1 + exp(-20.0));
#define CLASSES                                                                                                        \
  INTS("class_treeids", 0, 0), INTS("class_nodeids", 1, 2), INTS("class_ids", 0, 0), INTS("classlabels_int64s", 3, 9)
  const example list[] = {
      {"TreeEnsembleClassifier x > y p",
       {STUMP("BRANCH_LEQ"), CLASSES, REALS("class_weights", -20, 20)},
       0,
       FOUR,
       Y(3, 3, 9, 9)},
      {"TreeEnsembleClassifier x > l y",
       {STUMP("BRANCH_LEQ"), CLASSES, REALS("class_weights", -20, 20), TEXT("post_transform", "LOGISTIC")},
       0,
       FOUR,
       Y(s, 1 - s, s, 1 - s, 1 - s, s, 1 - s, s)},
      {"TreeEnsembleClassifier x > l y",
       {STUMP("BRANCH_LEQ"), CLASSES, REALS("class_weights", 0.25, 0.75)},
       0,
       FOUR,
       Y(0.75, 0.25, 0.75, 0.25, 0.25, 0.75, 0.25, 0.75)},
  };
  CHECK(list);
}
END_TEST

START_TEST(trees_that_lie_are_refused) {
#define NODES(yes, no, ...)                                                                                            \
  INTS("nodes_treeids", 0, 0, 0, 0, 0), INTS("nodes_nodeids", 0, 1, 2, 3, 4), INTS("nodes_featureids", __VA_ARGS__),   \
      REALS("nodes_values", 0, 0, 0, 0, 0), WORDS("nodes_modes", "BRANCH_LEQ LEAF LEAF BRANCH_LEQ BRANCH_LEQ"), yes,   \
      no
  static const example list[] = {
      {"TreeEnsembleRegressor x > y",
       {NODES(INTS("nodes_truenodeids", 1, 0, 0, 4, 3), INTS("nodes_falsenodeids", 2, 0, 0, 4, 3), 0, 0, 0, 0, 0),
        LEAVES},
       0,
       FOUR,
       REFUSED("must not form cycles")},
      {"TreeEnsembleRegressor x > y",
       {NODES(INTS("nodes_truenodeids", 3, 0, 0, 0, 3), INTS("nodes_falsenodeids", 4, 0, 0, 1, 2), 0, 0, 0, 0, 0),
        LEAVES},
       0,
       FOUR,
       REFUSED("no node is the root of tree 0")},
      {"TreeEnsembleRegressor x > y",
       {NODES(INTS("nodes_truenodeids", 3, 0, 0, 1, 7), INTS("nodes_falsenodeids", 4, 0, 0, 1, 2), 0, 0, 0, 0, 0),
        LEAVES},
       0,
       FOUR,
       REFUSED("a branch of node 4 leads to node 7, which tree 0 does not have")},
      {"TreeEnsembleRegressor x > y",
       {NODES(INTS("nodes_truenodeids", 3, 0, 0, 1, 1), INTS("nodes_falsenodeids", 4, 0, 0, 1, 2), 0, 0, 0, 0, 5),
        LEAVES},
       0,
       FOUR,
       REFUSED("uses feature 5, counted from 0, but the input has 2 features")},
      {"TreeEnsembleRegressor x > y",
       {NODES(INTS("nodes_truenodeids", 3, 0, 0, 1, 1), INTS("nodes_falsenodeids", 4, 0, 0, 1, 2), 0, 0, 0, 0, -1),
        LEAVES},
       0,
       FOUR,
       REFUSED("nodes_featureids must be 0 to 2^31 - 2, but contains -1")},
      {"TreeEnsembleRegressor x > y",
       {STUMP("BRANCH_LEQ"), INTS("target_treeids", 0), INTS("target_nodeids", 1), INTS("target_ids", 1),
        REALS("target_weights", 10)},
       0,
       FOUR,
       REFUSED("target_ids contains 1, but its numbers must be at least 0 and below 1")},
      {"TreeEnsembleRegressor x > y",
       {STUMP("BRANCH_LEQ"), INTS("target_treeids", 0), INTS("target_nodeids", 5), INTS("target_ids", 0),
        REALS("target_weights", 10)},
       0,
       FOUR,
       REFUSED("a weight belongs to node 5, which tree 0 does not have")},
      {"TreeEnsembleRegressor x > y",
       {STUMP("BRANCH_UP"), LEAVES},
       0,
       FOUR,
       REFUSED("unknown word 'BRANCH_UP' for node 0")},
      {"TreeEnsembleRegressor x > y", {LEAVES}, 0, FOUR, REFUSED("the number of nodes must be 1 to 2^24, but is 0")},
      {"TreeEnsembleRegressor x > y",
       {STUMP("BRANCH_LEQ"), LEAVES, REALS("base_values", 1, 2)},
       0,
       FOUR,
       REFUSED("base_values has 2 numbers, but must have 1, one per target")},
  };
  CHECK(list);
}
END_TEST

/* --- texts --- */

static const example named = {"LinearClassifier x > l p",
                              {REALS("coefficients", 1, -1), WORDS("classlabels_strings", "no yes")},
                              0,
                              {1, 2, -1},
                              {0, 0},
                              REFUSED(NULL)};

START_TEST(labels_that_are_texts_have_names) {
  mica__text file = model_of(&named, "Reshape l s > y");
  char name[16];
  mica_onnx *model = NULL;
  mica_onnx_runner *runner = NULL;
  ck_ok(mica_onnx_open_memory("m", file.data, file.length, &model));
  mica__text_free(&file);
  ck_assert(mica_onnx_is_text(model, 0));
  ck_assert_uint_eq(mica_onnx_class_count(model, 0), 2);
  ck_assert(mica_onnx_class_name(model, 0, 1, name, sizeof name));
  ck_assert_str_eq(name, "yes");
  ck_assert(mica_onnx_class_name(model, 0, 1, name, 3));
  ck_assert_str_eq(name, "ye");
  ck_assert(!mica_onnx_class_name(model, 0, 2, name, sizeof name));
  ck_assert(!mica_onnx_class_name(model, 1, 0, name, sizeof name));
  ck_assert(!mica_onnx_is_text(model, 1));
  mica_onnx_close(model);

  /* What computes with texts is refused: their indices are no numbers of the model's. */
  file = model_of(&named, "Add l l > y");
  ck_ok(mica_onnx_open_memory("m", file.data, file.length, &model));
  mica__text_free(&file);
  ck_ok(mica_onnx_runner_create(test_engine(), model, NULL, &runner));
  const mica_onnx_feed x = {.name = "x", .dtype = MICA_F32, .shape = MICA_SHAPE(1, 2), .data = named.x};
  ck_assert_int_eq(mica_onnx_run(runner, test_queue(), &x, 1), MICA_E_UNSUPPORTED);
  ck_assert_msg(strstr(mica_error_message(), "the input 'l' holds strings"), "%s", mica_error_message());
  mica_onnx_runner_destroy(runner);
  mica_onnx_close(model);
}
END_TEST

/* Coefficients in attributes are weights too; lists of integers are not. */
START_TEST(attributes_are_counted_as_weights) {
  const example e = {.node = "LinearRegressor x > y",
                     .attributes = {REALS("coefficients", 1, 2, 3), TENSOR("intercepts", 4, 5), INTS("targets", 7)},
                     .dims = {1, 3, -1},
                     .version = 1};
  mica__text file = model_of(&e, NULL);
  mica_onnx *model = NULL;
  ck_ok(mica_onnx_open_memory("m", file.data, file.length, &model));
  mica__text_free(&file);
  const mica_onnx_info info = mica_onnx_describe(model);
  ck_assert_uint_eq(info.weights, 2);
  ck_assert_uint_eq(info.weight_elements, 5);
  ck_assert_uint_eq(info.weight_bytes, 20);
  mica_onnx_close(model);
}
END_TEST

TESTS(BOTH(NEEDS(ONNX), DEVICE), NULL, NULL, numbers_are_prepared, categories_become_numbers,
      support_vectors_are_weighed_by_kernels, linear_models_give_scores_and_labels, numbers_that_do_not_fit_are_refused,
      trees_ask_each_kind_of_question, ensembles_have_sets_and_aggregates, classes_of_trees_follow_the_binary_rule,
      trees_that_lie_are_refused, labels_that_are_texts_have_names, attributes_are_counted_as_weights)
