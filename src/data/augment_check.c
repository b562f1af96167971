/* The naive reference of augmentation, in double, and the comparison with it. */
#include "data/augment.h"
#include "ir/op.h"
#include "ops/common/tolerance.h"
#include "ops/select/check.h"
#include "runtime/launch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A case: its samples, and how the batch is made of them. */
typedef struct problem {
  mica__augment augment;
  int64_t n, N, C, H, W, classes; /* classes 0: labels are copied */
  mica_dtype x_type, y_type;
  const double *x, *labels, *affine;
} problem;

typedef struct draw {
  int64_t dx, dy, mirrored, cut_x, cut_y;
  double gain, lift, angle, zoom;
} draw;

static void draw_words(const mica__augment *a, uint32_t position, uint32_t use, uint32_t words[4]) {
  const uint32_t counter[4] = {position, 0, a->epoch, UINT32_C(0x61756700) + use};
  memcpy(words, counter, sizeof counter);
  mica__philox(words, (uint32_t)a->seed, (uint32_t)(a->seed >> 32));
}

static int64_t below(uint32_t word, int64_t n) { return (int64_t)((uint64_t)word * (uint64_t)n >> 32); }
static double signed_unit(uint32_t word) { return ldexp((double)(word >> 8), -23) - 1; }

static draw draw_of(const problem *p, uint32_t position) {
  const mica__augment *a = &p->augment;
  uint32_t w[3][4];
  for (uint32_t use = 0; use < 3; use++) draw_words(a, position, use, w[use]);
  return (draw){.dx = below(w[0][0], 2 * a->crop + 1) - a->crop,
                .dy = below(w[0][1], 2 * a->crop + 1) - a->crop,
                .mirrored = a->flip && w[0][2] >> 31,
                .gain = 1 + a->contrast * signed_unit(w[0][3]),
                .lift = a->brightness * (p->x_type == MICA_U8 ? 255.0 : 1.0) * signed_unit(w[1][0]),
                .cut_x = below(w[1][1], p->W),
                .cut_y = below(w[1][2], p->H),
                .angle = a->angle * signed_unit(w[1][3]),
                .zoom = 1 + a->zoom * signed_unit(w[2][0])};
}

static double pixel(const problem *p, int64_t sample, int64_t c, int64_t r, int64_t q) {
  if (r < 0 || r >= p->H || q < 0 || q >= p->W) return 0;
  return p->affine[2 * c] * p->x[((sample * p->C + c) * p->H + r) * p->W + q] + p->affine[2 * c + 1];
}

/* The element in double. *scale gets the magnitude of its terms; rounding errors of the coordinates count by the
 * largest difference between two pixels. */
static double element(const problem *p, int64_t sample, const draw *d, int64_t c, int64_t r, int64_t q, double *scale) {
  const int64_t cut = p->augment.cutout, y = r - d->cut_y + cut / 2, x = q - d->cut_x + cut / 2;
  const double largest = fabs(p->affine[2 * c]) * (p->x_type == MICA_U8 ? 255 : 2) + fabs(p->affine[2 * c + 1]);
  *scale = fabs(d->gain) * largest + fabs(d->lift * p->affine[2 * c]);
  if (y >= 0 && y < cut && x >= 0 && x < cut) return 0;
  const int64_t left = d->mirrored ? p->W - 1 - q : q;
  double value = 0;
  if (p->augment.angle > 0 || p->augment.zoom > 0) {
    const double u = (double)left - 0.5 * (double)(p->W - 1), v = (double)r - 0.5 * (double)(p->H - 1);
    const double at_x = (cos(d->angle) * u - sin(d->angle) * v) / d->zoom + 0.5 * (double)(p->W - 1) + (double)d->dx;
    const double at_y = (sin(d->angle) * u + cos(d->angle) * v) / d->zoom + 0.5 * (double)(p->H - 1) + (double)d->dy;
    const int64_t x0 = (int64_t)floor(at_x), y0 = (int64_t)floor(at_y);
    const double wx = at_x - (double)x0, wy = at_y - (double)y0;
    for (int k = 0; k < 4; k++)
      value += (k & 1 ? wx : 1 - wx) * (k & 2 ? wy : 1 - wy) * pixel(p, sample, c, y0 + (k >> 1), x0 + (k & 1));
    *scale += 4 * fabs(d->gain) * largest * (double)(p->H + p->W + 2 * p->augment.crop) / d->zoom;
  } else {
    value = pixel(p, sample, c, r + d->dy, left + d->dx);
  }
  return d->gain * value + d->lift * p->affine[2 * c];
}

static void reference(const problem *p, double *want, double *bound, double *targets) {
  const mica__augment *a = &p->augment;
  const double blend = a->blend;
  for (int64_t s = 0, at = 0; s < p->N; s++) {
    const int64_t other = p->N - 1 - s;
    const int64_t i = mica__permute(&a->permutation, a->first + (uint32_t)s);
    const int64_t k = mica__permute(&a->permutation, a->first + (uint32_t)other);
    const draw d = draw_of(p, a->position + (uint32_t)s), e = draw_of(p, a->position + (uint32_t)other);
    for (int64_t c = 0; c < p->C; c++)
      for (int64_t r = 0; r < p->H; r++)
        for (int64_t q = 0; q < p->W; q++, at++) {
          double scale = 0, scale_other = 0;
          want[at] = blend * element(p, i, &d, c, r, q, &scale);
          if (blend < 1) want[at] += (1 - blend) * element(p, k, &e, c, r, q, &scale_other);
          bound[at] = mica__tolerance_sum(MICA_F32, p->y_type, 4, scale + scale_other, want[at]);
        }
    if (p->classes == 0) targets[s] = p->labels[i];
    for (int64_t j = 0; j < p->classes; j++) {
      double mine = (double)j == p->labels[i] ? (double)a->blend : 0;
      double its = (double)j == p->labels[k < 0 ? i : k] ? 1 - (double)a->blend : 0;
      targets[s * p->classes + j] = mine + its;
    }
  }
}

/* The operands on the device. */
typedef struct operands {
  mica__check_tensor x, labels, affine, y, targets;
} operands;

static mica_status make_operands(mica__check *check, problem *p, operands *o) {
  const int64_t count = p->n * p->C * p->H * p->W;
  double *values = malloc((size_t)(count + p->n + 2 * p->C) * sizeof *values);
  if (!values) return mica__fail_nomem("a reference");
  double *labels = values + count, *affine = labels + p->n;
  for (int64_t i = 0; i < count; i++)
    values[i] = p->x_type == MICA_U8 ? floor(127.5 * (1 + mica__check_random(check))) : 2 * mica__check_random(check);
  for (int64_t i = 0; i < p->n; i++) labels[i] = (double)(i % (p->classes ? p->classes : 100));
  for (int64_t c = 0; c < p->C; c++) {
    affine[2 * c] = (p->x_type == MICA_U8 ? 1.0 / 64 : 1) + (double)c / 256;
    affine[2 * c + 1] = mica__check_random(check);
  }
  mica_shape x = MICA_SHAPE(p->n, p->C, p->H, p->W), y = MICA_SHAPE(p->N, p->C, p->H, p->W);
  mica_status status = mica__check_input_values(check, p->x_type, x, values, &o->x);
  if (status == MICA_OK) status = mica__check_input_values(check, MICA_I32, MICA_SHAPE(p->n), labels, &o->labels);
  if (status == MICA_OK) status = mica__check_input_values(check, MICA_F32, MICA_SHAPE(p->C, 2), affine, &o->affine);
  if (status == MICA_OK) status = mica__check_output(check, p->y_type, y, &o->y);
  if (status == MICA_OK)
    status = p->classes ? mica__check_output(check, MICA_F32, MICA_SHAPE(p->N, p->classes), &o->targets)
                        : mica__check_output(check, MICA_I32, MICA_SHAPE(p->N), &o->targets);
  free(values);
  p->x = o->x.values, p->labels = o->labels.values, p->affine = o->affine.values;
  return status;
}

static mica_status run_case(mica__check_group *group, const mica__variant *variant, problem p) {
  mica__check *check = group->check;
  operands o = {0};
  const int64_t count = p.N * p.C * p.H * p.W, target_count = p.N * (p.classes ? p.classes : 1);
  double *want = calloc((size_t)(2 * count + 2 * target_count), sizeof *want);
  mica_status status = want ? make_operands(check, &p, &o) : mica__fail_nomem("a reference");
  if (status == MICA_OK) {
    double *targets = want + 2 * count, *target_bound = targets + target_count;
    reference(&p, want, want + count, targets);
    for (int64_t i = 0; i < target_count; i++)
      target_bound[i] = p.classes ? mica__tolerance_ulps(MICA_F32, MICA_F32, 2, 1) : 0;
    status = mica__augment_launch_as(check->queue, variant, &p.augment, o.x.tensor, o.labels.tensor, o.affine.tensor,
                                     o.y.tensor, o.targets.tensor);
    if (status == MICA_OK) status = mica__check_compare(group, &o.y, want, want + count);
    if (status == MICA_OK) status = mica__check_compare(group, &o.targets, targets, target_bound);
  }
  mica__check_free(&o.x);
  mica__check_free(&o.labels);
  mica__check_free(&o.affine);
  mica__check_free(&o.y);
  mica__check_free(&o.targets);
  free(want);
  return status;
}

static mica_status check_augment(mica__check *check) {
  const mica__augment plain = {.blend = 1, .seed = 0x123456789abcdef0u, .epoch = 3, .first = 4, .position = 70000};
  mica__augment shuffled = plain, moved = plain, rotated = plain, mixed = plain;
  shuffled.permutation = mica__permutation_of(11, 5, 2);
  moved.crop = 3, moved.flip = 1, moved.cutout = 4, moved.brightness = 0.25f, moved.contrast = 0.5f;
  rotated.angle = 0.5f, rotated.zoom = 0.25f;
  mixed.blend = 0.75f;
  mica__augment all = moved;
  all.permutation = shuffled.permutation, all.angle = 0.25f, all.zoom = 0.125f, all.blend = 0.625f;
  const problem cases[] = {
      {plain, 11, 5, 1, 7, 9, 0, MICA_U8, MICA_F32, NULL, NULL, NULL},
      {shuffled, 11, 7, 3, 33, 32, 0, MICA_U8, MICA_F32, NULL, NULL, NULL},
      {shuffled, 11, 2, 1, 1, 37, 3, MICA_F32, MICA_F16, NULL, NULL, NULL},
      {moved, 9, 5, 3, 9, 7, 0, MICA_U8, MICA_F32, NULL, NULL, NULL},
      {rotated, 9, 5, 2, 8, 9, 0, MICA_U8, MICA_F32, NULL, NULL, NULL},
      {mixed, 9, 3, 1, 5, 5, 4, MICA_U8, MICA_BF16, NULL, NULL, NULL},
      {all, 11, 6, 3, 17, 16, 5, MICA_F32, MICA_F32, NULL, NULL, NULL},
  };
  const size_t count = sizeof cases / sizeof *cases;
  for (int v = 0; v < mica__augment_kernel.variant_count; v++) {
    const mica__variant *variant = &mica__augment_kernel.variants[v];
    mica__check_group group = mica__check_begin(check, mica__augment_kernel.name, variant->name, "samples");
    for (size_t i = 0; i < count; i++)
      if (!mica__check_note(&group, run_case(&group, variant, cases[i]), "case %zu", i)) break;
    MICA_TRY(mica__check_end(&group));
  }
  return MICA_OK;
}

/* What the doctor knows of the kernel; no graph has it as an op. */
static const mica__kernel_desc *const kernels[] = {&mica__augment_kernel, NULL};
const mica__op mica__op_augment = {.name = "augment", .kernels = kernels, .check = check_augment};
