/* Equalises the ranges of channels between two layers (Nagel et al. 2019, section 4.1). Channel c is divided by a
 * factor in the first layer and multiplied by it in the second. A ReLU between them does not change this, because
 * factors are positive. */
#include "base/text.h"
#include "compress/quantize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Larger factors would improve the range of one layer but add noise to the other. */
#define MOST_FACTOR 64.0

typedef struct pair {
  const mica__layer *first, *second;
  float *w1, *w2;
  double *factor1, *factor2, *term; /* per channel: factors of both norms and term of the first; NULL: no norm */
} pair;

static void drop(pair *p) {
  free(p->w1);
  free(p->w2);
  free(p->factor1);
  free(p->factor2);
  free(p->term);
}

/* The f32 tensor "layer.what" that copy_all made, or NULL. */
static float *floats_of(const mica__tensors *t, const char *layer, const char *what) {
  char *name = mica__part_of(layer, what);
  float *data = NULL;
  for (size_t i = 0; name && i < t->count; i++)
    if (t->owned[i] && !strcmp(t->list[i].name, name)) data = (float *)t->list[i].data;
  free(name);
  return data;
}

/* Copies the f32 tensors, so that they can be changed; tensors of other types are not copied. */
static mica_status copy_all(const mica_safetensors *file, mica__tensors *t) {
  for (size_t i = 0; i < mica_safetensors_count(file); i++) {
    const mica_safetensors_entry *e = mica_safetensors_at(file, i);
    if (e->dtype != MICA_F32) {
      MICA_TRY(mica__tensors_borrow(t, e));
      continue;
    }
    void *data = malloc(e->bytes ? e->bytes : 1);
    if (data) memcpy(data, e->data, e->bytes);
    MICA_TRY(mica__tensors_add(t, mica__strdup(e->name), MICA_F32, e->shape, data, e->bytes));
  }
  return MICA_OK;
}

/* True if both are convolutions or both dense layers, with weights of their own, and the second reads the channels that
 * the first makes. */
static bool is_pair(const mica__layer *a, const mica__layer *b) {
  if (a->tied || b->tied || a->kind != b->kind) return false;
  if (a->kind != MICA__LAYER_CONV && a->kind != MICA__LAYER_DENSE) return false;
  const int64_t channels = a->shown.weight.dim[0];
  return b->shown.weight.dim[1] == channels || (b->shown.weight.dim[1] == 1 && b->shown.weight.dim[0] == channels);
}

/* The largest magnitude in the second layer's weight for channel c, times the factors of the layer's norm if it has
 * one. */
static double range_in(const pair *p, const float *w2, int64_t c) {
  const mica_shape shape = p->second->shown.weight;
  const int64_t row = mica__row_of(shape), inputs = shape.dim[1], window = row / inputs;
  const bool depthwise = inputs == 1;
  double most = 0;
  for (int64_t o = depthwise ? c : 0; o < (depthwise ? c + 1 : shape.dim[0]); o++)
    for (int64_t i = 0; i < window; i++) {
      const double w = (double)w2[o * row + (depthwise ? 0 : c * window) + i] * (p->factor2 ? p->factor2[o] : 1);
      most = fmax(most, fabs(w));
    }
  return most;
}

static double range_out(const pair *p, const float *w1, int64_t c) {
  const int64_t row = mica__row_of(p->first->shown.weight);
  double most = 0;
  for (int64_t i = 0; i < row; i++) most = fmax(most, fabs((double)w1[c * row + i]));
  return p->factor1 ? most * fabs(p->factor1[c]) : most;
}

/* Divides channel c of the first layer's output by s: the factor and term of its norm or, without a norm, its weight
 * and bias. */
static void divide(const mica__tensors *t, const pair *p, float *w1, int64_t c, double s) {
  const int64_t row = mica__row_of(p->first->shown.weight);
  float *scale = p->first->norm ? floats_of(t, p->first->norm, "weight") : NULL;
  float *bias = floats_of(t, p->first->norm ? p->first->norm : p->first->name, "bias");
  if (bias) bias[c] = (float)((double)bias[c] / s);
  if (scale)
    scale[c] = (float)((double)scale[c] / s);
  else
    for (int64_t i = 0; i < row; i++) w1[c * row + i] = (float)((double)w1[c * row + i] / s);
}

static void multiply(const pair *p, float *w2, int64_t c, double s) {
  const mica_shape shape = p->second->shown.weight;
  const int64_t row = mica__row_of(shape), inputs = shape.dim[1], window = row / inputs;
  const bool depthwise = inputs == 1;
  for (int64_t o = depthwise ? c : 0; o < (depthwise ? c + 1 : shape.dim[0]); o++)
    for (int64_t i = 0; i < window; i++) {
      float *w = &w2[o * row + (depthwise ? 0 : c * window) + i];
      *w = (float)((double)*w * s);
    }
}

static mica_status equalize(const mica_safetensors *file, const mica__tensors *t, pair *p) {
  double *unused = NULL;
  float *w1 = floats_of(t, p->first->name, "weight"), *w2 = floats_of(t, p->second->name, "weight");
  /* If the file has no "weight" of the norm, there is no factor that could be changed. */
  if (p->first->norm && !floats_of(t, p->first->norm, "weight")) return MICA_OK;
  if (!w1 || !w2)
    return mica__fail(MICA_E_FORMAT, "the file has no f32 tensor '%s.weight'", (w1 ? p->second : p->first)->name);
  if (p->first->norm) MICA_TRY(mica__read_norm(&(mica__float_weights){.file = file}, p->first, &p->factor1, &p->term));
  if (p->second->norm) MICA_TRY(mica__read_norm(&(mica__float_weights){.file = file}, p->second, &p->factor2, &unused));
  free(unused);
  for (int64_t c = 0; c < p->first->shown.weight.dim[0]; c++) {
    const double out = range_out(p, w1, c), in = range_in(p, w2, c);
    if (!(out > 0) || !(in > 0)) continue;
    const double s = fmin(fmax(sqrt(out / in), 1 / MOST_FACTOR), MOST_FACTOR);
    divide(t, p, w1, c, s);
    multiply(p, w2, c, s);
  }
  return MICA_OK;
}

static mica_status equalize_all(const mica_calibration *c, const mica_safetensors *file, mica__tensors *t,
                                size_t *pairs) {
  MICA_TRY(copy_all(file, t));
  for (size_t i = 0; i < c->layer_count; i++) {
    pair p = {.first = &c->layers[i]};
    if (p.first->kind == MICA__LAYER_NORM || p.first->next < 0) continue;
    p.second = &c->layers[p.first->next];
    if (!is_pair(p.first, p.second)) continue;
    mica_status status = equalize(file, t, &p);
    drop(&p);
    MICA_TRY(status);
    (*pairs)++;
  }
  return MICA_OK;
}

mica_status mica_equalize_weights(const mica_calibration *c, const mica_safetensors *file, const char *path,
                                  size_t *pairs) {
  mica__tensors tensors = {0};
  size_t made = 0;
  if (!c || !file || !path) return mica__fail(MICA_E_INVALID, "mica_equalize_weights: a pointer is NULL");
  if (!c->finished) return mica__fail(MICA_E_STATE, "mica_equalize_weights: call mica_calibration_values first");
  if (mica_safetensors_metadata(file, MICA__QUANTIZED))
    return mica__fail(MICA_E_STATE, "the weights are quantised already");
  mica_status status = equalize_all(c, file, &tensors, &made);
  if (status == MICA_OK) status = mica_safetensors_write(path, tensors.list, tensors.count, NULL, 0);
  mica__tensors_free(&tensors);
  if (status == MICA_OK && pairs) *pairs = made;
  return status;
}
