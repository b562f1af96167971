/* Scales rotary positions to longer contexts: each pair of features has a factor that divides its frequency, and one
 * factor multiplies all cosines and sines. */
#include "foundation/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TAU 6.283185307179586

typedef struct scaling {
  const mica_foundation *model;
  const mica_foundation_rotary *r;
  int64_t pairs;
  double *factors;
} scaling;

/* base^(-2 i / rotated) */
static double frequency(const scaling *s, int64_t i) {
  return pow(s->r->base, -2.0 * (double)i / (double)(2 * s->pairs));
}

/* --- YaRN, Peng et al. 2023 --- */

/* The pair whose angle makes this number of cycles in the original context. */
static double pair_of(const scaling *s, double cycles) {
  return (double)s->pairs * log(s->r->original / (cycles * TAU)) / log(s->r->base);
}

static double growth(double factor, double by) { return factor <= 1 ? 1 : 0.1 * by * log(factor) + 1; }

static double yarn(const scaling *s) {
  const mica_foundation_rotary *r = s->r;
  double first = pair_of(s, r->beta_fast != 0 ? r->beta_fast : 32),
         last = pair_of(s, r->beta_slow != 0 ? r->beta_slow : 1);
  if (!r->exact_range) first = floor(first), last = ceil(last);
  first = fmax(first, 0);
  last = fmin(last, (double)(2 * s->pairs - 1));
  if (first == last) last += 0.001;
  for (int64_t i = 0; i < s->pairs; i++) {
    const double ramp = fmin(fmax(((double)i - first) / (last - first), 0), 1);
    s->factors[i] = 1 / (ramp / r->factor + 1 - ramp);
  }
  const double own = r->mscale != 0 && r->mscale_all != 0
                         ? growth(r->factor, r->mscale) / growth(r->factor, r->mscale_all)
                         : growth(r->factor, 1);
  if (r->attention_factor == 0) return own;
  /* In a GGUF file, the attention factor multiplies the value computed above. In a folder, it replaces that value. */
  return mica_weights_gguf(s->model->weights) ? own * r->attention_factor : r->attention_factor;
}

/* --- Llama 3 --- */

static double llama3(const scaling *s) {
  const mica_foundation_rotary *r = s->r;
  for (int64_t i = 0; i < s->pairs; i++) {
    const double cycles = r->original * frequency(s, i) / TAU;
    const double share = (cycles - r->low_factor) / (r->high_factor - r->low_factor);
    s->factors[i] = cycles < r->low_factor    ? r->factor
                    : cycles > r->high_factor ? 1
                                              : 1 / ((1 - share) / r->factor + share);
  }
  return 1;
}

/* --- lists --- */

static double long_scale(const mica_foundation_rotary *r) {
  if (r->attention_factor > 0) return r->attention_factor;
  return r->factor <= 1 || r->original <= 1 ? 1 : sqrt(1 + log(r->factor) / log(r->original));
}

/* True if the context exceeds the original one; the list of factors for long texts then applies (Ding et al. 2024). */
static bool is_long(const scaling *s) { return s->r->original > 0 && (double)s->model->context > s->r->original; }

static void copy(const scaling *s, const double *list) {
  for (int64_t i = 0; i < s->pairs; i++) s->factors[i] = list[i];
}

/* Reads the factors from a tensor of a GGUF file. */
static mica_status from_tensor(const scaling *s) {
  const mica_weights *weights = s->model->weights;
  const char *name = "rope_freqs.weight";
  if (mica_weights_find(weights, "rope_factors_long.weight"))
    name = is_long(s) ? "rope_factors_long.weight" : "rope_factors_short.weight";
  const mica_weight_entry *entry = mica_weights_find(weights, name);
  if (!entry)
    return mica__fail(MICA_E_FORMAT, "%s: the tensor %s of its rotary positions is missing", s->model->path, name);
  if (entry->dtype != MICA_F32 || entry->shape.rank != 1 || entry->shape.dim[0] != s->pairs)
    return mica__fail(MICA_E_FORMAT, "%s: the tensor %s must be %" PRId64 " numbers of F32", s->model->path, name,
                      s->pairs);
  for (int64_t i = 0; i < s->pairs; i++) {
    float value;
    memcpy(&value, (const char *)entry->data + (size_t)i * sizeof value, sizeof value);
    if (!(value > 0))
      return mica__fail(MICA_E_FORMAT, "%s: number %" PRId64 " of the tensor %s is not above 0", s->model->path, i,
                        name);
    s->factors[i] = (double)value;
  }
  return MICA_OK;
}

/* --- all kinds of scaling --- */

mica_status mica__rotary_scale(const mica_foundation *model, const mica_foundation_rotary *rotary, double **factors,
                               double *scale) {
  scaling s = {model, rotary, model->info.rotated / 2, NULL};
  *factors = NULL;
  *scale = 1;
  /* DYNAMIC scales only texts longer than the model's context, and no text is longer here. */
  if (rotary->scaling == MICA_FOUNDATION_SCALING_NONE || rotary->scaling == MICA_FOUNDATION_SCALING_DYNAMIC)
    return MICA_OK;
  if ((rotary->scaling == MICA_FOUNDATION_SCALING_YARN || rotary->scaling == MICA_FOUNDATION_SCALING_LLAMA3) &&
      !(rotary->original > 0))
    return mica__fail(MICA_E_FORMAT, "%s: the scaling of positions needs the original context: the key %s is missing",
                      model->path,
                      model->weights && mica_weights_gguf(model->weights) ? "rope.scaling.original_context_length"
                                                                          : "original_max_position_embeddings");
  s.factors = calloc((size_t)s.pairs, sizeof *s.factors);
  if (!s.factors) return mica__fail_nomem(model->path);
  mica_status status = MICA_OK;
  switch (rotary->scaling) {
  case MICA_FOUNDATION_SCALING_LINEAR:
    for (int64_t i = 0; i < s.pairs; i++) s.factors[i] = rotary->factor;
    break;
  case MICA_FOUNDATION_SCALING_YARN: *scale = yarn(&s); break;
  case MICA_FOUNDATION_SCALING_LLAMA3: *scale = llama3(&s); break;
  case MICA_FOUNDATION_SCALING_LONGROPE:
    copy(&s, is_long(&s) ? rotary->long_factors : rotary->short_factors);
    *scale = long_scale(rotary);
    break;
  default:
    status = from_tensor(&s);
    if (rotary->attention_factor > 0) *scale = rotary->attention_factor;
  }
  if (status == MICA_OK)
    *factors = s.factors;
  else
    free(s.factors);
  return status;
}
