/* labels: device
 *
 * Gradients of small models of every family, and adapters of them, against transformers and peft (adapter_oracle.py):
 * logits, gradients, files in both forms, bad input. */
#include "foundation/adapter_file.h"
#include "nn/name_map.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/number.h"

#include <math.h>
#include <mica/gguf.h>
#include <mica/mica.h>
#include <mica/safetensors.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { T = 12, V = 131 };

static const char *const families[] = {"llama",  "llama3", "mistral", "qwen2", "qwen3",
                                       "gemma2", "gemma3", "phi3",    "gpt2"};
static const char *const adapted[] = {"llama", "qwen3", "gemma3", "phi3", "gpt2"};
#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

static const char *golden_path(const char *name, const char *file, char path[600]) {
  const char *root = getenv("MICA_SOURCE_DIR");
  snprintf(path, 600, "%s/tests/golden/foundation/%s%s%s", root ? root : ".", name, *file ? "/" : "", file);
  return path;
}

/* --- networks --- */

typedef struct network {
  mica_foundation *model;
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  mica_bindings *bindings;
  mica_adapter *adapter;
  mica_tensor *ids, *labels;
  int32_t tokens[T];
  size_t gradients; /* outputs 1 to this are gradients */
} network;

static void read_tokens(network *n, const char *name) {
  char path[600];
  FILE *file = fopen(golden_path(name, "ids.txt", path), "r");
  ck_assert_ptr_nonnull(file);
  for (int t = 0; t < T; t++) ck_assert_int_eq(fscanf(file, "%d", &n->tokens[t]), 1);
  fclose(file);
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(1, T), n->tokens, &n->ids));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(T - 1), n->tokens + 1, &n->labels));
}

/* The network's logits, and gradients of the trained weights. hold: weights keep the form of the file. */
static network build(const char *name, mica_foundation *model, mica_adapter *adapter, bool hold) {
  network n = {.model = model, .adapter = adapter};
  mica_nn_config config = {.hook = adapter ? mica_adapter_hook : NULL, .hook_user = adapter};
  mica_value outputs[64], weights[64];
  mica_session_config session = {0};
  read_tokens(&n, name);
  if (hold) mica_foundation_hold(model, &config);
  ck_ok(mica_graph_create(&n.graph));
  ck_ok(mica_nn_create(n.graph, &config, &n.nn));
  outputs[0] = mica_foundation_network(
      n.nn, model, &(mica_foundation_build){.ids = mica_input(n.graph, "ids", MICA_I32, MICA_SHAPE(1, T))});
  if (adapter) ck_ok(mica_adapter_freeze_base(adapter, n.nn));
  mica_value rows = mica_reshape(mica_slice(outputs[0], 1, 0, T - 1, 1), MICA_SHAPE(T - 1, V));
  mica_value loss = mica_cross_entropy(rows, mica_input(n.graph, "labels", MICA_I32, MICA_SHAPE(T - 1)), NULL);
  for (size_t p = 0; p < mica_nn_parameter_count(n.nn); p++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(n.nn, p);
    ck_assert_int_lt((int)n.gradients, 62);
    if (info->role == MICA_NN_ROLE_WEIGHT && !info->frozen) weights[n.gradients++] = info->value;
  }
  ck_ok(mica_gradients(loss, weights, n.gradients, outputs + 1));
  if (hold) ck_ok(mica_foundation_bind(model, n.nn, test_engine(), &n.bindings));
  if (hold) session.parameters = mica_bindings_list(n.bindings, &session.parameter_count);
  ck_ok(mica_session_create(test_engine(), n.graph, outputs, n.gradients + 1, &session, &n.session));
  ck_ok(mica_nn_initialise(n.nn, n.session));
  ck_ok(mica_foundation_load(model, n.nn, n.session));
  if (adapter) ck_ok(mica_adapter_write_to(adapter, n.nn, n.session));
  ck_ok(mica_session_run(n.session, test_queue(), (mica_feed[]){{"ids", n.ids}, {"labels", n.labels}}, 2));
  return n;
}

static void drop(network *n) {
  mica_session_destroy(n->session);
  mica_bindings_destroy(n->bindings);
  mica_nn_destroy(n->nn);
  mica_graph_destroy(n->graph);
  mica_adapter_destroy(n->adapter);
  mica_foundation_close(n->model);
  mica_tensor_destroy(n->ids);
  mica_tensor_destroy(n->labels);
}

static mica_foundation *open_model(const char *name) {
  mica_foundation *model = NULL;
  char path[600];
  ck_ok(mica_foundation_open(golden_path(name, strstr(name, "gguf") ? "model.gguf" : "", path), NULL, &model));
  return model;
}

static void read_logits(const network *n, float z[T][V]) {
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(n->session, 0), z, T * V * sizeof(float)));
}

static void expect_logits(const network *n, const char *name, float within) {
  static float z[T][V], want[T][V];
  char path[600];
  FILE *file = fopen(golden_path(name, "adapted.f32", path), "rb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fread(want, sizeof(float), T * V, file), T * V);
  fclose(file);
  read_logits(n, z);
  for (int t = 0; t < T; t++)
    for (int v = 0; v < V; v++)
      ck_assert_msg(fabsf(z[t][v] - want[t][v]) <= within, "%s: token %d, logit %d: %g, not %g", name, t, v,
                    (double)z[t][v], (double)want[t][v]);
}

/* --- gradients --- */

/* Finds the line of a tensor in a file of the oracle's: norm and dot product. */
static void find_golden(const char *path, const char *name, double *norm, double *dot) {
  char line[300], *end = NULL;
  const size_t length = strlen(name);
  FILE *file = fopen(path, "r");
  ck_assert_ptr_nonnull(file);
  while (fgets(line, sizeof line, file))
    if (!strncmp(line, name, length) && line[length] == ' ') {
      *norm = mica__strtod(line + length, &end);
      *dot = mica__strtod(end, &end);
      fclose(file);
      return;
    }
  fclose(file);
  ck_abort_msg("%s has no \"%s\"", path, name);
}

/* Compares a gradient, as the file orders its elements, within 1e-4 of its norm. */
static void expect_gradient(const network *n, size_t output, const char *path, const char *name, bool transposed) {
  const mica_tensor *tensor = mica_session_output(n->session, output);
  const mica_shape shape = mica_tensor_shape(tensor);
  const int64_t columns = shape.rank > 1 ? shape.dim[1] : 1, rows = shape.dim[0];
  float *g = malloc(mica_tensor_bytes(tensor));
  double norm = 0, dot = 0, want_norm = 0, want_dot = 0, pick_norm = 0;
  ck_assert_ptr_nonnull(g);
  ck_ok(mica_tensor_download(test_queue(), tensor, g, mica_tensor_bytes(tensor)));
  for (int64_t i = 0; i < rows * columns; i++) {
    const double value = (double)g[transposed ? i % rows * columns + i / rows : i];
    const double pick = (double)((uint64_t)i * 2654435761u % ((uint64_t)1 << 32)) / 4294967296.0 - 0.5;
    norm += value * value, dot += value * pick, pick_norm += pick * pick;
  }
  free(g);
  norm = sqrt(norm);
  find_golden(path, name, &want_norm, &want_dot);
  ck_assert_msg(want_norm > 1e-4, "%s: a gradient of zeros proves nothing", name);
  ck_assert_msg(fabs(norm - want_norm) <= 1e-4 * want_norm, "%s: norm %g, not %g", name, norm, want_norm);
  ck_assert_msg(fabs(dot - want_dot) <= 1e-4 * want_norm * sqrt(pick_norm), "%s: dot %g, not %g", name, dot, want_dot);
}

START_TEST(gradients_of_families) {
  char path[600];
  network n = build(families[_i], open_model(families[_i]), NULL, false);
  const mica_name_map map = {.rows = n.model->rows.rows, .count = n.model->rows.count};
  size_t output = 1;
  golden_path(families[_i], "base.grad.txt", path);
  for (size_t p = 0; p < mica_nn_parameter_count(n.nn); p++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(n.nn, p);
    mica__named_tensor found = {0};
    if (info->role != MICA_NN_ROLE_WEIGHT) continue;
    ck_ok(mica__name_map_find(&map, n.model->weights, info->own_name, &found));
    ck_assert_ptr_nonnull(found.entry);
    expect_gradient(&n, output++, path, found.entry->name, found.row.transposed);
  }
  ck_assert_uint_eq(output, n.gradients + 1);
  drop(&n);
}
END_TEST

#if MICA_WITH_CJSON

static mica_adapter *open_adapter(const mica_foundation *model, const char *name) {
  mica_adapter *adapter = NULL;
  char path[600];
  ck_ok(mica_foundation_adapter_open(model, golden_path(name, "adapter", path), &adapter));
  return adapter;
}

/* Weights as the file has them, in 16 bits for all but Llama, change neither logits nor gradients. */
START_TEST(adapters_as_peft) {
  const char *name = adapted[_i / 2];
  mica_foundation *model = open_model(name);
  network n = build(name, model, open_adapter(model, name), _i % 2);
  mica__adapter_source source;
  char path[600];
  size_t output = 1;
  golden_path(name, "adapter.grad.txt", path);
  expect_logits(&n, name, 1e-4f);
  ck_assert_uint_eq(n.gradients, 2 * mica_adapter_count(n.adapter));
  ck_ok(mica__adapter_source_begin(model, "", false, &source));
  for (size_t p = 0; p < mica_nn_parameter_count(n.nn); p++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(n.nn, p);
    if (!mica_adapter_is_parameter(info->own_name)) {
      ck_assert(info->frozen || info->role != MICA_NN_ROLE_WEIGHT);
      continue;
    }
    char layer[200], tensor[300];
    mica__text module = {0};
    snprintf(layer, sizeof layer, "%.*s", (int)(strstr(info->own_name, ".lora_") - info->own_name), info->own_name);
    ck_ok(mica__adapter_name_of(&source, layer, &module));
    snprintf(tensor, sizeof tensor, "base_model.model.%.*s%s", (int)(module.length - 7), module.data,
             strstr(info->own_name, ".lora_"));
    mica__text_free(&module);
    expect_gradient(&n, output++, path, tensor, false);
  }
  mica__name_rows_free(&source.rows);
  drop(&n);
}
END_TEST

static const mica_adapter_layer *layer_named(const mica_adapter *adapter, const char *name) {
  for (size_t i = 0; i < mica_adapter_count(adapter); i++)
    if (!strcmp(mica_adapter_at(adapter, i)->name, name)) return mica_adapter_at(adapter, i);
  ck_abort_msg("no layer %s", name);
  return NULL;
}

static void expect_same(const mica_adapter *a, const mica_adapter *b) {
  ck_assert_uint_eq(mica_adapter_count(a), mica_adapter_count(b));
  for (size_t i = 0; i < mica_adapter_count(a); i++) {
    const mica_adapter_layer *x = mica_adapter_at(a, i), *y = layer_named(b, x->name);
    ck_assert_int_eq(x->rank, y->rank);
    ck_assert_double_eq_tol(x->scale, y->scale, 1e-6);
    ck_assert_mem_eq(x->a, y->a, (size_t)(x->rank * x->inputs) * sizeof(float));
    ck_assert_mem_eq(x->b, y->b, (size_t)(x->rank * x->outputs) * sizeof(float));
  }
}

/* What is written is read again, in both forms. */
START_TEST(files_of_adapters) {
  const char *name = adapted[_i];
  mica_foundation *model = open_model(name);
  mica_adapter *adapter = open_adapter(model, name), *peft = NULL, *gguf = NULL;
  ck_ok(mica_foundation_adapter_save(model, adapter, files_path("peft"), MICA_ADAPTER_FORM_PEFT));
  ck_ok(mica_foundation_adapter_open(model, files_path("peft"), &peft));
  expect_same(adapter, peft);
  ck_ok(mica_foundation_adapter_save(model, adapter, files_path("x.gguf"), MICA_ADAPTER_FORM_GGUF));
  ck_ok(mica_foundation_adapter_open(model, files_path("x.gguf"), &gguf));
  network n = build(name, model, gguf, true);
  expect_logits(&n, name, 1e-4f);
  mica_adapter_destroy(peft);
  mica_adapter_destroy(adapter);
  drop(&n);
  files_remove();
}
END_TEST

/* The model as a GGUF file has rows of queries and keys in another order. Its adapter computes the same, whichever
 * form it came in: B's rows must follow. */
START_TEST(order_of_rows) {
  static float through_peft[T][V], through_gguf[T][V];
  mica_foundation *folder = open_model("llama"), *model = open_model("llama-gguf"), *again = open_model("llama-gguf");
  mica_adapter *adapter = open_adapter(folder, "llama"), *peft = open_adapter(model, "llama"), *gguf = NULL;
  ck_ok(mica_foundation_adapter_save(folder, adapter, files_path("x.gguf"), MICA_ADAPTER_FORM_GGUF));
  ck_ok(mica_foundation_adapter_open(again, files_path("x.gguf"), &gguf));
  const mica_adapter_layer *halves = layer_named(adapter, "layers.0.self_attn.q_proj");
  const mica_adapter_layer *pairs = layer_named(peft, "layers.0.self_attn.q_proj");
  ck_assert_int_ne(memcmp(halves->b, pairs->b, (size_t)(halves->rank * halves->outputs) * sizeof(float)), 0);
  network a = build("llama", model, peft, true), b = build("llama", again, gguf, true);
  read_logits(&a, through_peft);
  read_logits(&b, through_gguf);
  ck_assert_mem_eq(through_peft, through_gguf, sizeof through_peft);
  mica_adapter_destroy(adapter);
  mica_foundation_close(folder);
  drop(&a);
  drop(&b);
  files_remove();
}
END_TEST

/* --- merged models --- */

static mica_foundation *merge(const mica_foundation *model, const mica_adapter *adapter, const char *type) {
  mica_foundation *merged = NULL;
  const mica_foundation_write_config config = {.type = type};
  ck_ok(mica_foundation_merge(model, adapter, files_path("merged.gguf"), &config, NULL));
  ck_ok(mica_foundation_open(files_path("merged.gguf"), NULL, &merged));
  return merged;
}

/* A merged model gives peft's logits without the adapter. */
START_TEST(merged_from_folders) {
  const char *name = adapted[_i];
  mica_foundation *model = open_model(name);
  mica_adapter *adapter = open_adapter(model, name);
  network n = build(name, merge(model, adapter, "f32"), NULL, true);
  expect_logits(&n, name, 1e-4f);
  mica_adapter_destroy(adapter);
  mica_foundation_close(model);
  drop(&n);
  files_remove();
}
END_TEST

/* In a GGUF file rows of queries and keys are pairs. Matrices keep their type. */
/* Folders keep their tensors' types: bf16 rounds merged matrices; the llama folder has f32. */
START_TEST(merged_into_folders) {
  const char *name = adapted[_i];
  char path[600];
  mica_foundation *model = open_model(name), *merged = NULL;
  mica_adapter *adapter = NULL;
  mica_foundation_written written;
  const mica_foundation_write_config f16 = {.type = "f16"};
  ck_ok(mica_foundation_adapter_open(model, golden_path(name, "adapter", path), &adapter));
  ck_ok(mica_foundation_merge(model, adapter, files_path("merged"), NULL, &written));
  ck_assert_uint_eq(written.converted, mica_adapter_count(adapter));
  ck_assert_int_eq(mica_foundation_merge(model, adapter, files_path("x"), &f16, NULL), MICA_E_INVALID);
  ck_ok(mica_foundation_open(files_path("merged"), NULL, &merged));
  network n = build(name, merged, NULL, false);
  expect_logits(&n, name, strcmp(name, "llama") ? 0.25f : 1e-4f);
  drop(&n);
  mica_adapter_destroy(adapter);
  mica_foundation_close(model);
}
END_TEST

START_TEST(merged_from_a_file) {
  static float apart[T][V], merged[T][V];
  mica_foundation *model = open_model("llama-gguf");
  mica_adapter *adapter = open_adapter(model, "llama");
  network m = build("llama", merge(model, adapter, "f32"), NULL, true);
  network n = build("llama", model, adapter, false);
  read_logits(&n, apart);
  read_logits(&m, merged);
  for (int t = 0; t < T; t++)
    for (int v = 0; v < V; v++)
      ck_assert_msg(fabsf(apart[t][v] - merged[t][v]) <= 1e-4f, "token %d, logit %d: %g, not %g", t, v,
                    (double)merged[t][v], (double)apart[t][v]);
  drop(&m);
  mica_foundation *again = merge(model, adapter, NULL);
  const mica_weights *from = mica_foundation_weights(model), *to = mica_foundation_weights(again);
  ck_assert_uint_eq(mica_weights_count(from), mica_weights_count(to));
  size_t changed = 0;
  for (size_t i = 0; i < mica_weights_count(from); i++) {
    const mica_weight_entry *a = mica_weights_at(from, i), *b = mica_weights_find(to, a->name);
    ck_assert_int_eq(a->block, b->block);
    ck_assert_int_eq(a->dtype, b->dtype);
    changed += memcmp(a->data, b->data, a->bytes) != 0;
  }
  ck_assert_uint_eq(changed, mica_adapter_count(adapter));
  mica_foundation_close(again);
  drop(&n);
  files_remove();
}
END_TEST

/* The adapter must have values, and fit the model. */
START_TEST(merged_wrongly) {
  static const float few[64] = {1};
  mica_foundation *model = open_model("llama");
  mica_adapter *adapter = NULL;
  const char *path = files_path("merged.gguf");
  mica_adapter_layer layer = {.name = "layers.0.self_attn.q_proj", .inputs = 16, .outputs = 48, .rank = 1, .scale = 1};
  ck_ok(mica_adapter_create(NULL, &adapter));
  ck_assert_int_eq(mica_foundation_merge(model, adapter, path, NULL, NULL), MICA_E_STATE);
  ck_assert_int_eq(mica_foundation_merge(model, NULL, path, NULL, NULL), MICA_E_INVALID);
  layer.a = layer.b = few;
  ck_ok(mica_adapter_add(adapter, &layer));
  ck_assert_int_eq(mica_foundation_merge(model, adapter, path, NULL, NULL), MICA_E_SHAPE);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "48 outputs and 16 inputs, but the model's has 48 and 32"));
  mica_adapter_destroy(adapter);
  ck_ok(mica_adapter_create(NULL, &adapter));
  layer.name = "layers.7.self_attn.q_proj";
  ck_ok(mica_adapter_add(adapter, &layer));
  ck_assert_int_eq(mica_foundation_merge(model, adapter, path, NULL, NULL), MICA_E_NOT_FOUND);
  FILE *file = fopen(path, "rb");
  ck_assert_msg(!file, "a file was written all the same");
  mica_adapter_destroy(adapter);
  mica_foundation_close(model);
}
END_TEST

/* The perplexity with an adapter equals the merged model's. */
START_TEST(score_with_an_adapter) {
  mica_foundation *model = open_model("llama");
  mica_adapter *adapter = open_adapter(model, "llama");
  mica_foundation *merged = merge(model, adapter, "f32");
  mica_perplexity base, apart, whole;
  int32_t ids[40];
  for (int t = 0; t < 40; t++) ids[t] = t * t % V;
  ck_ok(mica_foundation_perplexity(test_engine(), model, ids, 40, NULL, &base));
  ck_ok(
      mica_foundation_perplexity(test_engine(), model, ids, 40, &(mica_perplexity_config){.adapter = adapter}, &apart));
  ck_ok(mica_foundation_perplexity(test_engine(), merged, ids, 40, NULL, &whole));
  ck_assert(fabs(base.nll - apart.nll) > 1e-2);
  ck_assert_double_eq_tol(apart.nll, whole.nll, 1e-3);
  mica_adapter_destroy(adapter);
  mica_foundation_close(merged);
  mica_foundation_close(model);
  files_remove();
}
END_TEST

/* peft's name of the output layer of attention is a target too. */
START_TEST(output_layer_of_attention) {
  mica_adapter *adapter = NULL;
  ck_ok(mica_adapter_create(&(mica_adapter_config){.rank = 2, .targets = "o_proj"}, &adapter));
  network n = build("llama", open_model("llama"), adapter, false);
  ck_assert_uint_eq(mica_adapter_count(adapter), (size_t)mica_foundation_describe(n.model)->layers);
  for (size_t i = 0; i < mica_adapter_count(adapter); i++)
    ck_assert_ptr_nonnull(strstr(mica_adapter_at(adapter, i)->name, ".out_proj"));
  drop(&n);
}
END_TEST

/* --- bad input --- */

#define CONFIG "{\"peft_type\": \"LORA\", \"r\": 2, \"lora_alpha\": 4"

static const struct {
  const char *config;
  mica_status status;
  const char *part; /* of the message */
} configs[] = {
    {"[]", MICA_E_FORMAT, "not a JSON object"},
    {"{\"r\": 2}", MICA_E_FORMAT, "peft_type is missing"},
    {"{\"peft_type\": \"IA3\", \"r\": 2}", MICA_E_UNSUPPORTED, "IA3"},
    {"{\"peft_type\": \"LORA\", \"lora_alpha\": 4}", MICA_E_FORMAT, "r is missing"},
    {"{\"peft_type\": \"LORA\", \"r\": 0, \"lora_alpha\": 4}", MICA_E_FORMAT, "1 to 1024"},
    {"{\"peft_type\": \"LORA\", \"r\": 2000, \"lora_alpha\": 4}", MICA_E_FORMAT, "1 to 1024"},
    {"{\"peft_type\": \"LORA\", \"r\": 2}", MICA_E_FORMAT, "lora_alpha"},
    {CONFIG ", \"use_dora\": true}", MICA_E_UNSUPPORTED, "DoRA"},
    {CONFIG ", \"bias\": \"all\"}", MICA_E_UNSUPPORTED, "biases"},
    {CONFIG ", \"modules_to_save\": [\"lm_head\"]}", MICA_E_UNSUPPORTED, "modules_to_save"},
    {CONFIG ", \"init_lora_weights\": \"pissa_niter_4\"}", MICA_E_UNSUPPORTED, "pissa"},
    {CONFIG ", \"alpha_pattern\": {\"a.*b\": 1}}", MICA_E_UNSUPPORTED, "regular expression"},
    {CONFIG ", \"alpha_pattern\": {\"a\": \"b\"}}", MICA_E_FORMAT,
     "alpha_pattern of \"a\" must be a number from -1e9 to 1e9"},
};

static const float numbers[2 * 48] = {1, 2, 3};

/* Two tensors of an adapter: names without the layer's, and rows and columns. */
static const struct {
  const char *a, *b;
  int64_t dims[4];
  const char *part;
} tensors[] = {
    {"model.layers.0.self_attn.q_proj.lora_A.weight", NULL, {2, 32}, "not B"},
    {NULL, "model.layers.0.self_attn.q_proj.lora_B.weight", {0, 0, 48, 2}, "not A"},
    {"model.layers.0.self_attn.q_proj.lora_A.weight",
     "model.layers.0.self_attn.q_proj.lora_B.weight",
     {2, 31, 48, 2},
     "shape (2, 31); for this model it must be (2, 32)"},
    {"model.layers.0.self_attn.q_proj.lora_A.weight",
     "model.layers.0.self_attn.q_proj.lora_B.weight",
     {2, 32, 48, 1},
     "shape (48, 1); for this model it must be (48, 2)"},
    {"model.layers.2.self_attn.q_proj.lora_A.weight",
     "model.layers.2.self_attn.q_proj.lora_B.weight",
     {2, 32, 48, 2},
     "no matrix \"model.layers.2.self_attn.q_proj.weight\""},
    {"model.layers.0.self_attn.qkv.lora_A.weight",
     "model.layers.0.self_attn.qkv.lora_B.weight",
     {2, 32, 48, 2},
     "no matrix"},
    {"model.layers.0.self_attn.q_proj.lora_magnitude_vector", NULL, {2, 32}, "DoRA"},
    {"model.embed_tokens.lora_embedding_A", NULL, {2, 32}, "embeddings"},
    {"model.embed_tokens.lora_A.weight", "model.embed_tokens.lora_B.weight", {2, 32, 48, 2}, "embeddings"},
    {"model.norm.weight", NULL, {2, 32}, "not a tensor of a LoRA adapter"},
};

static mica_safetensors_entry entry(const char *name, char text[200], int64_t rows, int64_t columns) {
  snprintf(text, 200, "base_model.model.%s", name);
  return (mica_safetensors_entry){.name = text,
                                  .dtype = MICA_F32,
                                  .shape = MICA_SHAPE(rows, columns),
                                  .data = numbers,
                                  .bytes = (size_t)(rows * columns) * sizeof(float)};
}

static mica_status open_bad(const char *part) {
  mica_foundation *model = open_model("llama");
  mica_adapter *adapter = NULL;
  const mica_status status = mica_foundation_adapter_open(model, files_path("bad"), &adapter);
  ck_assert_ptr_null(adapter);
  ck_assert_msg(strstr(mica_error_message(), part) != NULL, "\"%s\" lacks \"%s\"", mica_error_message(), part);
  mica_foundation_close(model);
  files_remove();
  return status;
}

START_TEST(bad_configs) {
  files_write_text("bad/adapter_config.json", configs[_i].config);
  ck_assert_int_eq(open_bad(configs[_i].part), configs[_i].status);
}
END_TEST

START_TEST(bad_tensors) {
  char names[2][200];
  mica_safetensors_entry list[2];
  size_t count = 0;
  const int64_t *d = tensors[_i].dims;
  if (tensors[_i].a) list[count] = entry(tensors[_i].a, names[0], d[0], d[1]), count++;
  if (tensors[_i].b) list[count] = entry(tensors[_i].b, names[1], d[2], d[3]), count++;
  files_write_text("bad/adapter_config.json", CONFIG "}");
  ck_ok(mica_safetensors_write(files_path("bad/adapter_model.safetensors"), list, count, NULL, 0));
  const mica_status status = open_bad(tensors[_i].part);
  ck_assert(status == MICA_E_FORMAT || status == MICA_E_UNSUPPORTED);
}
END_TEST

/* The output layer of Gemma is its table of embeddings. */
START_TEST(tied_output_layer) {
  char names[2][200];
  mica_foundation *model = open_model("gemma3");
  mica_adapter *adapter = NULL;
  const mica_safetensors_entry list[] = {entry("lm_head.lora_A.weight", names[0], 1, 32),
                                         entry("lm_head.lora_B.weight", names[1], 2, 1)};
  files_write_text("bad/adapter_config.json", CONFIG "}");
  ck_ok(mica_safetensors_write(files_path("bad/adapter_model.safetensors"), list, 2, NULL, 0));
  ck_assert_int_eq(mica_foundation_adapter_open(model, files_path("bad"), &adapter), MICA_E_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "tied"));
  mica_foundation_close(model);
  files_remove();
}
END_TEST

#endif

START_TEST(gguf_of_another_kind) {
  const char *arch = _i == 1 ? "qwen3" : "llama", *type = _i == 0 ? "model" : "adapter", *kind = _i == 2 ? "x" : "lora";
  const mica_gguf_text texts[] = {{arch, strlen(arch)}, {type, strlen(type)}, {kind, strlen(kind)}};
  const float alpha = 2;
  const mica_gguf_value keys[] = {
      {.key = "general.architecture", .kind = MICA_GGUF_KIND_TEXT, .count = 1, .data = &texts[0]},
      {.key = "general.type", .kind = MICA_GGUF_KIND_TEXT, .count = 1, .data = &texts[1]},
      {.key = "adapter.type", .kind = MICA_GGUF_KIND_TEXT, .count = 1, .data = &texts[2]},
      {.key = "adapter.lora.alpha", .kind = MICA_GGUF_KIND_F32, .count = 1, .data = &alpha}};
  static const char *const parts[] = {"the key general.type must be the text \"adapter\", but is \"model\"",
                                      "general.architecture must be the text \"llama\", but is \"qwen3\"",
                                      "adapter.type must be the text \"lora\", but is \"x\"",
                                      "adapter.lora.alpha is missing", "has no tensors"};
  mica_foundation *model = open_model("llama-gguf");
  mica_adapter *adapter = NULL;
  ck_ok(mica_gguf_write(files_path("x.gguf"), keys, _i == 3 ? 3 : 4, NULL, 0));
  ck_assert_int_ne(mica_foundation_adapter_open(model, files_path("x.gguf"), &adapter), MICA_OK);
  ck_assert_msg(strstr(mica_error_message(), parts[_i]) != NULL, "%s", mica_error_message());
  mica_foundation_close(model);
  files_remove();
}
END_TEST

TESTS(DEVICE, NULL, NULL, IF(CJSON, LOOP(gradients_of_families, 0, COUNT(families))),
      IF(CJSON, LOOP(adapters_as_peft, 0, 2 * COUNT(adapted))), IF(CJSON, LOOP(files_of_adapters, 0, COUNT(adapted))),
      IF(CJSON, order_of_rows), IF(CJSON, LOOP(merged_from_folders, 0, COUNT(adapted))),
      IF(CJSON, LOOP(merged_into_folders, 0, COUNT(adapted))), IF(CJSON, merged_from_a_file), IF(CJSON, merged_wrongly),
      IF(CJSON, score_with_an_adapter), IF(CJSON, LOOP(bad_configs, 0, COUNT(configs))),
      IF(CJSON, LOOP(bad_tensors, 0, COUNT(tensors))), IF(CJSON, tied_output_layer),
      IF(CJSON, output_layer_of_attention), LOOP(gguf_of_another_kind, 0, 5))
