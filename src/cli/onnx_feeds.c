#include "cli/onnx_feeds.h"

#include <ctype.h>
#include <limits.h>
#include <mica/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The rest of a word "NAME=rest" if it has this name, else NULL. Names may contain '='. */
static const char *rest_for(const char *word, const char *name) {
  size_t n = strlen(name);
  return word && !strncmp(word, name, n) && word[n] == '=' ? word + n + 1 : NULL;
}

static bool ends_in(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && !strcmp(text + n - m, end);
}

static int read_file(const cli_command *self, const char *path, mica_onnx_feed *feed, void **owned) {
  mica_status status = ends_in(path, ".pb") ? mica_onnx_tensor_read(path, &feed->dtype, &feed->shape, owned)
                                            : mica_npy_read(path, &feed->dtype, &feed->shape, owned);
  feed->data = *owned;
  return status == MICA_OK ? CLI_OK : cli_fail_library(self);
}

/* Parses a shape such as "2x3x224x224" at the beginning of text; a comma or the end of the text ends it. */
static bool parse_shape(const char *text, mica_shape *shape) {
  *shape = (mica_shape){0};
  while (shape->rank < MICA_MAX_RANK) {
    char *end = NULL;
    long long dim = strtoll(text, &end, 10);
    if (!isdigit((unsigned char)*text) || dim == LLONG_MAX) return false;
    shape->dim[shape->rank++] = dim;
    if (!*end || *end == ',') return true;
    if (*end != 'x') return false;
    text = end + 1;
  }
  return false;
}

/* Finds the text after "NAME=" in a list such as "a=1x3,b=1x5"; NULL if the name is not in the list. */
static const char *shape_for(const char *list, const char *name) {
  for (; list; list = strchr(list, ','), list = list ? list + 1 : NULL) {
    const char *rest = rest_for(list, name);
    if (rest) return rest;
  }
  return NULL;
}

/* The next random number, by Steele, Lea and Flood's splitmix64 (2014). */
static uint64_t next(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static void set_integer(void *data, int64_t i, size_t size, bool value) {
  if (size == 1) ((uint8_t *)data)[i] = value;
  if (size == 2) ((uint16_t *)data)[i] = value;
  if (size == 4) ((uint32_t *)data)[i] = value;
  if (size == 8) ((uint64_t *)data)[i] = value;
}

static void fill(mica_dtype dtype, void *data, int64_t count, uint64_t *state) {
  size_t size = mica_dtype_size(dtype);
  memset(data, 0, (size_t)count * size);
  for (int64_t i = 0; i < count; i++) {
    double value = (double)(next(state) >> 11) * 0x1p-53;
    if (dtype == MICA_F32)
      ((float *)data)[i] = (float)value;
    else if (dtype == MICA_F64)
      ((double *)data)[i] = value;
    else if (dtype == MICA_F16)
      ((uint16_t *)data)[i] = (uint16_t)(0x3800 + (int)(value * 0x400));
    else if (dtype == MICA_BF16)
      ((uint16_t *)data)[i] = (uint16_t)(0x3f00 + (int)(value * 0x80));
    else
      set_integer(data, i, size, value >= 0.5);
  }
}

/* The extent of an open dimension: one second for the samples of the input "sound" if the model states its rate,
 * else 1. */
static int64_t open_extent(const mica_onnx *model, const mica_onnx_port *port, int32_t dim) {
  const char *rate = strcmp(port->name, "sound") == 0 && dim == 1 ? mica_onnx_metadata(model, "rate") : NULL;
  const double samples = rate && *rate == '[' ? strtod(rate + 1, NULL) : 0;
  return samples >= 1 && samples <= 1 << 20 ? (int64_t)samples : 1;
}

static int make_random(const cli_command *self, const mica_onnx *model, const mica_onnx_port *port, const char *shape,
                       uint64_t *state, mica_onnx_feed *feed, void **owned) {
  int64_t count = 0;
  mica_shape own = port->shape;
  if (port->kind != MICA_ONNX_KIND_TENSOR || !port->has_dtype || (!port->has_shape && !shape))
    return cli_fail(self, "Mica cannot make random values for the input '%s'; give its values with --input %s=FILE",
                    port->name, port->name);
  for (int32_t i = 0; i < own.rank; i++)
    if (own.dim[i] == MICA_DYNAMIC) own.dim[i] = open_extent(model, port, i);
  if (shape) (void)parse_shape(shape, &own); /* cannot fail, because check_words has checked it */
  if (mica_shape_count(own, &count) != MICA_OK) return cli_fail_library(self);
  *owned = calloc((size_t)count + 1, mica_dtype_size(port->dtype));
  if (!*owned) return cli_fail(self, "there is not enough memory");
  fill(port->dtype, *owned, count, state);
  feed->dtype = port->dtype;
  feed->shape = own;
  feed->data = *owned;
  return CLI_OK;
}

/* Says what is wrong with a word, and lists the inputs: "; the model's inputs are x f32 (?, 2), y i64 (3)". */
static int refuse_word(const cli_command *self, const mica_onnx *model, const char *option, const char *word) {
  char list[600], shape[MICA_SHAPE_TEXT];
  size_t count = mica_onnx_input_count(model), at = 0;
  for (size_t i = 0; i < count && at < sizeof list - 200; i++) {
    mica_onnx_port port = mica_onnx_input(model, i);
    bool last = at >= sizeof list - 400 && i + 1 < count;
    at += (size_t)snprintf(list + at, sizeof list - at, "%s%.80s %s %s%s", i ? ", " : " ", port.name, port.type,
                           port.has_shape ? mica_shape_format(port.shape, shape) : "of any shape", last ? ", ..." : "");
    if (last) break;
  }
  const char *wrong = strchr(word, '=') ? "names no input of the model"
                      : !strcmp(option, "shape")
                          ? "is not NAME=1x3, an input of the model and its extents separated by x"
                          : "is not NAME=FILE, an input of the model and its values";
  cli_fail(self, "--%s \"%s\" %s; the model's inputs are%s", option, word, wrong, at ? list : " none");
  return CLI_USAGE;
}

/* The index of the input that a word "NAME=rest" names; the number of inputs if it names none. */
static size_t input_of(const mica_onnx *model, const char *word) {
  const size_t count = mica_onnx_input_count(model);
  size_t i = 0;
  while (i < count && !rest_for(word, mica_onnx_input(model, i).name)) i++;
  return i;
}

/* Finds the input that a word names; refuses an input that was named before, also by another option. */
static int take_input(const cli_command *self, const mica_onnx *model, const char *option, const char *word,
                      bool named[CLI_ONNX_INPUTS]) {
  const size_t i = input_of(model, word);
  if (i == mica_onnx_input_count(model)) return refuse_word(self, model, option, word);
  if (named[i]) {
    cli_fail(self, "--%s \"%s\": the input '%s' has a file or a shape already", option, word,
             mica_onnx_input(model, i).name);
    return CLI_USAGE;
  }
  named[i] = true;
  return CLI_OK;
}

static int check_words(const cli_command *self, const mica_onnx *model, cli_words files, const char *shapes) {
  bool named[CLI_ONNX_INPUTS] = {false};
  mica_shape ignored;
  for (size_t f = 0; f < files.count; f++) {
    const int status = take_input(self, model, "input", files.words[f], named);
    if (status != CLI_OK) return status;
  }
  for (const char *at = shapes; at; at = strchr(at, ','), at = at ? at + 1 : NULL) {
    const int status = take_input(self, model, "shape", at, named);
    if (status != CLI_OK) return status;
    at += strlen(mica_onnx_input(model, input_of(model, at)).name) + 1;
    if (parse_shape(at, &ignored)) continue;
    cli_fail(self, "--shape must be like NAME=2x3x224x224, with at most %d extents of 0 or more, not \"%s\"",
             MICA_MAX_RANK, shapes);
    return CLI_USAGE;
  }
  return CLI_OK;
}

int cli_onnx_feeds_make(cli_onnx_feeds *feeds, const cli_command *self, const mica_onnx *model, cli_words files,
                        const char *shape, uint64_t seed) {
  size_t inputs = mica_onnx_input_count(model);
  if (inputs > CLI_ONNX_INPUTS)
    return cli_fail(self, "the model has %zu inputs, but Mica takes at most %d", inputs, CLI_ONNX_INPUTS);
  int status = check_words(self, model, files, shape);
  uint64_t state = seed;
  for (size_t i = 0; status == CLI_OK && i < inputs; i++) {
    mica_onnx_port port = mica_onnx_input(model, i);
    const char *path = NULL;
    for (size_t f = 0; f < files.count; f++) {
      const char *rest = rest_for(files.words[f], port.name);
      if (rest) path = rest;
    }
    if (!path && port.kind == MICA_ONNX_KIND_OPTIONAL) continue;
    mica_onnx_feed *feed = &feeds->feeds[feeds->count];
    *feed = (mica_onnx_feed){.name = port.name};
    void **owned = &feeds->owned[feeds->count++];
    status = path ? read_file(self, path, feed, owned)
                  : make_random(self, model, &port, shape_for(shape, port.name), &state, feed, owned);
  }
  return status;
}

const char *cli_onnx_open_input(const mica_onnx *model) {
  for (size_t i = 0; i < mica_onnx_input_count(model); i++) {
    const mica_onnx_port port = mica_onnx_input(model, i);
    for (int32_t d = 1; port.has_shape && d < port.shape.rank; d++)
      if (port.shape.dim[d] == MICA_DYNAMIC) return mica_onnx_input(model, i).name;
  }
  return NULL;
}

void cli_onnx_feeds_free(cli_onnx_feeds *feeds) {
  for (size_t i = 0; i < feeds->count; i++) mica_free(feeds->owned[i]);
  feeds->count = 0;
}
