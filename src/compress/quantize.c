/* Chooses which layers are quantised and the steps of their weights, reads float weights and batch norms, and lists the
 * tensors to write. */
#include "compress/quantize.h"
#include "base/element.h"
#include "base/text.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- choices --- */

static mica_status check(const mica_calibration *c, mica_quantize_settings *s) {
  if (!c->finished)
    return mica__fail(MICA_E_STATE, "quantising needs a finished calibration: call mica_calibration_values first");
  if (s->bits == 0) s->bits = 8;
  if (s->bits != 8 && s->bits != 4)
    return mica__fail(MICA_E_INVALID, "weights cannot have %d bits; choose 8 or 4", (int)s->bits);
  if (!mica_calibration_method_name((size_t)s->method))
    return mica__fail(MICA_E_INVALID, "method is %d, but must be a mica_calibration_method", (int)s->method);
  if (s->group != 0 && s->group != 32 && s->group != 64 && s->group != 128)
    return mica__fail(MICA_E_INVALID, "group is %lld, but must be 0 (standard), 32, 64 or 128", (long long)s->group);
  if (s->group && !s->weights_only)
    return mica__fail(MICA_E_INVALID, "group is set, but groups are possible only with weights_only");
  if (!(s->percentile >= 0 && s->percentile <= 1))
    return mica__fail(MICA_E_INVALID, "percentile is %g, but must be from 0 to 1", s->percentile);
  return MICA_OK;
}

int64_t mica__row_of(mica_shape weight) {
  int64_t count = 1;
  for (int32_t i = 1; i < weight.rank; i++) count *= weight.dim[i];
  return count;
}

static void choose_weight(const mica__quantize_choices *all, const mica__layer *layer, mica__quantize_choice *c) {
  const mica_quantize_settings *s = &all->settings;
  const int64_t row = mica__row_of(layer->shown.weight);
  c->bits = s->bits;
  c->input = !s->weights_only;
  if (layer->kind == MICA__LAYER_TABLE || layer->kind == MICA__LAYER_TRANSPOSED) {
    c->bits = 8;
    c->input = false;
    c->why = layer->kind == MICA__LAYER_TABLE ? "the rows of an embedding" : "weights alone: a transposed convolution";
  } else if (layer->kind == MICA__LAYER_CONV && layer->shown.weight.rank > 4) {
    c->input = false;
    c->why = "weights alone: a convolution in space";
  }
  if (c->bits == 4 && row % 2) c->bits = 8, c->why = "8 bits: rows of an odd length";
  const int64_t group = s->group ? s->group : c->bits == 4 ? 32 : 0;
  if (s->weights_only && layer->kind == MICA__LAYER_DENSE && group && row % group == 0) c->group = group;
}

bool mica__layer_is_idle(const mica_calibration_layer *layer) {
  return layer->count > 0 && layer->finite && layer->low == 0 && layer->high == 0;
}

/* With 4 bits for weights and inputs, the first and the last quantised layer with a measured input keep 8 bits if there
 * are three such layers or more. */
static void keep_ends(mica__quantize_choices *all) {
  mica__quantize_choice *first = NULL, *last = NULL;
  size_t count = 0;
  for (size_t i = 0; i < all->count; i++) {
    mica__quantize_choice *c = &all->list[i];
    if (!c->bits || !c->layer->shown.has_input) continue;
    if (!first) first = c;
    last = c;
    count++;
  }
  if (count < 3 || all->settings.bits != 4 || all->settings.weights_only) return;
  if (first->bits == 4) first->bits = 8, first->why = "8 bits: the first layer";
  if (last->bits == 4) last->bits = 8, last->why = "8 bits: the last layer";
}

mica_status mica__choose_layers(const mica_calibration *c, const mica_quantize_settings *settings,
                                mica__quantize_choices *choices) {
  mica__quantize_choices all = {.settings = settings ? *settings : (mica_quantize_settings){0}};
  const char *keep = all.settings.keep;
  size_t kept = 0, quantized = 0;
  MICA_TRY(check(c, &all.settings));
  all.list = calloc(c->layer_count + 1, sizeof *all.list);
  if (!all.list) return mica__fail_nomem("a list of layers");
  for (const mica__layer *layer; (layer = mica__calibration_layer(c, all.count)); all.count++) {
    mica__quantize_choice *choice = &all.list[all.count];
    choice->layer = layer;
    if (keep && fnmatch(keep, layer->name, 0) == 0)
      choice->why = "float: as asked", kept++;
    else if (layer->stays)
      choice->why = layer->stays;
    else if (layer->tied)
      choice->why = "float: its weight is used elsewhere too";
    else
      choose_weight(&all, layer, choice);
    if (choice->input && mica__layer_is_idle(&layer->shown))
      choice->bits = 0, choice->input = false, choice->why = "float: all its inputs were 0";
    quantized += choice->bits != 0;
  }
  mica_status status = MICA_OK;
  if (!all.count)
    status = mica__fail(keep ? MICA_E_NOT_FOUND : MICA_E_INVALID, "the network has no layer that can be quantised");
  else if (keep && !kept)
    status = mica__fail(
        MICA_E_NOT_FOUND,
        "no layer matches the pattern \"%s\" of layers to keep; the first layer is \"%s\" and the last is \"%s\"", keep,
        all.list[0].layer->name, all.list[all.count - 1].layer->name);
  else if (!quantized)
    status = mica__fail(MICA_E_INVALID, "no layer is left to quantise: all layers are kept as floats");
  keep_ends(&all);
  if (status == MICA_OK)
    *choices = all;
  else
    free(all.list);
  return status;
}

/* --- steps --- */

int32_t mica__rounded(double x, double step, int32_t bits) {
  const double most = mica__most_step(bits), q = step != 0 ? nearbyint(x / step) : 0;
  return (int32_t)fmin(fmax(q, -most), most);
}

static double error_of(const float *w, int64_t count, double step, int32_t bits) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) {
    const double left = (double)w[i] - step * mica__rounded((double)w[i], step, bits);
    sum += left * left;
  }
  return sum;
}

/* The smallest share of the range to try with 4 bits. */
#define LEAST_SHARE 0.5
#define SHARES 20

double mica__weight_step(const float *w, int64_t count, int32_t bits) {
  double most = 0;
  for (int64_t i = 0; i < count; i++) {
    if (!isfinite(w[i])) return NAN;
    most = fmax(most, fabs((double)w[i]));
  }
  double step = most / mica__most_step(bits);
  if (bits == 8 || most == 0) return step;
  double best = error_of(w, count, step, bits), chosen = step;
  for (int i = 1; i <= SHARES; i++) {
    const double tried = step * (1 - (1 - LEAST_SHARE) * i / SHARES), error = error_of(w, count, tried, bits);
    if (error < best) best = error, chosen = tried;
  }
  return chosen;
}

/* --- tensors of files --- */

char *mica__part_of(const char *layer, const char *what) {
  mica__text text = {0};
  mica__text_addf(&text, "%s.%s", layer, what);
  if (!text.failed) return text.data;
  mica__text_free(&text);
  return NULL;
}

static const mica_safetensors_entry *find(const mica__float_weights *given, const char *name) {
  if (given->file) return mica_safetensors_find(given->file, name);
  for (size_t i = 0; i < given->count; i++)
    if (!strcmp(given->list[i].name, name)) return &given->list[i];
  return NULL;
}

mica_status mica__read_floats(const mica__float_weights *file, const char *layer, const char *what, mica_shape shape,
                              float **out) {
  char is[MICA_SHAPE_TEXT], want[MICA_SHAPE_TEXT];
  char *name = mica__part_of(layer, what);
  if (!name) return mica__fail_nomem("a name");
  const mica_safetensors_entry *e = find(file, name);
  mica_status status = MICA_OK;
  *out = NULL;
  if (e && (e->dtype >= MICA_DTYPE_COUNT || mica_dtype_kind_of(e->dtype) != MICA_DTYPE_KIND_FLOAT ||
            !mica_shape_equal(e->shape, shape)))
    status =
        mica__fail(MICA_E_FORMAT, "the file is of another network: '%s' is %s %s, but must be a float type of shape %s",
                   name, e->type ? e->type : "?", mica_shape_format(e->shape, is), mica_shape_format(shape, want));
  if (e && status == MICA_OK) {
    const size_t count = e->bytes / mica_dtype_size(e->dtype);
    float *x = malloc((count + 1) * sizeof *x);
    if (!x) status = mica__fail_nomem("weights");
    for (size_t i = 0; x && i < count; i++) x[i] = (float)mica__element_get(e->dtype, e->data, (int64_t)i);
    *out = x;
  }
  free(name);
  return status;
}

mica_status mica__read_norm(const mica__float_weights *file, const mica__layer *layer, double **factor, double **term) {
  const int64_t channels = layer->shown.weight.dim[0];
  const mica_shape shape = MICA_SHAPE(channels);
  static const char *const names[4] = {"weight", "bias", "running_mean", "running_var"};
  float *parts[4] = {0};
  mica_status status = MICA_OK;
  for (int i = 0; i < 4 && status == MICA_OK; i++)
    status = mica__read_floats(file, layer->norm, names[i], shape, &parts[i]);
  if (status == MICA_OK && (!parts[2] || !parts[3]))
    status = mica__fail(MICA_E_FORMAT, "the file is of another network: '%s' lacks running_mean or running_var",
                        layer->norm);
  *factor = calloc((size_t)channels + 1, sizeof **factor);
  *term = calloc((size_t)channels + 1, sizeof **term);
  if (status == MICA_OK && (!*factor || !*term)) status = mica__fail_nomem("a norm");
  for (int64_t k = 0; status == MICA_OK && k < channels; k++) {
    (*factor)[k] = (parts[0] ? (double)parts[0][k] : 1) / sqrt((double)parts[3][k] + layer->epsilon);
    (*term)[k] = (parts[1] ? (double)parts[1][k] : 0) - (double)parts[2][k] * (*factor)[k];
  }
  for (int i = 0; i < 4; i++) free(parts[i]);
  if (status == MICA_OK) return MICA_OK;
  free(*factor);
  free(*term);
  *factor = *term = NULL;
  return status;
}

static bool make_room(mica__tensors *t) {
  if (t->count < t->capacity) return true;
  const size_t wider = t->capacity ? 2 * t->capacity : 64;
  mica_safetensors_entry *list = realloc(t->list, wider * sizeof *list);
  if (list) t->list = list;
  bool *owned = list ? realloc(t->owned, wider * sizeof *owned) : NULL;
  if (owned) t->owned = owned;
  if (owned) t->capacity = wider;
  return owned != NULL;
}

mica_status mica__tensors_add(mica__tensors *t, char *name, mica_dtype dtype, mica_shape shape, void *data,
                              size_t bytes) {
  if (!name || !data || !make_room(t)) {
    free(name);
    free(data);
    return mica__fail_nomem("tensors of a file");
  }
  t->owned[t->count] = true;
  t->list[t->count++] =
      (mica_safetensors_entry){.name = name, .dtype = dtype, .shape = shape, .data = data, .bytes = bytes};
  return MICA_OK;
}

mica_status mica__tensors_borrow(mica__tensors *t, const mica_safetensors_entry *entry) {
  if (!make_room(t)) return mica__fail_nomem("tensors of a file");
  t->owned[t->count] = false;
  t->list[t->count++] = *entry;
  return MICA_OK;
}

const mica_safetensors_entry *mica__tensors_find(const mica__tensors *t, const char *name) {
  for (size_t i = 0; i < t->count; i++)
    if (!strcmp(t->list[i].name, name)) return &t->list[i];
  return NULL;
}

bool mica__tensors_have(const mica__tensors *t, const char *name) { return mica__tensors_find(t, name) != NULL; }

void mica__tensors_free(mica__tensors *t) {
  for (size_t i = 0; i < t->count; i++) {
    if (!t->owned[i]) continue;
    free((char *)t->list[i].name);
    free((void *)t->list[i].data);
  }
  free(t->list);
  free(t->owned);
  *t = (mica__tensors){0};
}
