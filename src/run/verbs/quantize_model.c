/* Quantises an ONNX model: it is run and measured, rounded, and written with pairs of QuantizeLinear and
 * DequantizeLinear. */
#include "base/text.h"
#include "compress/quantize.h"
#include "onnx/products.h"
#include "run/verbs/model_feeds.h"

#include <mica/safetensors.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A value that several products read, and the model output that shows it. */
typedef struct given {
  const char *value;
  bool conv; /* the channels are on axis 1 instead of the last */
  size_t output;
  bool is_input; /* it is an input of the model, and is measured when it is fed */
} given;

typedef struct work {
  mica_engine *engine;
  const char *path;
  const mica_onnx_quantize_config *config;
  mica_onnx *model;
  mica__onnx_products products;
  given *sources;
  size_t source_count;
  mica_calibration *calibration;
  mica_safetensors_entry *weights; /* weights of the products, by the names that src/compress gives them */
  size_t weight_count;
} work;

static mica_status no_memory(void) { return mica__fail_nomem("a quantised model"); }

/* --- layers --- */

static int32_t source_of(work *w, const mica__onnx_product *p) {
  for (size_t i = 0; i < w->source_count; i++)
    if (w->sources[i].conv == p->conv && !strcmp(w->sources[i].value, p->input)) return (int32_t)i;
  w->sources[w->source_count] = (given){.value = p->input, .conv = p->conv};
  return (int32_t)w->source_count++;
}

static mica_status make_layer(work *w, const mica__onnx_product *p, mica__layer *layer) {
  *layer = (mica__layer){.name = mica__strdup(p->name), .kind = MICA__LAYER_DENSE, .source = -1, .next = -1};
  layer->stays = p->why;
  if (!layer->name) return no_memory();
  if (p->why) return MICA_OK;
  layer->shown.weight = p->shape;
  layer->source = source_of(w, p);
  layer->plain = p->plain;
  layer->tied = p->tied;
  layer->epsilon = p->epsilon;
  if (p->conv) layer->kind = MICA__LAYER_CONV;
  if (p->norm) layer->norm = mica__strdup(p->norm);
  return p->norm && !layer->norm ? no_memory() : MICA_OK;
}

static mica_status make_layers(work *w) {
  const size_t count = w->products.count;
  mica__layer *layers = calloc(count + 1, sizeof *layers);
  w->sources = calloc(count + 1, sizeof *w->sources);
  mica_status status = layers && w->sources ? MICA_OK : no_memory();
  for (size_t i = 0; status == MICA_OK && i < count; i++) status = make_layer(w, &w->products.list[i], &layers[i]);
  if (status == MICA_OK) status = mica__calibration_of(layers, count, w->source_count, &w->calibration);
  for (size_t i = 0; status != MICA_OK && layers && i < count; i++) {
    free(layers[i].name);
    free(layers[i].norm);
  }
  if (status != MICA_OK) free(layers);
  return status;
}

/* --- measuring --- */

/* Adds the values that products read to the model's outputs, so that they can be measured. */
static mica_status show_sources(work *w, mica_onnx *model) {
  for (size_t i = 0; i < w->source_count; i++) {
    given *s = &w->sources[i];
    for (size_t k = 0; k < mica_onnx_input_count(model); k++)
      s->is_input = s->is_input || !strcmp(mica_onnx_input(model, k).name, s->value);
    if (!s->is_input) MICA_TRY(mica__onnx_show(model, s->value));
    for (size_t k = 0; k < mica_onnx_output_count(model); k++)
      if (!strcmp(mica_onnx_output_port(model, k).name, s->value)) s->output = k;
  }
  return MICA_OK;
}

static mica_status note_run(work *w, const mica_onnx_runner *runner, const mica_onnx_feed *feeds, size_t count) {
  for (size_t i = 0; i < w->source_count; i++) {
    const given *s = &w->sources[i];
    const mica_tensor *tensor = s->is_input ? NULL : mica_onnx_output(runner, s->output);
    for (size_t k = 0; s->is_input && k < count; k++)
      if (!strcmp(feeds[k].name, s->value)) tensor = feeds[k].tensor;
    mica_status status =
        tensor ? mica__calibration_add(w->calibration, i, tensor)
               : mica__fail(MICA_E_STATE,
                            "the model did not compute this value, so its range cannot be measured (an error in Mica)");
    if (status != MICA_OK) return mica__fail_in(status, s->value);
  }
  return MICA_OK;
}

static mica_status measure_runs(work *w, mica_onnx *model, mica__model_feeds *feeds) {
  mica_onnx_runner *runner = NULL;
  const mica_onnx_feed *list = NULL;
  size_t count = 0;
  mica_status status = mica_onnx_runner_create(w->engine, model, NULL, &runner);
  while (status == MICA_OK) {
    status = mica__model_feeds_next(feeds, &list, &count);
    if (status != MICA_OK || !count) break;
    status = mica_onnx_run(runner, mica_engine_queue(w->engine), list, count);
    if (status == MICA_OK) status = note_run(w, runner, list, count);
  }
  mica_onnx_runner_destroy(runner);
  return status;
}

static mica_status measure(work *w) {
  mica_onnx *model = NULL;
  mica__model_feeds *feeds = NULL;
  MICA_TRY(mica_onnx_open(w->path, &model));
  mica_status status = mica__model_feeds_open(w->engine, model, w->config, &feeds);
  if (status == MICA_OK) status = show_sources(w, model);
  if (status == MICA_OK) status = measure_runs(w, model, feeds);
  mica__model_feeds_close(feeds);
  mica_onnx_close(model);
  return status;
}

/* --- weights --- */

static mica_status add_weight(work *w, const char *layer, const char *what, mica_shape shape, const float *data) {
  int64_t count = 0;
  if (!data) return MICA_OK;
  MICA_TRY(mica_shape_count(shape, &count));
  char *name = mica__part_of(layer, what);
  if (!name) return no_memory();
  w->weights[w->weight_count++] = (mica_safetensors_entry){
      .name = name, .dtype = MICA_F32, .shape = shape, .data = data, .bytes = (size_t)count * sizeof *data};
  return MICA_OK;
}

static mica_status list_weights(work *w) {
  static const char *const parts[MICA__NORM_PARTS] = {"weight", "bias", "running_mean", "running_var"};
  w->weights = calloc((2 + MICA__NORM_PARTS) * w->products.count + 1, sizeof *w->weights);
  if (!w->weights) return no_memory();
  for (size_t i = 0; i < w->products.count; i++) {
    const mica__onnx_product *p = &w->products.list[i];
    const mica_shape along = MICA_SHAPE(p->shape.dim[0]);
    if (p->why) continue;
    MICA_TRY(add_weight(w, p->name, "weight", p->shape, p->w));
    MICA_TRY(add_weight(w, p->name, "bias", along, p->bias));
    for (int k = 0; p->norm && k < MICA__NORM_PARTS; k++)
      MICA_TRY(add_weight(w, p->norm, parts[k], along, p->parts[k]));
  }
  return MICA_OK;
}

static const void *part(const mica__tensors *t, const char *layer, const char *what) {
  char *name = mica__part_of(layer, what);
  const mica_safetensors_entry *e = name ? mica__tensors_find(t, name) : NULL;
  free(name);
  return e ? e->data : NULL;
}

/* Fills q from the tensors of product i. The scale and zero point of an input are stored only with the first of the
 * products that read it. */
static void take_integers(const work *w, const mica__quantize_choices *all, const mica__tensors *t, size_t i,
                          mica__onnx_integers *q) {
  const mica__quantize_choice *c = &all->list[i];
  const char *name = c->layer->name;
  q->source = -1;
  if (!c->bits) return;
  q->weight = part(t, name, "weight_q");
  q->steps = part(t, name, "weight_scale");
  q->bias = part(t, name, "bias");
  q->norm = w->products.list[i].norm;
  for (size_t k = 0; c->input && k < all->count; k++) {
    const mica__quantize_choice *other = &all->list[k];
    const float *step = other->layer->source == c->layer->source ? part(t, other->layer->name, "input_scale") : NULL;
    const uint8_t *zero = step ? part(t, other->layer->name, "input_zero") : NULL;
    if (!step || !zero) continue;
    q->source = c->layer->source;
    q->step = *step;
    q->zero = *zero;
  }
}

static mica_status write_model(work *w, const mica__quantize_choices *all, const mica__tensors *t) {
  mica__onnx_integers *integers = calloc(all->count + 1, sizeof *integers);
  if (!integers) return no_memory();
  for (size_t i = 0; i < all->count; i++) take_integers(w, all, t, i, &integers[i]);
  mica_status status = mica__onnx_write_integers(w->model, &w->products, integers, w->config->path);
  free(integers);
  return status;
}

static mica_status round_weights(work *w, mica_report *report) {
  mica__quantize_choices all = {0};
  mica__tensors tensors = {0};
  MICA_TRY(list_weights(w));
  MICA_TRY(mica__choose_layers(w->calibration, &w->config->how, &all));
  const mica__float_weights weights = {.list = w->weights, .count = w->weight_count};
  mica_status status = mica__quantize_tensors(w->calibration, &all, &weights, &tensors, report);
  if (status == MICA_OK) status = write_model(w, &all, &tensors);
  mica__tensors_free(&tensors);
  free(all.list);
  return status;
}

/* --- the whole --- */

static mica_status report_files(const work *w, uint64_t before, mica_report *report) {
  struct stat after;
  if (stat(w->config->path, &after) != 0)
    return mica__fail(MICA_E_IO, "the size of %s cannot be read", w->config->path);
  MICA_TRY(mica_report_begin(report, "Files"));
  MICA_TRY(mica_report_add_number(report, "bytes before", (double)before));
  MICA_TRY(mica_report_add_number(report, "bytes", (double)after.st_size));
  return mica_report_add_number(report, "times smaller", (double)before / (double)after.st_size);
}

/* The bytes of the file and of its weights, which may be in another file. */
static uint64_t bytes_of(const work *w) {
  struct stat about;
  const uint64_t weights = mica_onnx_describe(w->model).weight_bytes;
  const uint64_t file = stat(w->path, &about) == 0 ? (uint64_t)about.st_size : 0;
  return file < weights ? file + weights : file;
}

static mica_status quantize(work *w, mica_report *report) {
  MICA_TRY(mica_onnx_open(w->path, &w->model));
  const uint64_t before = bytes_of(w);
  MICA_TRY(mica__onnx_products_find(w->model, &w->products));
  MICA_TRY(make_layers(w));
  if (!w->config->how.weights_only) MICA_TRY(measure(w));
  MICA_TRY(round_weights(w, report));
  return report_files(w, before, report);
}

static mica_status check(const mica_engine *engine, const char *model, const mica_onnx_quantize_config *c) {
  if (!engine || !model || !c || !c->path || (c->channels && (!c->mean || !c->deviation)))
    return mica__fail(MICA_E_INVALID, "mica_onnx_quantize: a pointer is NULL");
  if (!c->data && !c->how.weights_only)
    return mica__fail(MICA_E_INVALID, "calibration needs data; give data, or choose weights-only");
  if ((c->how.bits && c->how.bits != 8) || c->how.group)
    return mica__fail(MICA_E_UNSUPPORTED,
                      "the weights of a model in ONNX can only be quantised to 8 bits with a scale per output");
  for (size_t k = 0; k < c->channels; k++)
    if (!(c->deviation[k] > 0))
      return mica__fail(MICA_E_INVALID, "deviation[%zu] is %g, but must be above 0", k, c->deviation[k]);
  return MICA_OK;
}

mica_status mica_onnx_quantize(mica_engine *engine, const char *model, const mica_onnx_quantize_config *config,
                               mica_report **out) {
  mica_report *report = NULL;
  work w = {.engine = engine, .path = model, .config = config};
  MICA_TRY(check(engine, model, config));
  mica_status status = mica_report_create(&report);
  if (status == MICA_OK) status = quantize(&w, report);
  for (size_t i = 0; i < w.weight_count; i++) free((char *)(uintptr_t)w.weights[i].name);
  free(w.weights);
  free(w.sources);
  mica_calibration_destroy(w.calibration);
  mica__onnx_products_free(&w.products);
  mica_onnx_close(w.model);
  if (status == MICA_OK && out)
    *out = report;
  else
    mica_report_destroy(report);
  return status;
}
