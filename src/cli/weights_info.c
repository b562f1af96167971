#include "cli/weights_info.h"

#include "cli/json.h"
#include "cli/result.h"
#include "cli/text.h"

#include <mica/foundation.h>
#include <mica/gguf.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Maximum number of elements of an array, and of bytes of a text, to print. */
#define MOST_ELEMENTS 8
#define MOST_BYTES 60

/* --- what a path is --- */

static bool is_named(const char *path, const char *ending) {
  const size_t n = strlen(path), m = strlen(ending);
  return n > m && !strcmp(path + n - m, ending);
}

bool cli_weights_are(const char *path) {
  char config[4096];
  struct stat about;
  if (is_named(path, ".index.json") || is_named(path, ".gguf") || mica_foundation_is(path)) return true;
  if (!cli_is_folder(path) || snprintf(config, sizeof config, "%s/config.json", path) >= (int)sizeof config)
    return false;
  if (stat(config, &about) == 0) return false;
  mica_weights *weights = NULL;
  const bool opened = mica_weights_open(path, &weights) == MICA_OK;
  mica_weights_close(weights);
  return opened || mica_error_status() != MICA_E_NOT_FOUND;
}

/* --- in a terminal --- */

static int64_t elements(mica_shape shape) {
  int64_t count = 1;
  for (int32_t i = 0; i < shape.rank; i++) count *= shape.dim[i];
  return count;
}

int64_t cli_print_tensor(const char *name, const char *type, mica_shape shape) {
  char text[MICA_SHAPE_TEXT];
  printf("  %-40s %-5s %-20s %10" PRId64 "\n", cli_clean(name), cli_clean(type), mica_shape_format(shape, text),
         elements(shape));
  return elements(shape);
}

/* Returns how many bytes of a text to print: at most MOST_BYTES, without cutting a UTF-8 character. */
static size_t shown(mica_gguf_text text) {
  size_t n = text.length < MOST_BYTES ? text.length : MOST_BYTES;
  if (n == text.length) return n;
  while (n > 0 && ((unsigned char)text.bytes[n] & 0xc0) == 0x80) n--;
  return n;
}

/* Element i of a value of the kind U64. mica_gguf_integer cannot return numbers from 2^63 on. */
static uint64_t unsigned_at(const mica_gguf_value *value, size_t i) {
  uint64_t number;
  memcpy(&number, (const char *)value->data + i * sizeof number, sizeof number);
  return number;
}

static void print_element(const mica_gguf_value *value, size_t i) {
  const mica_gguf_text text = mica_gguf_text_at(value, i);
  switch (value->kind) {
  case MICA_GGUF_KIND_TEXT:
    putchar('"');
    cli_print_clean(text.bytes, shown(text));
    printf(shown(text) < text.length ? "...\"" : "\"");
    break;
  case MICA_GGUF_KIND_ARRAY: printf("%s[%zu]", "array", mica_gguf_array_at(value, i)->count); break;
  case MICA_GGUF_KIND_BOOL: printf("%s", mica_gguf_integer(value, i) ? "true" : "false"); break;
  case MICA_GGUF_KIND_F32: printf("%.9g", mica_gguf_number(value, i)); break;
  case MICA_GGUF_KIND_F64: printf("%.17g", mica_gguf_number(value, i)); break;
  case MICA_GGUF_KIND_U64: printf("%" PRIu64, unsigned_at(value, i)); break;
  default: printf("%" PRId64, mica_gguf_integer(value, i));
  }
}

static void print_key(const mica_gguf_value *value) {
  char kind[64];
  snprintf(kind, sizeof kind, value->array ? "%s[%zu]" : "%s", mica_gguf_kind_name(value->kind), value->count);
  printf("  %-40s %-13s", cli_clean(value->key), kind);
  for (size_t i = 0; i < value->count && i < MOST_ELEMENTS; i++) {
    printf(i ? ", " : " ");
    print_element(value, i);
  }
  printf(value->count > MOST_ELEMENTS ? ", ...\n" : "\n");
}

/* Prints "Q4_1 210, F32 61": the types in order of appearance. */
static void print_types(const mica_weights *weights) {
  const size_t count = mica_weights_count(weights);
  for (size_t i = 0, types = 0; i < count; i++) {
    const char *type = mica_weights_at(weights, i)->type;
    size_t first = 0, of_type = 0;
    while (strcmp(mica_weights_at(weights, first)->type, type) != 0) first++;
    if (first < i) continue;
    for (size_t j = i; j < count; j++) of_type += !strcmp(mica_weights_at(weights, j)->type, type);
    printf("%s%s %zu", types++ ? ", " : ": ", type, of_type);
  }
  putchar('\n');
}

/* Prints the model's network, or why Mica does not support it. */
static void print_network(const char *path) {
  mica_foundation *model = NULL;
  int64_t local = 0, no_rope = 0;
  if (!mica_foundation_is(path)) return;
  if (mica_foundation_open(path, NULL, &model) != MICA_OK) {
    printf("%s\n\n", mica_error_message());
    return;
  }
  const mica_foundation_info *i = mica_foundation_describe(model);
  for (int64_t l = 0; l < i->layers; l++) local += i->local[l], no_rope += i->no_rope && i->no_rope[l];
  printf("model     %s, to %s\n", i->name ? cli_clean(i->name) : i->family, mica_foundation_task_name(i->task));
  printf("network   %s: %" PRId64 " layers of width %" PRId64 ", %" PRId64 " heads", i->family, i->layers, i->width,
         i->heads);
  if (i->groups != i->heads) printf(" (%" PRId64 " of keys)", i->groups);
  printf(" of size %" PRId64 ", %s of %" PRId64 "\n", i->head_size, mica_foundation_function_name(i->function),
         i->hidden);
  if (i->experts) printf("experts   %" PRId64 ", %" PRId64 " per token\n", i->experts, i->experts_used);
  const mica_foundation_info *vision = i->picture ? i : i->vision;
  if (i->vocabulary) printf("context   %" PRId64 " tokens of a vocabulary of %" PRId64, i->context, i->vocabulary);
  if (vision)
    printf("%spictures  %" PRId64 " x %" PRId64 " pixels in patches of %" PRId64 ", %" PRId64
           " layers of width %" PRId64,
           i->vocabulary ? "\n" : "", vision->picture, vision->picture, vision->patch, vision->layers, vision->width);
  if (i->sound)
    printf("\nsound     %" PRId64 " mel bins, windows of %.4g s, %" PRId64 " layers of width %" PRId64, i->sound->bins,
           0.02 * (double)i->sound->context, i->sound->layers, i->sound->width);
  if (i->projection) printf("\nvectors   %" PRId64 " numbers, for texts and pictures", i->projection);
  if (local) printf(", %" PRId64 " layers see the last %" PRId64, local, i->window);
  if (no_rope) printf(", %" PRId64 " layers have no positions", no_rope);
  if (i->licence) printf("\nlicence   %s", cli_clean(i->licence));
  for (size_t k = 0; k < i->unknown_count; k++) printf("%s%s", k ? ", " : "\nunknown   ", cli_clean(i->unknown[k]));
  if (mica_foundation_check(model) != MICA_OK) printf("\nweights   %s", mica_error_message());
  printf("\n\n");
  mica_foundation_close(model);
}

static void print_all(const char *path, const mica_weights *weights) {
  const mica_gguf *gguf = mica_weights_gguf(weights);
  const size_t files = mica_weights_file_count(weights);
  int64_t all = 0;
  uint64_t bytes = 0;
  char size[CLI_BYTES_TEXT];
  print_network(path);
  for (size_t i = 0; gguf && i < mica_gguf_key_count(gguf); i++) print_key(mica_gguf_key_at(gguf, i));
  if (gguf) putchar('\n');
  for (size_t i = 0; i < mica_weights_count(weights); i++) {
    const mica_weight_entry *entry = mica_weights_at(weights, i);
    all += cli_print_tensor(entry->name, entry->type, entry->shape);
    bytes += entry->bytes;
  }
  if (files > 1) printf("%zu files, ", files);
  printf("%zu tensors, %" PRId64 " elements, %s", mica_weights_count(weights), all, cli_format_bytes(bytes, size));
  print_types(weights);
}

/* --- as JSON --- */

static void add_element(cli_json *json, cJSON *list, const char *key, const mica_gguf_value *value, size_t i) {
  const mica_gguf_text text = mica_gguf_text_at(value, i);
  const int64_t integer = mica_gguf_integer(value, i);
  switch (value->kind) {
  case MICA_GGUF_KIND_TEXT: cli_json_bytes(json, list, key, text.bytes, text.length); break;
  case MICA_GGUF_KIND_ARRAY: cli_json_integer(json, list, key, mica_gguf_array_at(value, i)->count); break;
  case MICA_GGUF_KIND_BOOL: cli_json_bool(json, list, key, integer != 0); break;
  case MICA_GGUF_KIND_F32:
  case MICA_GGUF_KIND_F64: cli_json_real(json, list, key, mica_gguf_number(value, i)); break;
  case MICA_GGUF_KIND_U64: cli_json_integer(json, list, key, unsigned_at(value, i)); break;
  default:
    if (integer < 0)
      cli_json_real(json, list, key, (double)integer);
    else
      cli_json_integer(json, list, key, (uint64_t)integer);
  }
}

/* Adds the keys: single values as they are, arrays as {"kind": "text", "count": 49152, "first": [...]}. */
static void add_keys(cli_json *json, const mica_gguf *gguf) {
  cJSON *keys = cli_json_object(json, json->root, "keys");
  for (size_t k = 0; k < mica_gguf_key_count(gguf); k++) {
    const mica_gguf_value *value = mica_gguf_key_at(gguf, k);
    if (!value->array) {
      add_element(json, keys, value->key, value, 0);
      continue;
    }
    cJSON *array = cli_json_object(json, keys, value->key);
    cli_json_text(json, array, "kind", mica_gguf_kind_name(value->kind));
    cli_json_integer(json, array, "count", value->count);
    cJSON *first = cli_json_array(json, array, "first");
    for (size_t i = 0; i < value->count && i < MOST_ELEMENTS; i++) add_element(json, first, NULL, value, i);
  }
}

/* Adds the network, if Mica supports it. */
static void add_network(cli_json *json, const char *path) {
  mica_foundation *model = NULL;
  if (!mica_foundation_is(path) || mica_foundation_open(path, NULL, &model) != MICA_OK) return;
  const mica_foundation_info *i = mica_foundation_describe(model);
  const struct {
    const char *name;
    int64_t number;
  } sizes[] = {{"layers", i->layers}, {"width", i->width},     {"heads", i->heads},           {"groups", i->groups},
               {"hidden", i->hidden}, {"context", i->context}, {"vocabulary", i->vocabulary}, {"window", i->window}};
  cli_json_text(json, json->root, "family", i->family);
  cli_json_text(json, json->root, "task", mica_foundation_task_name(i->task));
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    cli_json_integer(json, json->root, sizes[s].name, (uint64_t)sizes[s].number);
  mica_foundation_close(model);
}

static void add_all(cli_json *json, const char *path, const mica_weights *weights) {
  add_network(json, path);
  if (mica_weights_gguf(weights)) add_keys(json, mica_weights_gguf(weights));
  cJSON *files = cli_json_array(json, json->root, "files");
  for (size_t i = 0; i < mica_weights_file_count(weights); i++)
    cli_json_text(json, files, NULL, mica_weights_file_at(weights, i)->path);
  cJSON *tensors = cli_json_array(json, json->root, "tensors");
  for (size_t i = 0; i < mica_weights_count(weights); i++) {
    const mica_weight_entry *entry = mica_weights_at(weights, i);
    cJSON *one = cli_json_object(json, tensors, NULL), *shape = cli_json_array(json, one, "shape");
    cli_json_text(json, one, "name", entry->name);
    cli_json_text(json, one, "type", entry->type);
    for (int32_t d = 0; d < entry->shape.rank; d++) cli_json_integer(json, shape, NULL, (uint64_t)entry->shape.dim[d]);
  }
}

int cli_weights_info(const cli_command *self, const char *path, bool as_json) {
  mica_weights *weights = NULL;
  if (mica_weights_open(path, &weights) != MICA_OK) return cli_fail_library(self);
  int status = CLI_OK;
  if (as_json) {
    cli_json json;
    cli_json_begin(&json);
    add_all(&json, path, weights);
    status = cli_json_print(&json, self);
  } else {
    print_all(path, weights);
  }
  mica_weights_close(weights);
  return status;
}
