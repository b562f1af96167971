/* Naive references of masks and ragged columns, in double, and the comparison with them. */
#include "ir/op.h"
#include "ops/batch/geometry.h"
#include "ops/common/tolerance.h"
#include "ops/select/check.h"
#include "runtime/launch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rounding may decide either way, and both results are accepted, in two cases: the source position of a mask's pixel is
 * this close (in pixels) to the border between two pixels, or the share of a box that stays visible is this close to
 * MICA__BOX_SHARE. */
#define UNDECIDED 1e-3

/* A case. Masks have H, W and classes; ragged columns T and E; ragged columns of boxes also H and W. */
typedef struct problem {
  mica__augment augment;
  int64_t n, N, H, W, T, E, pad;
  int64_t h, w; /* the size of the batch's masks */
  int32_t classes;
  mica_dtype x_type, y_type;
  bool ordered, padded, boxes, numbers;
  const double *x, *starts, *records, *order;
} problem;

/* The operands on the device; masks use x, order and y. */
typedef struct operands {
  mica__check_tensor x, starts, records, order, y;
} operands;

static void free_operands(operands *o) {
  mica__check_tensor *all[] = {&o->x, &o->starts, &o->records, &o->order, &o->y};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) mica__check_free(all[i]);
}

static int64_t sample_at(const problem *p, int64_t s) {
  const uint32_t position = p->augment.first + (uint32_t)s;
  return p->ordered ? (int64_t)p->order[position] : mica__permute(&p->augment.permutation, position);
}

static mica_status make_order(mica__check *check, problem *p, operands *o) {
  double *order = malloc((size_t)p->n * sizeof *order);
  if (!order) return mica__fail_nomem("a reference");
  for (int64_t i = 0; i < p->n; i++) order[i] = (double)((i * 3 + 2) % p->n);
  mica_status status = mica__check_input_values(check, MICA_I32, MICA_SHAPE(p->n), order, &o->order);
  free(order);
  p->order = o->order.values;
  return status;
}

/* --- masks --- */

static double class_of(const problem *p, double value) {
  if (p->numbers) return value;
  return value < (p->classes ? (double)p->classes : 255) ? value : -1;
}

static void mask_reference(const problem *p, double *want, double *bound) {
  const mica__augment *a = &p->augment;
  const bool moves = mica__augment_moves(a);
  for (int64_t s = 0, at = 0; s < p->N; s++) {
    for (int64_t r = 0; r < p->h; r++)
      for (int64_t q = 0; q < p->w; q++, at++) {
        const bool cut = a->cuts && q >= a->rect[0] && r >= a->rect[1] && q < a->rect[2] && r < a->rect[3];
        const int64_t from_sample = cut ? p->N - 1 - s : s;
        const double *x = p->x + sample_at(p, from_sample) * p->H * p->W;
        const mica__draw d = mica__draw_of(a, a->position + (uint32_t)from_sample, p->H, p->W, 1);
        double from[2] = {(double)q, (double)r};
        if (moves) mica__draw_source(&d, q, r, p->h, p->w, from);
        const double y = floor(from[1] + 0.5), z = floor(from[0] + 0.5);
        const bool inside = y >= 0 && y < (double)p->H && z >= 0 && z < (double)p->W;
        want[at] = inside ? class_of(p, x[(int64_t)y * p->W + (int64_t)z]) : p->numbers ? 0 : -1;
        for (int k = 0; k < 2; k++) {
          const double rest = from[k] + 0.5 - floor(from[k] + 0.5);
          if ((a->angle > 0 || a->elastic > 0) && (rest < UNDECIDED || rest > 1 - UNDECIDED)) bound[at] = 2000;
        }
      }
  }
}

static mica_status run_mask(mica__check_group *group, const mica__variant *variant, problem p) {
  mica__check *check = group->check;
  operands o = {0};
  p.h = p.augment.high ? p.augment.high : p.H;
  p.w = p.augment.wide ? p.augment.wide : p.W;
  const int64_t inputs = p.n * p.H * p.W, count = p.N * p.h * p.w;
  double *want = calloc((size_t)(2 * count + inputs), sizeof *want), *values = want + 2 * count;
  mica_status status = want ? make_order(check, &p, &o) : mica__fail_nomem("a reference");
  for (int64_t i = 0; status == MICA_OK && i < inputs; i++) values[i] = i % 7 == 3 ? 255 : (double)(i * 5 % 11);
  for (int64_t i = 0; p.numbers && i < inputs; i++) values[i] = values[i] / 4 + 1000;
  const mica_dtype from = p.numbers ? MICA_F32 : MICA_U8, to = p.numbers ? MICA_F32 : MICA_I32;
  if (status == MICA_OK) status = mica__check_input_values(check, from, MICA_SHAPE(p.n, p.H, p.W), values, &o.x);
  if (status == MICA_OK) status = mica__check_output(check, to, MICA_SHAPE(p.N, p.h, p.w), &o.y);
  if (status == MICA_OK) {
    p.x = o.x.values;
    mask_reference(&p, want, want + count);
    mica__augment augment = p.augment;
    if (p.ordered) augment.order = o.order.tensor;
    status = mica__mask_launch(check->queue, variant, &augment, o.x.tensor, p.classes, o.y.tensor);
    if (status == MICA_OK) status = mica__check_compare(group, &o.y, want, want + count);
  }
  free_operands(&o);
  free(want);
  return status;
}

/* --- ragged columns --- */

/* Returns the length of sample i: some are empty and, unless samples are padded, some are longer than T. */
static int64_t length_of(const problem *p, int64_t i) { return p->padded ? i * 2 % (p->T + 1) : i * 2 % (p->T + 3); }

static void box_reference(const problem *p, int64_t s, const double *box, double *want, double *bound) {
  double share = 0;
  const mica__draw d = mica__draw_of(&p->augment, p->augment.position + (uint32_t)s, p->H, p->W, 1);
  mica__draw_box(&d, box, p->H, p->W, want, &share);
  for (int k = 0; k < 4; k++) {
    bound[k] =
        mica__tolerance_sum(MICA_F32, MICA_F32, 8, 4 * d.zoom * (double)(p->H + p->W + 2 * p->augment.crop), want[k]);
    if (fabs(share - MICA__BOX_SHARE) < UNDECIDED) bound[k] = (double)(p->H + p->W);
  }
}

static void ragged_reference(const problem *p, double *want, double *bound) {
  const bool floating = mica_dtype_kind_of(p->y_type) == MICA_DTYPE_KIND_FLOAT;
  const double scale = p->x_type == MICA_I16 ? 1.0 / 32768 : 1;
  for (int64_t s = 0, at = 0; s < p->N; s++) {
    const int64_t i = sample_at(p, s), length = (int64_t)p->records[i * 3 + 1];
    const double *x = p->x + (p->padded ? i * p->T : (int64_t)p->starts[i]) * p->E;
    for (int64_t t = 0; t < p->T; t++)
      for (int64_t e = 0; e < p->E; e++, at++) {
        want[at] = t < length ? scale * x[t * p->E + e] : floating ? 0 : (double)p->pad;
        bound[at] = floating ? mica__tolerance_ulps(MICA_F32, p->y_type, 1, fabs(want[at])) : 0;
      }
    for (int64_t t = 0; p->boxes && t < p->T && t < length; t++) {
      const int64_t first = at - (p->T - t) * 4;
      box_reference(p, s, x + t * 4, want + first, bound + first);
    }
  }
}

/* Makes the rows of all samples, their starts and records (3 words, the length in the middle). */
static mica_status make_ragged(mica__check *check, problem *p, operands *o) {
  int64_t rows = 0, most = p->n * (p->T + 3);
  double *values = calloc((size_t)(most * p->E + 4 * p->n), sizeof *values);
  if (!values) return mica__fail_nomem("a reference");
  double *starts = values + most * p->E, *records = starts + p->n;
  for (int64_t i = 0; i < p->n; i++) {
    starts[i] = (double)rows;
    records[3 * i + 1] = (double)length_of(p, i);
    rows += p->padded ? p->T : length_of(p, i);
  }
  for (int64_t i = 0; i < rows * p->E; i++) values[i] = floor(100 * (1 + mica__check_random(check)));
  for (int64_t i = 0; p->boxes && i < rows * 4; i += 4) {
    values[i] = (double)(i % p->W) * 0.75;
    values[i + 1] = (double)(i % p->H) * 0.75;
    values[i + 2] = values[i] + 1 + (double)(i % 5) / 2;
    values[i + 3] = values[i + 1] + 1.5;
  }
  const mica_shape x = p->padded ? MICA_SHAPE(p->n, p->T, p->E) : MICA_SHAPE(rows, p->E);
  mica_status status = mica__check_input_values(check, p->x_type, x, values, &o->x);
  if (status == MICA_OK) status = mica__check_input_values(check, MICA_I64, MICA_SHAPE(p->n), starts, &o->starts);
  if (status == MICA_OK) status = mica__check_input_values(check, MICA_I32, MICA_SHAPE(p->n, 3), records, &o->records);
  if (status == MICA_OK) status = mica__check_output(check, p->y_type, MICA_SHAPE(p->N, p->T, p->E), &o->y);
  free(values);
  p->x = o->x.values, p->starts = o->starts.values, p->records = o->records.values;
  return status;
}

static mica_status run_ragged(mica__check_group *group, const mica__variant *variant, problem p) {
  operands o = {0};
  const int64_t count = p.N * p.T * p.E;
  double *want = calloc((size_t)(2 * count), sizeof *want);
  mica_status status = want ? make_order(group->check, &p, &o) : mica__fail_nomem("a reference");
  if (status == MICA_OK) status = make_ragged(group->check, &p, &o);
  if (status == MICA_OK) {
    ragged_reference(&p, want, want + count);
    mica__augment augment = p.augment;
    if (p.ordered) augment.order = o.order.tensor;
    const mica__ragged ragged = {.x = o.x.tensor,
                                 .starts = p.padded ? NULL : o.starts.tensor,
                                 .records = o.records.tensor,
                                 .word = 1,
                                 .pad = (int32_t)p.pad,
                                 .scale = p.x_type == MICA_I16 ? 1.0f / 32768 : 1,
                                 .height = p.boxes ? (int32_t)p.H : 0,
                                 .width = p.boxes ? (int32_t)p.W : 0};
    status = mica__ragged_launch(group->check->queue, variant, &augment, &ragged, o.y.tensor);
    if (status == MICA_OK) status = mica__check_compare(group, &o.y, want, want + count);
  }
  free_operands(&o);
  free(want);
  return status;
}

/* --- the checks --- */

static mica_status check_kernel(mica__check *check, const mica__kernel_desc *desc, const problem *cases, size_t count,
                                mica_status (*run)(mica__check_group *group, const mica__variant *variant, problem p)) {
  for (int v = 0; v < desc->variant_count; v++) {
    const mica__variant *variant = &desc->variants[v];
    mica__check_group group = mica__check_begin(check, desc->name, variant->name, "samples");
    for (size_t i = 0; i < count; i++)
      if (!mica__check_note(&group, run(&group, variant, cases[i]), "case %zu", i)) break;
    MICA_TRY(mica__check_end(&group));
  }
  return MICA_OK;
}

static mica_status check_columns(mica__check *check) {
  const mica__augment plain = {.blend = 1, .seed = 0x123456789abcdef0u, .epoch = 3, .first = 4, .position = 70000};
  mica__augment shuffled = plain, moved = plain, rotated = plain;
  shuffled.permutation = mica__permutation_of(11, 5, 2);
  moved.crop = 3, moved.flip = 1, moved.permutation = shuffled.permutation;
  mica__augment bent = plain, cut = moved;
  bent.elastic = 4;
  cut.cuts = true, cut.rect[0] = 1, cut.rect[1] = 2, cut.rect[2] = 6, cut.rect[3] = 5;
  rotated.angle = 0.5f, rotated.zoom = 0.25f, rotated.crop = 2, rotated.flip = 1;
  mica__augment window = moved, larger = rotated;
  window.high = 4, window.wide = 3;
  larger.high = 14, larger.wide = 10;
  const problem masks[] = {
      {.augment = plain, .n = 11, .N = 5, .H = 7, .W = 9},
      {.augment = shuffled, .n = 11, .N = 7, .H = 33, .W = 32, .classes = 4},
      {.augment = moved, .n = 11, .N = 7, .H = 5, .W = 1, .classes = 9},
      {.augment = rotated, .n = 11, .N = 3, .H = 17, .W = 12, .ordered = true},
      {.augment = bent, .n = 11, .N = 3, .H = 14, .W = 19},
      {.augment = cut, .n = 11, .N = 3, .H = 7, .W = 8, .classes = 8},
      {.augment = window, .n = 11, .N = 5, .H = 9, .W = 8, .classes = 8},
      {.augment = larger, .n = 11, .N = 3, .H = 8, .W = 13},
      {.augment = shuffled, .n = 11, .N = 7, .H = 33, .W = 32, .numbers = true},
      {.augment = larger, .n = 11, .N = 3, .H = 8, .W = 13, .numbers = true},
      {.augment = cut, .n = 11, .N = 3, .H = 7, .W = 8, .numbers = true},
  };
  const problem ragged[] = {
      {.augment = plain, .n = 11, .N = 5, .T = 4, .E = 1, .x_type = MICA_I32, .y_type = MICA_I32, .pad = -1},
      {.augment = shuffled, .n = 11, .N = 7, .T = 33, .E = 3},
      {.augment = shuffled, .n = 11, .N = 1, .T = 1, .E = 1, .x_type = MICA_U8, .y_type = MICA_U8, .pad = 7},
      {.augment = plain, .n = 9, .N = 5, .T = 7, .E = 5, .x_type = MICA_I16, .y_type = MICA_BF16, .padded = true},
      {.augment = plain, .n = 11, .N = 6, .T = 9, .E = 2, .x_type = MICA_I64, .y_type = MICA_I64, .ordered = true},
      {.augment = shuffled, .n = 11, .N = 7, .T = 5, .E = 4, .y_type = MICA_F16},
      {.augment = moved, .n = 11, .N = 7, .H = 11, .W = 8, .T = 5, .E = 4, .boxes = true},
      {.augment = rotated, .n = 9, .N = 5, .H = 9, .W = 14, .T = 6, .E = 4, .boxes = true, .padded = true},
  };
  MICA_TRY(check_kernel(check, &mica__mask_kernel, masks, sizeof masks / sizeof *masks, run_mask));
  MICA_TRY(check_kernel(check, &mica__ragged_kernel, ragged, sizeof ragged / sizeof *ragged, run_ragged));
  return MICA_OK;
}

/* For the doctor only: no graph has ops for these kernels. */
static const mica__kernel_desc *const kernels[] = {&mica__mask_kernel, &mica__ragged_kernel, NULL};
const mica__op mica__op_columns = {.name = "columns", .kernels = kernels, .check = check_columns};
