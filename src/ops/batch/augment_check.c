/* A naive reference of augmentation, in double, and the comparison with it. */
#include "ir/op.h"
#include "ops/batch/geometry.h"
#include "ops/common/tolerance.h"
#include "ops/select/check.h"
#include "runtime/launch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A case: its samples, and how they become a batch. */
typedef struct problem {
  mica__augment augment;
  int64_t n, N, C, H, W, classes; /* classes 0: labels are copied */
  int64_t h, w;                   /* the size of the batch's pictures */
  mica_dtype x_type, y_type;
  bool ordered, alone; /* ordered: by an order in memory; alone: only the words are made, no pictures */
  const double *x, *records, *order, *affine;
} problem;

/* Words per record: the label and a second word. */
#define WIDTH 2

static double pixel(const problem *p, int64_t sample, int64_t c, int64_t r, int64_t q) {
  if (r < 0 || r >= p->H || q < 0 || q >= p->W) return 0;
  return p->affine[2 * c] * p->x[((sample * p->C + c) * p->H + r) * p->W + q] + p->affine[2 * c + 1];
}

/* Returns an element of the batch in double. *scale receives the magnitude from which its tolerance follows. This is
 * the sum of the absolute values of its terms. If pixels are interpolated, the error of the rounded coordinates is
 * added: their magnitude times the largest difference between two pixels. */
static double element(const problem *p, int64_t sample, const mica__draw *d, int64_t c, int64_t r, int64_t q,
                      double *scale) {
  const int64_t cut = p->augment.cutout, y = r - d->cut_y + cut / 2, x = q - d->cut_x + cut / 2;
  const double largest = fabs(p->affine[2 * c]) * (p->x_type == MICA_U8 ? 255 : 2) + fabs(p->affine[2 * c + 1]);
  *scale = fabs(d->gain) * largest + fabs(d->lift * p->affine[2 * c]);
  if (y >= 0 && y < cut && x >= 0 && x < cut) return 0;
  double value = 0, at[2];
  mica__draw_source(d, q, r, p->h, p->w, at);
  if (p->augment.angle > 0 || p->augment.zoom > 0 || p->augment.elastic > 0) {
    const double at_x = at[0], at_y = at[1];
    const int64_t x0 = (int64_t)floor(at_x), y0 = (int64_t)floor(at_y);
    const double wx = at_x - (double)x0, wy = at_y - (double)y0;
    for (int k = 0; k < 4; k++)
      value += (k & 1 ? wx : 1 - wx) * (k & 2 ? wy : 1 - wy) * pixel(p, sample, c, y0 + (k >> 1), x0 + (k & 1));
    *scale += 4 * fabs(d->gain) * largest *
              ((double)(p->H + p->W + 2 * p->augment.crop) / d->zoom + 2 * (double)p->augment.elastic);
  } else {
    value = pixel(p, sample, c, (int64_t)at[1], (int64_t)at[0]);
  }
  return d->gain * value + d->lift * p->affine[2 * c];
}

/* Returns the index of the sample at a position. */
static int64_t sample_at(const problem *p, uint32_t position) {
  return p->ordered ? (int64_t)p->order[position] : mica__permute(&p->augment.permutation, position);
}

/* Writes the words of sample s, whose record is i: the second word, then the label or, if there are classes,
 * probabilities that mix it with the label of record k. */
static void reference_words(const problem *p, int64_t s, int64_t i, int64_t k, double *words, double *mixed) {
  const double share = (double)p->augment.blend;
  words[s] = p->records[i * WIDTH + 1];
  if (p->classes == 0) words[p->N + s] = p->records[i * WIDTH];
  for (int64_t j = 0; j < p->classes; j++)
    mixed[s * p->classes + j] =
        ((double)j == p->records[i * WIDTH] ? share : 0) + ((double)j == p->records[k * WIDTH] ? 1 - share : 0);
}

static bool is_inside(const mica__augment *a, int64_t q, int64_t r) {
  return q >= a->rect[0] && r >= a->rect[1] && q < a->rect[2] && r < a->rect[3];
}

static void reference(const problem *p, double *want, double *bound, double *words, double *mixed) {
  const mica__augment *a = &p->augment;
  const double blend = (double)a->blend, one = p->x_type == MICA_U8 ? 255 : 1;
  for (int64_t s = 0, at = 0; s < p->N; s++) {
    const int64_t other = p->N - 1 - s;
    const int64_t i = sample_at(p, a->first + (uint32_t)s), k = sample_at(p, a->first + (uint32_t)other);
    const mica__draw d = mica__draw_of(a, a->position + (uint32_t)s, p->H, p->W, one);
    const mica__draw e = mica__draw_of(a, a->position + (uint32_t)other, p->H, p->W, one);
    for (int64_t c = 0; c < p->C; c++)
      for (int64_t r = 0; r < p->h; r++)
        for (int64_t q = 0; q < p->w; q++, at++) {
          double scale = 0, scale_other = 0;
          if (a->cuts) {
            const bool cut = is_inside(a, q, r);
            want[at] = element(p, cut ? k : i, cut ? &e : &d, c, r, q, &scale);
            bound[at] = mica__tolerance_sum(MICA_F32, p->y_type, 4, scale, want[at]);
            continue;
          }
          want[at] = blend * element(p, i, &d, c, r, q, &scale);
          if (blend < 1) want[at] += (1 - blend) * element(p, k, &e, c, r, q, &scale_other);
          bound[at] = mica__tolerance_sum(MICA_F32, p->y_type, 4, scale + scale_other, want[at]);
        }
    reference_words(p, s, i, k, words, mixed);
  }
}

/* The operands on the device. */
typedef struct operands {
  mica__check_tensor x, records, table, order, affine, y, words, mixed;
} operands;

static mica_status make_words(mica__check *check, problem *p, operands *o, double *values) {
  const double table[2 * WIDTH] = {(double)p->N, 1, 0, 1};
  mica_status status = mica__check_input_values(check, MICA_I32, MICA_SHAPE(WIDTH, 2), table, &o->table);
  for (int64_t i = 0; i < p->n; i++) {
    values[i * WIDTH] = (double)(i % (p->classes ? p->classes : 100));
    values[i * WIDTH + 1] = (double)(1000 - i);
  }
  if (status == MICA_OK)
    status = mica__check_input_values(check, MICA_I32, MICA_SHAPE(p->n, WIDTH), values, &o->records);
  for (int64_t i = 0; i < p->n; i++) values[i] = (double)((i * 3 + 2) % p->n);
  if (status == MICA_OK) status = mica__check_input_values(check, MICA_I32, MICA_SHAPE(p->n), values, &o->order);
  if (status == MICA_OK)
    status = mica__check_output(check, MICA_I32, MICA_SHAPE(p->N * (p->classes ? 1 : 2)), &o->words);
  if (status == MICA_OK && p->classes)
    status = mica__check_output(check, MICA_F32, MICA_SHAPE(p->N, p->classes), &o->mixed);
  return status;
}

static mica_status make_operands(mica__check *check, problem *p, operands *o) {
  const int64_t count = p->n * p->C * p->H * p->W;
  double *values = malloc((size_t)(count + WIDTH * p->n + 2 * p->C) * sizeof *values);
  if (!values) return mica__fail_nomem("a reference");
  double *records = values + count, *affine = records + WIDTH * p->n;
  for (int64_t i = 0; i < count; i++)
    values[i] = p->x_type == MICA_U8 ? floor(127.5 * (1 + mica__check_random(check))) : 2 * mica__check_random(check);
  for (int64_t c = 0; c < p->C; c++) {
    affine[2 * c] = (p->x_type == MICA_U8 ? 1.0 / 64 : 1) + (double)c / 256;
    affine[2 * c + 1] = mica__check_random(check);
  }
  mica_shape x = MICA_SHAPE(p->n, p->C, p->H, p->W), y = MICA_SHAPE(p->N, p->C, p->h, p->w);
  mica_status status = mica__check_input_values(check, p->x_type, x, values, &o->x);
  if (status == MICA_OK) status = mica__check_input_values(check, MICA_F32, MICA_SHAPE(p->C, 2), affine, &o->affine);
  if (status == MICA_OK) status = mica__check_output(check, p->y_type, y, &o->y);
  if (status == MICA_OK) status = make_words(check, p, o, records);
  free(values);
  p->x = o->x.values, p->records = o->records.values, p->order = o->order.values, p->affine = o->affine.values;
  return status;
}

static void free_operands(operands *o) {
  mica__check_tensor *all[] = {&o->x, &o->records, &o->table, &o->order, &o->affine, &o->y, &o->words, &o->mixed};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) mica__check_free(all[i]);
}

static mica_status run_case(mica__check_group *group, const mica__variant *variant, problem p) {
  operands o = {0};
  p.h = p.augment.high ? p.augment.high : p.H;
  p.w = p.augment.wide ? p.augment.wide : p.W;
  const int64_t count = p.N * p.C * p.h * p.w, words = 2 * p.N, mixed = p.N * p.classes;
  double *want = calloc((size_t)(2 * count + 2 * words + 2 * mixed), sizeof *want);
  mica_status status = want ? make_operands(group->check, &p, &o) : mica__fail_nomem("a reference");
  if (status == MICA_OK) {
    double *want_words = want + 2 * count, *want_mixed = want_words + 2 * words;
    mica__augment augment = p.augment;
    reference(&p, want, want + count, want_words, want_mixed);
    for (int64_t i = 0; i < mixed; i++) want_mixed[mixed + i] = mica__tolerance_ulps(MICA_F32, MICA_F32, 2, 1);
    if (p.ordered) augment.order = o.order.tensor;
    const mica__words small = {o.records.tensor, o.table.tensor, o.words.tensor, o.mixed.tensor};
    status = p.alone ? mica__words_launch(group->check->queue, variant, &augment, &small, p.N)
                     : mica__augment_launch(group->check->queue, variant, &augment, o.x.tensor, o.affine.tensor,
                                            o.y.tensor, &small);
    if (status == MICA_OK && !p.alone) status = mica__check_compare(group, &o.y, want, want + count);
    if (status == MICA_OK) status = mica__check_compare(group, &o.words, want_words, want_words + words);
    if (status == MICA_OK && p.classes) status = mica__check_compare(group, &o.mixed, want_mixed, want_mixed + mixed);
  }
  free_operands(&o);
  free(want);
  return status;
}

static mica_status check_kernel(mica__check *check, const mica__kernel_desc *desc, const problem *cases, size_t count) {
  for (int v = 0; v < desc->variant_count; v++) {
    const mica__variant *variant = &desc->variants[v];
    mica__check_group group = mica__check_begin(check, desc->name, variant->name, "samples");
    for (size_t i = 0; i < count; i++)
      if (!mica__check_note(&group, run_case(&group, variant, cases[i]), "case %zu", i)) break;
    MICA_TRY(mica__check_end(&group));
  }
  return MICA_OK;
}

static mica_status check_augment(mica__check *check) {
  const mica__augment plain = {.blend = 1, .seed = 0x123456789abcdef0u, .epoch = 3, .first = 4, .position = 70000};
  mica__augment shuffled = plain, moved = plain, rotated = plain, mixed = plain;
  shuffled.permutation = mica__permutation_of(11, 5, 2);
  moved.crop = 3, moved.flip = 1, moved.cutout = 4, moved.brightness = 0.25f, moved.contrast = 0.5f;
  rotated.angle = 0.5f, rotated.zoom = 0.25f;
  mixed.blend = 0.75f;
  mica__augment all = moved;
  mica__augment bent = rotated, cut = moved, patch = plain;
  bent.elastic = 3, bent.crop = 2;
  cut.cuts = patch.cuts = true, cut.blend = 0.75f;
  cut.rect[0] = 2, cut.rect[1] = 1, cut.rect[2] = 7, cut.rect[3] = 9;
  all.permutation = shuffled.permutation, all.angle = 0.25f, all.zoom = 0.125f, all.blend = 0.625f;
  mica__augment window = plain, part = all, larger = bent;
  window.high = 4, window.wide = 6;
  part.high = 9, part.wide = 7, part.blend = 1;
  larger.high = 12, larger.wide = 9;
  const problem cases[] = {
      {.augment = plain, .n = 11, .N = 5, .C = 1, .H = 7, .W = 9, .x_type = MICA_U8},
      {.augment = shuffled, .n = 11, .N = 7, .C = 3, .H = 33, .W = 32, .x_type = MICA_U8},
      {.augment = shuffled, .n = 11, .N = 2, .C = 1, .H = 1, .W = 37, .classes = 3, .y_type = MICA_F16},
      {.augment = moved, .n = 9, .N = 5, .C = 3, .H = 9, .W = 7, .x_type = MICA_U8},
      {.augment = rotated, .n = 9, .N = 5, .C = 2, .H = 8, .W = 9, .x_type = MICA_U8},
      {.augment = mixed, .n = 9, .N = 3, .C = 1, .H = 5, .W = 5, .classes = 4, .x_type = MICA_U8, .y_type = MICA_BF16},
      {.augment = bent, .n = 9, .N = 5, .C = 2, .H = 13, .W = 10, .x_type = MICA_U8},
      {.augment = cut, .n = 9, .N = 4, .C = 2, .H = 11, .W = 14, .classes = 3},
      {.augment = patch, .n = 9, .N = 3, .C = 1, .H = 5, .W = 6, .x_type = MICA_U8},
      {.augment = all, .n = 11, .N = 6, .C = 3, .H = 17, .W = 16, .classes = 5},
      {.augment = all, .n = 11, .N = 6, .C = 1, .H = 5, .W = 6, .classes = 5, .ordered = true},
      {.augment = window, .n = 11, .N = 5, .C = 3, .H = 9, .W = 13, .x_type = MICA_U8},
      {.augment = part, .n = 11, .N = 5, .C = 1, .H = 12, .W = 14},
      {.augment = larger, .n = 9, .N = 3, .C = 2, .H = 7, .W = 11, .x_type = MICA_U8, .y_type = MICA_F16},
  };
  problem words[sizeof cases / sizeof *cases];
  memcpy(words, cases, sizeof words);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) words[i].alone = true;
  MICA_TRY(check_kernel(check, &mica__augment_kernel, cases, sizeof cases / sizeof *cases));
  MICA_TRY(check_kernel(check, &mica__words_kernel, words, sizeof words / sizeof *words));
  return MICA_OK;
}

/* For the doctor only: no graph has an op for these kernels. */
static const mica__kernel_desc *const kernels[] = {&mica__augment_kernel, &mica__words_kernel, NULL};
const mica__op mica__op_augment = {.name = "augment", .kernels = kernels, .check = check_augment};
