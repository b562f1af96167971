/* Converts float weights to integers: folds norms, chooses or reuses steps, corrects biases. */
#include "base/text.h"
#include "compress/quantize.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A layer that is being converted. */
typedef struct work {
  const mica__quantize_choice *choice;
  int64_t outputs, row, groups;
  float *w, *bias; /* bias NULL: no bias so far */
  float *steps;    /* (outputs, groups) */
  bool learned;
  double noise, energy;      /* sums of squared rounding errors, and of squared weights */
  double low, high, decibel; /* range and signal-to-noise ratio of the input */
} work;

static mica_shape outputs_of(const work *k) { return MICA_SHAPE(k->outputs); }

static void drop(work *k) {
  free(k->w);
  free(k->bias);
  free(k->steps);
}

static mica_status no_memory(void) { return mica__fail_nomem("quantised weights"); }

static mica_status need_bias(work *k) {
  if (!k->bias) k->bias = calloc((size_t)k->outputs + 1, sizeof *k->bias);
  return k->bias ? MICA_OK : no_memory();
}

static mica_status read_layer(const mica__float_weights *file, work *k) {
  const mica__layer *layer = k->choice->layer;
  k->outputs = layer->shown.weight.dim[0];
  k->row = mica__row_of(layer->shown.weight);
  k->groups = k->choice->group ? k->row / k->choice->group : 1;
  MICA_TRY(mica__read_floats(file, layer->name, "weight", layer->shown.weight, &k->w));
  if (!k->w)
    return mica__fail(MICA_E_FORMAT, "the file is of another network: there is no tensor '%s.weight'", layer->name);
  /* The bias of a transposed convolution is per output, not per row, so it is copied unchanged. */
  if (layer->kind == MICA__LAYER_TRANSPOSED || layer->kind == MICA__LAYER_TABLE) return MICA_OK;
  return mica__read_floats(file, layer->name, "bias", outputs_of(k), &k->bias);
}

/* Rounds a step up to bf16. Files become smaller, and the largest weight is not clipped. */
static float short_step(float step) {
  uint32_t bits;
  memcpy(&bits, &step, sizeof bits);
  bits = (bits + 0xffff) & 0xffff0000;
  float up;
  memcpy(&up, &bits, sizeof up);
  return isfinite(up) ? up : step;
}

/* Fills in the steps: learned ones, or steps chosen for the weights. */
static mica_status choose_steps(const mica__float_weights *file, work *k, const double *factor) {
  const mica__layer *layer = k->choice->layer;
  float *learned = NULL;
  MICA_TRY(mica__read_floats(file, layer->name, "weight_step", outputs_of(k), &learned));
  k->learned = learned != NULL;
  k->steps = calloc((size_t)(k->outputs * k->groups) + 1, sizeof *k->steps);
  const int64_t length = k->row / k->groups;
  for (int64_t o = 0; k->steps && o < k->outputs; o++)
    for (int64_t g = 0; g < k->groups; g++) {
      float *step = &k->steps[o * k->groups + g];
      /* A negative factor makes the step negative; integers do not change. */
      *step = learned ? (float)(exp((double)learned[o]) * (factor ? factor[o] : 1))
                      : (float)mica__weight_step(k->w + o * k->row + g * length, length, k->choice->bits);
      if (*step == 0) *step = 1;
      if (!learned) *step = short_step(*step);
    }
  free(learned);
  return k->steps ? MICA_OK : no_memory();
}

static mica_status fold_norm(const mica__float_weights *file, work *k, double **factor) {
  double *term = NULL;
  *factor = NULL;
  if (!k->choice->layer->norm) return MICA_OK;
  MICA_TRY(mica__read_norm(file, k->choice->layer, factor, &term));
  mica_status status = need_bias(k);
  for (int64_t o = 0; status == MICA_OK && o < k->outputs; o++) {
    for (int64_t i = 0; i < k->row; i++) k->w[o * k->row + i] *= (float)(*factor)[o];
    k->bias[o] = (float)((double)k->bias[o] * (*factor)[o] + term[o]);
  }
  free(term);
  return status;
}

static mica_status check_finite(const work *k) {
  const char *name = k->choice->layer->name;
  for (int64_t i = 0; i < k->outputs * k->row; i++)
    if (!isfinite(k->w[i]))
      return mica__fail(MICA_E_NUMERIC, "the weight of the layer '%s' holds numbers that are not finite", name);
  return MICA_OK;
}

static float step_of(const work *k, int64_t o, int64_t i) { return k->steps[o * k->groups + i / (k->row / k->groups)]; }

/* Writes integers into tensors. If the means of the inputs are known, it computes the mean error that rounding adds to
 * each output and subtracts it from the output's bias. */
static mica_status round_weights(mica__tensors *t, work *k, const mica__calibration_source *means,
                                 int64_t channels_a_group) {
  const int32_t bits = k->choice->bits;
  const bool packed = bits == 4;
  const int64_t count = k->outputs * k->row, bytes = packed ? count / 2 : count;
  mica_shape shape = k->choice->layer->shown.weight;
  if (packed) shape = MICA_SHAPE(k->outputs, k->row / 2);
  unsigned char *q = calloc((size_t)bytes + 1, 1);
  if (!q) return no_memory();
  const int64_t window = channels_a_group > 0 ? k->row / channels_a_group : 1;
  const int64_t groups = means && channels_a_group > 0 ? means->channels / channels_a_group : 1;
  for (int64_t o = 0; o < k->outputs; o++) {
    double shift = 0;
    for (int64_t i = 0; i < k->row; i++) {
      const int64_t at = o * k->row + i;
      const double step = (double)step_of(k, o, i), w = (double)k->w[at];
      const int32_t steps = mica__rounded(w, step, bits);
      const double left = steps * step - w;
      if (packed)
        q[at / 2] |= (unsigned char)((steps & 15) << (at % 2 ? 4 : 0));
      else
        q[at] = (unsigned char)(steps & 255);
      k->noise += left * left;
      k->energy += w * w;
      if (!means) continue;
      const int64_t channel = o / (k->outputs / groups) * channels_a_group + i / window;
      shift += left * means->sums[channel] / means->samples;
    }
    if (means) k->bias[o] -= (float)shift;
  }
  return mica__tensors_add(t, mica__part_of(k->choice->layer->name, "weight_q"), packed ? MICA_U8 : MICA_I8, shape, q,
                           (size_t)bytes);
}

/* --- inputs --- */

/* The first layer of the list that quantises the same input. */
static const mica__quantize_choice *owner_of(const mica__quantize_choices *all, const mica__quantize_choice *choice) {
  for (size_t i = 0; i < all->count; i++)
    if (all->list[i].bits && all->list[i].input && all->list[i].layer->source == choice->layer->source)
      return &all->list[i];
  return choice;
}

static mica_status add_number(mica__tensors *t, const char *layer, const char *what, float number) {
  float *data = malloc(sizeof *data);
  if (data) *data = number;
  return mica__tensors_add(t, mica__part_of(layer, what), MICA_F32, MICA_SCALAR, data, sizeof *data);
}

static mica_status add_input(mica__tensors *t, const work *k, float scale, int zero) {
  const char *name = k->choice->layer->name;
  MICA_TRY(add_number(t, name, "input_scale", scale));
  unsigned char *data = malloc(1);
  if (data) *data = (unsigned char)zero;
  return mica__tensors_add(t, mica__part_of(name, "input_zero"), MICA_U8, MICA_SCALAR, data, 1);
}

/* Computes the scale and zero point of a quantised input, which has 256 steps. They follow from the learned step, if
 * the file has one, or else from a range that is chosen from the calibration. Adds them to the tensors, unless the
 * range was chosen and an earlier layer quantises the same input: then both layers use the earlier one's tensors. */
static mica_status choose_input(const mica_calibration *c, const mica__quantize_choices *all,
                                const mica__float_weights *file, size_t index, mica__tensors *t, work *k) {
  const mica__layer *layer = k->choice->layer;
  float *learned = NULL;
  if (!k->choice->input) return MICA_OK;
  MICA_TRY(mica__read_floats(file, layer->name, "input_step", MICA_SCALAR, &learned));
  if (learned) {
    const float scale = expf(*learned);
    const int zero = layer->shown.never_negative ? 0 : 128;
    free(learned);
    k->low = -zero * (double)scale;
    k->high = (255 - zero) * (double)scale;
    k->decibel = NAN;
    return add_input(t, k, scale, zero);
  }
  MICA_TRY(mica_calibration_range(c, index, all->settings.method, all->settings.percentile, 8, &k->low, &k->high,
                                  &k->decibel));
  if (owner_of(all, k->choice) != k->choice) return MICA_OK;
  const float scale = (float)((k->high - k->low) / 255);
  const double zero = nearbyint(-k->low / (double)scale);
  if (!(scale > 0) || !isfinite(scale))
    return mica__fail(
        MICA_E_NUMERIC,
        "the input of the layer '%s' ranges from %g to %g, which is too narrow or too wide for an f32 scale",
        layer->name, k->low, k->high);
  return add_input(t, k, scale, (int)fmin(fmax(zero, 0), 255));
}

/* --- the report --- */

typedef struct table {
  char **texts;
  double *numbers;
  const char **rows;
  size_t count;
} table;

enum { BITS, WEIGHT_DECIBEL, LOW, HIGH, INPUT_DECIBEL, FOLDED, NOTE, COLUMNS };

static void note_row(table *out, const work *k) {
  const mica__quantize_choice *c = k->choice;
  char *row[COLUMNS];
  mica__text texts[COLUMNS] = {{0}};
  double *numbers = out->numbers + COLUMNS * out->count;
  numbers[BITS] = c->bits ? (double)c->bits : (double)NAN;
  numbers[WEIGHT_DECIBEL] = c->bits ? 10 * log10(k->energy / k->noise) : (double)NAN;
  numbers[LOW] = c->input ? k->low : (double)NAN;
  numbers[HIGH] = c->input ? k->high : (double)NAN;
  numbers[INPUT_DECIBEL] = c->input && isfinite(k->decibel) ? k->decibel : (double)NAN;
  for (int i = WEIGHT_DECIBEL; i <= INPUT_DECIBEL; i++)
    if (!isnan(numbers[i])) mica__text_addf(&texts[i], i == LOW || i == HIGH ? "%.4g" : "%.1f", numbers[i]);
  if (c->bits) mica__text_addf(&texts[BITS], "%d", (int)c->bits);
  if (c->layer->norm && c->bits) mica__text_add(&texts[FOLDED], c->layer->norm);
  if (c->why) mica__text_add(&texts[NOTE], c->why);
  for (int i = 0; i < COLUMNS; i++) row[i] = texts[i].data ? texts[i].data : mica__strdup(texts[i].failed ? "?" : "");
  memcpy(out->texts + COLUMNS * out->count, row, sizeof row);
  out->rows[out->count++] = c->layer->name;
}

static mica_status begin_table(table *out, size_t rows) {
  out->texts = calloc(COLUMNS * rows + 1, sizeof *out->texts);
  out->numbers = calloc(COLUMNS * rows + 1, sizeof *out->numbers);
  out->rows = calloc(rows + 1, sizeof *out->rows);
  return out->texts && out->numbers && out->rows ? MICA_OK : no_memory();
}

static mica_status report_table(const table *out, mica_report *report) {
  static const char *const names[COLUMNS] = {"weight bits", "weight dB", "input from", "input to",
                                             "input dB",    "folded",    "note"};
  static const bool number_columns[COLUMNS] = {
      [BITS] = true, [WEIGHT_DECIBEL] = true, [LOW] = true, [HIGH] = true, [INPUT_DECIBEL] = true};
  MICA_TRY(mica_report_begin(report, "Layers"));
  const mica_item item = {.kind = MICA_ITEM_KIND_TABLE,
                          .name = "layers",
                          .rows = out->count,
                          .columns = COLUMNS,
                          .row_names = out->rows,
                          .column_names = names,
                          .numbers = out->numbers,
                          .texts = (const char *const *)out->texts,
                          .number_columns = number_columns};
  return mica_report_add(report, &item);
}

static void free_table(table *out) {
  for (size_t i = 0; out->texts && i < COLUMNS * out->count; i++) free(out->texts[i]);
  free(out->texts);
  free(out->numbers);
  free(out->rows);
}

/* --- the file --- */

/* Input means for correcting biases; NULL: biases are not corrected. */
static const mica__calibration_source *means_of(const mica_calibration *c, const mica__quantize_choices *all,
                                                const work *k) {
  if (all->settings.no_correction || k->choice->layer->plain || !k->choice->input || k->learned ||
      k->choice->layer->source < 0)
    return NULL;
  const mica__calibration_source *source = &c->sources[k->choice->layer->source];
  return source->samples > 0 ? source : NULL;
}

static mica_status convert_layer(const mica_calibration *c, const mica__quantize_choices *all,
                                 const mica__float_weights *file, size_t index, mica__tensors *t, work *k) {
  const mica__layer *layer = k->choice->layer;
  double *factor = NULL;
  MICA_TRY(read_layer(file, k));
  mica_status status = fold_norm(file, k, &factor);
  if (status == MICA_OK) status = check_finite(k);
  if (status == MICA_OK) status = choose_steps(file, k, factor);
  free(factor);
  if (status == MICA_OK) status = choose_input(c, all, file, index, t, k);
  const mica__calibration_source *means = means_of(c, all, k);
  if (status == MICA_OK && means) status = need_bias(k);
  const int64_t channels = layer->shown.weight.rank > 1 ? layer->shown.weight.dim[1] : 1;
  if (status == MICA_OK) status = round_weights(t, k, means, channels);
  MICA_TRY(status);
  float *steps = k->steps, *bias = k->bias;
  const mica_shape shape = k->groups > 1 ? MICA_SHAPE(k->outputs, k->groups) : outputs_of(k);
  k->steps = k->bias = NULL;
  status = mica__tensors_add(t, mica__part_of(layer->name, "weight_scale"), MICA_F32, shape, steps,
                             (size_t)(k->outputs * k->groups) * sizeof *steps);
  if (!bias) return status;
  if (status != MICA_OK) {
    free(bias);
    return status;
  }
  return mica__tensors_add(t, mica__part_of(layer->name, "bias"), MICA_F32, outputs_of(k), bias,
                           (size_t)k->outputs * sizeof *bias);
}

/* True if the tensor is not copied into the quantised file: it is the weight or a step of a quantised layer, or belongs
 * to a norm that was folded into one. */
static bool is_replaced(const mica__quantize_choices *all, const char *name) {
  static const char *const steps[] = {"weight", "weight_step", "input_step"};
  for (size_t i = 0; i < all->count; i++) {
    const mica__quantize_choice *c = &all->list[i];
    const char *const owners[2] = {c->layer->name, c->layer->norm};
    for (int w = 0; c->bits && w < 2 && owners[w]; w++) {
      const size_t length = strlen(owners[w]);
      if (strncmp(name, owners[w], length) != 0 || name[length] != '.' || strchr(name + length + 1, '.')) continue;
      if (w) return true;
      for (size_t s = 0; s < sizeof steps / sizeof *steps; s++)
        if (!strcmp(name + length + 1, steps[s])) return true;
    }
  }
  return false;
}

static mica_status copy_others(const mica__quantize_choices *all, const mica_safetensors *file, mica__tensors *t) {
  for (size_t i = 0; i < mica_safetensors_count(file); i++) {
    const mica_safetensors_entry *e = mica_safetensors_at(file, i);
    if (!is_replaced(all, e->name) && !mica__tensors_have(t, e->name)) MICA_TRY(mica__tensors_borrow(t, e));
  }
  return MICA_OK;
}

/* Writes the file with its metadata: the old entries, the bits, and which layers share an input. */
static mica_status write_file(const mica__quantize_choices *all, const mica_safetensors *file, const char *path,
                              const mica__tensors *t) {
  const size_t own = mica_safetensors_metadata_count(file);
  mica_safetensors_pair *pairs = calloc(own + all->count + 1, sizeof *pairs);
  char **keys = calloc(all->count + 1, sizeof *keys), bits[8];
  size_t count = 0, made = 0;
  mica_status status = pairs && keys ? MICA_OK : no_memory();
  for (size_t i = 0; status == MICA_OK && i < own; i++) pairs[count++] = mica_safetensors_metadata_at(file, i);
  snprintf(bits, sizeof bits, "%d", (int)all->settings.bits);
  if (status == MICA_OK) pairs[count++] = (mica_safetensors_pair){MICA__QUANTIZED, bits};
  for (size_t i = 0; status == MICA_OK && i < all->count; i++) {
    const mica__quantize_choice *c = &all->list[i];
    char *own_scale = mica__part_of(c->layer->name, "input_scale");
    if (!own_scale) status = no_memory();
    if (own_scale && c->bits && c->input && !mica__tensors_have(t, own_scale)) {
      mica__text key = {0};
      mica__text_addf(&key, MICA__SAME_INPUT "%s", c->layer->name);
      keys[made++] = key.data;
      status = mica__text_status(&key);
      pairs[count++] = (mica_safetensors_pair){key.data, owner_of(all, c)->layer->name};
    }
    free(own_scale);
  }
  if (status == MICA_OK) status = mica_safetensors_write(path, t->list, t->count, pairs, count);
  for (size_t i = 0; i < made; i++) free(keys[i]);
  free(keys);
  free(pairs);
  return status;
}

mica_status mica__quantize_tensors(const mica_calibration *c, const mica__quantize_choices *all,
                                   const mica__float_weights *given, mica__tensors *tensors, mica_report *report) {
  table out = {0};
  mica_status status = begin_table(&out, all->count);
  for (size_t i = 0; status == MICA_OK && i < all->count; i++) {
    work k = {.choice = &all->list[i]};
    if (k.choice->bits) status = convert_layer(c, all, given, i, tensors, &k);
    if (status == MICA_OK) note_row(&out, &k);
    drop(&k);
  }
  if (status == MICA_OK && report) status = report_table(&out, report);
  free_table(&out);
  return status;
}

/* Converts a tensor of steps to bf16 if all its steps are exact in bf16. */
static void narrow_steps(mica__tensors *t) {
  static const char what[] = ".weight_scale";
  for (size_t i = 0; i < t->count; i++) {
    mica_safetensors_entry *e = &t->list[i];
    const size_t length = strlen(e->name), count = e->bytes / sizeof(uint32_t);
    bool fits = t->owned[i] && e->dtype == MICA_F32 && length > sizeof what &&
                !strcmp(e->name + length + 1 - sizeof what, what);
    uint32_t *bits = (uint32_t *)(uintptr_t)e->data;
    for (size_t k = 0; fits && k < count; k++) fits = !(bits[k] & 0xffff);
    if (!fits) continue;
    uint16_t *halves = (uint16_t *)bits;
    for (size_t k = 0; k < count; k++) {
      const uint16_t half = (uint16_t)(bits[k] >> 16);
      memcpy(halves + k, &half, sizeof half);
    }
    e->dtype = MICA_BF16;
    e->bytes = count * sizeof *halves;
  }
}

static mica_status convert(const mica_calibration *c, const mica__quantize_choices *all, const mica_safetensors *file,
                           const char *path, mica_report *report) {
  const mica__float_weights given = {.file = file};
  mica__tensors tensors = {0};
  mica_status status = mica__quantize_tensors(c, all, &given, &tensors, report);
  narrow_steps(&tensors);
  if (status == MICA_OK) status = copy_others(all, file, &tensors);
  if (status == MICA_OK) status = write_file(all, file, path, &tensors);
  mica__tensors_free(&tensors);
  return status;
}

mica_status mica_quantize_weights(const mica_calibration *c, const mica_quantize_settings *settings,
                                  const mica_safetensors *file, const char *path, mica_report *report) {
  mica__quantize_choices all = {0};
  if (!c || !file || !path) return mica__fail(MICA_E_INVALID, "mica_quantize_weights: a pointer is NULL");
  if (mica_safetensors_metadata(file, MICA__QUANTIZED))
    return mica__fail(MICA_E_STATE, "the weights are quantised already");
  MICA_TRY(mica__choose_layers(c, settings, &all));
  mica_status status = convert(c, &all, file, path, report);
  free(all.list);
  return status;
}
