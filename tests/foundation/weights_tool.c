/* weights_tool dump PATH DATA   prints keys and tensors of what mica_weights_open opens, a line each; DATA becomes the
 *                               tensors' bytes one after another
 * weights_tool copy FROM TO     the GGUF file FROM, read and written by Mica
 * weights_tool describe PATH    prints what mica_foundation_describe says, "field value" a line
 * weights_tool adapter MODEL FROM TO    the adapter FROM, read by Mica and written as the GGUF file TO
 * weights_tool logits MODEL ADAPTER DATA ID...   DATA becomes the f32 logits after these tokens; ADAPTER "-": none
 * weights_tool open PATH        prints the fewest milliseconds that opening takes in ten times */
#include <inttypes.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void print_hex(const char *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) printf("%02x", (unsigned char)bytes[i]);
}

static void print_elements(const mica_gguf_value *value) {
  printf("%s %s %zu", value->array ? "array" : "single", mica_gguf_kind_name(value->kind), value->count);
  for (size_t i = 0; i < value->count; i++) {
    const mica_gguf_text text = mica_gguf_text_at(value, i);
    putchar(' ');
    switch (value->kind) {
    case MICA_GGUF_KIND_TEXT: putchar('\''), print_hex(text.bytes, text.length); break;
    case MICA_GGUF_KIND_ARRAY: print_elements(mica_gguf_array_at(value, i)); break;
    case MICA_GGUF_KIND_F32:
    case MICA_GGUF_KIND_F64: printf("%.17g", mica_gguf_number(value, i)); break;
    default: printf("%" PRId64, mica_gguf_integer(value, i));
    }
  }
}

static int dump(const char *path, const char *data) {
  mica_weights *weights = NULL;
  FILE *out = fopen(data, "wb");
  if (!out || mica_weights_open(path, &weights) != MICA_OK) return 1;
  const mica_gguf *gguf = mica_weights_gguf(weights);
  for (size_t i = 0; gguf && i < mica_gguf_key_count(gguf); i++) {
    const mica_gguf_value *value = mica_gguf_key_at(gguf, i);
    if (mica_gguf_find(gguf, value->key) != value) return 1;
    printf("key %s ", value->key);
    print_elements(value);
    putchar('\n');
  }
  for (size_t i = 0; i < mica_weights_count(weights); i++) {
    const mica_weight_entry *entry = mica_weights_at(weights, i);
    if (mica_weights_find(weights, entry->name) != entry) return 1;
    printf("tensor %s %s", entry->name, entry->type);
    for (int32_t d = 0; d < entry->shape.rank; d++) printf(" %" PRId64, entry->shape.dim[d]);
    putchar('\n');
    if (fwrite(entry->data, 1, entry->bytes, out) != entry->bytes) return 1;
  }
  mica_weights_close(weights);
  return fclose(out) != 0;
}

static int copy(const char *from, const char *to) {
  mica_gguf *file = NULL;
  if (mica_gguf_open(from, &file) != MICA_OK) return 1;
  const size_t keys = mica_gguf_key_count(file), tensors = mica_gguf_tensor_count(file);
  mica_gguf_value *values = calloc(keys + 1, sizeof *values);
  mica_weight_entry *entries = calloc(tensors + 1, sizeof *entries);
  for (size_t i = 0; values && i < keys; i++) values[i] = *mica_gguf_key_at(file, i);
  for (size_t i = 0; entries && i < tensors; i++) entries[i] = *mica_gguf_tensor(file, i);
  const mica_status status = values && entries ? mica_gguf_write(to, values, keys, entries, tensors) : MICA_E_NOMEM;
  free(values);
  free(entries);
  mica_gguf_close(file);
  return status != MICA_OK;
}

static void print_rotary(const char *name, const mica_foundation_rotary *r) {
  printf("%s.base %.17g\n%s.scaling %s\n%s.factor %.17g\n", name, r->base, name,
         mica_foundation_scaling_name(r->scaling), name, r->factor);
  for (size_t i = 0; i < r->count; i++)
    printf("%s.%zu %.17g %.17g\n", name, i, r->short_factors[i], r->long_factors[i]);
}

static int describe(const char *path) {
  mica_foundation *model = NULL;
  if (mica_foundation_open(path, NULL, &model) != MICA_OK || mica_foundation_check(model) != MICA_OK) return 1;
  const mica_foundation_info *i = mica_foundation_describe(model);
  const struct {
    const char *name;
    double number;
  } fields[] = {{"width", (double)i->width},
                {"layers", (double)i->layers},
                {"heads", (double)i->heads},
                {"groups", (double)i->groups},
                {"head_size", (double)i->head_size},
                {"hidden", (double)i->hidden},
                {"experts", (double)i->experts},
                {"experts_used", (double)i->experts_used},
                {"normalise_routes", i->normalise_routes},
                {"vocabulary", (double)i->vocabulary},
                {"context", (double)i->context},
                {"types", (double)i->types},
                {"window", (double)i->window},
                {"rotated", (double)i->rotated},
                {"epsilon", i->epsilon},
                {"score_scale", i->score_scale},
                {"embed_scale", i->embed_scale},
                {"score_cap", i->score_cap},
                {"logit_cap", i->logit_cap},
                {"attention_bias", i->attention_bias},
                {"out_bias", i->out_bias},
                {"feed_bias", i->feed_bias},
                {"tied", i->tied},
                {"begin", i->begin},
                {"pad", i->pad}};
  printf("family %s\nfunction %s\nlocal ", i->family, mica_foundation_function_name(i->function));
  for (int64_t l = 0; l < i->layers; l++) putchar(i->local[l] ? '1' : '0');
  printf("\nno_rope ");
  for (int64_t l = 0; l < i->layers; l++) putchar(i->no_rope && i->no_rope[l] ? '1' : '0');
  printf("\n");
  for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) printf("%s %.17g\n", fields[f].name, fields[f].number);
  print_rotary("rotary", &i->rotary);
  print_rotary("rotary_local", &i->rotary_local);
  for (size_t e = 0; e < i->end_count; e++) printf("end.%zu %d\n", e, (int)i->ends[e]);
  for (size_t u = 0; u < i->unknown_count; u++) printf("unknown.%s 1\n", i->unknown[u]);
  mica_foundation_close(model);
  return 0;
}

static int copy_adapter(const char *path, const char *from, const char *to) {
  mica_foundation *model = NULL;
  mica_adapter *adapter = NULL;
  if (mica_foundation_open(path, NULL, &model) != MICA_OK ||
      mica_foundation_adapter_open(model, from, &adapter) != MICA_OK ||
      mica_foundation_adapter_save(model, adapter, to, MICA_ADAPTER_FORM_GGUF) != MICA_OK)
    return 1;
  mica_adapter_destroy(adapter);
  mica_foundation_close(model);
  return 0;
}

typedef struct network {
  mica_engine *engine;
  mica_foundation *model;
  mica_adapter *adapter;
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  mica_tensor *ids;
} network;

static mica_status build(network *n, const char *path, const char *adapter, int32_t *ids, int64_t count) {
  mica_status status = mica_engine_create(NULL, &n->engine);
  if (status == MICA_OK) status = mica_foundation_open(path, NULL, &n->model);
  if (status == MICA_OK && strcmp(adapter, "-") != 0)
    status = mica_foundation_adapter_open(n->model, adapter, &n->adapter);
  if (status == MICA_OK) status = mica_graph_create(&n->graph);
  const mica_nn_config config = {.hook = n->adapter ? mica_adapter_hook : NULL, .hook_user = n->adapter};
  if (status == MICA_OK) status = mica_nn_create(n->graph, &config, &n->nn);
  if (status != MICA_OK) return status;
  const mica_foundation_build how = {.ids = mica_input(n->graph, "ids", MICA_I32, MICA_SHAPE(1, count)),
                                     .logits_of_last = true};
  mica_value logits = mica_foundation_network(n->nn, n->model, &how);
  status = mica_session_create(n->engine, n->graph, &logits, 1, NULL, &n->session);
  if (status == MICA_OK) status = mica_nn_initialise(n->nn, n->session);
  if (status == MICA_OK) status = mica_foundation_load(n->model, n->nn, n->session);
  if (status == MICA_OK && n->adapter) status = mica_adapter_write_to(n->adapter, n->nn, n->session);
  if (status == MICA_OK) status = mica_tensor_create_from(n->engine, MICA_I32, MICA_SHAPE(1, count), ids, &n->ids);
  return status;
}

static int write_logits(network *n, const char *data) {
  mica_queue *queue = mica_engine_queue(n->engine);
  mica_status status = mica_session_run(n->session, queue, &(mica_feed){"ids", n->ids}, 1);
  if (status != MICA_OK) return 1;
  const mica_tensor *z = mica_session_output(n->session, 0);
  const size_t bytes = mica_tensor_bytes(z);
  float *values = malloc(bytes);
  FILE *out = fopen(data, "wb");
  const bool good = values && out && mica_tensor_download(queue, z, values, bytes) == MICA_OK &&
                    fwrite(values, 1, bytes, out) == bytes;
  free(values);
  return (out && fclose(out) != 0) || !good;
}

static int logits(char **words, int count) {
  enum { MOST = 512 };
  int32_t ids[MOST];
  network n = {0};
  for (int i = 3; i < count && i < 3 + MOST; i++) ids[i - 3] = (int32_t)strtol(words[i], NULL, 10);
  int status = build(&n, words[0], words[1], ids, count - 3) != MICA_OK;
  if (!status) status = write_logits(&n, words[2]);
  mica_tensor_destroy(n.ids);
  mica_session_destroy(n.session);
  mica_nn_destroy(n.nn);
  mica_graph_destroy(n.graph);
  mica_adapter_destroy(n.adapter);
  mica_foundation_close(n.model);
  mica_engine_destroy(n.engine);
  return status;
}

static int time_open(const char *path) {
  double least = 1e9;
  for (int i = 0; i < 10; i++) {
    struct timespec from, to;
    mica_weights *weights = NULL;
    clock_gettime(CLOCK_MONOTONIC, &from);
    if (mica_weights_open(path, &weights) != MICA_OK) return 1;
    clock_gettime(CLOCK_MONOTONIC, &to);
    mica_weights_close(weights);
    const double took = (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) * 1e-6;
    if (took < least) least = took;
  }
  printf("%.2f\n", least);
  return 0;
}

int main(int argc, char **argv) {
  int status = 2;
  if (argc == 4 && !strcmp(argv[1], "dump")) status = dump(argv[2], argv[3]);
  if (argc == 4 && !strcmp(argv[1], "copy")) status = copy(argv[2], argv[3]);
  if (argc == 3 && !strcmp(argv[1], "describe")) status = describe(argv[2]);
  if (argc == 5 && !strcmp(argv[1], "adapter")) status = copy_adapter(argv[2], argv[3], argv[4]);
  if (argc > 5 && argc < 517 && !strcmp(argv[1], "logits")) status = logits(argv + 2, argc - 2);
  if (argc == 3 && !strcmp(argv[1], "open")) status = time_open(argv[2]);
  if (status == 1) fprintf(stderr, "%s\n", mica_error_message());
  return status;
}
