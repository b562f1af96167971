#include "ops/batch/augment.h"

#include "ir/op.h"
#include "runtime/launch.h"

#include <string.h>

#define GPU_GROUP 64

/* Parameters that several kernels share. */
#define ORDERED_PARAM MICA__CASE("ORDERED", "1: by an order in memory, 0 by a permutation", 0, 1)
#define AUGMENT_PARAM                                                                                                  \
  MICA__CASE("AUGMENT", "0 none; 1 moved, mirrored, brightness; 2 also rotated and scaled; 3 also bent", 0, 1, 2, 3)
#define SPAN_PARAM MICA__INT("SPAN", "elements a work-item makes", 4, 16, 64, 256, 1024, 4096)

static const mica__kernel_param params[] = {
    MICA__DTYPE("X_T", "type of samples", MICA_U8, MICA_F32),
    MICA__DTYPE("Y_T", "type of the batch", MICA_F32, MICA_F16, MICA_BF16),
    AUGMENT_PARAM,
    MICA__CASE("MIX", "1: blended with the opposite sample; 2: a rectangle of it", 0, 1, 2),
    MICA__CASE("TARGETS", "0 labels, 1 probabilities", 0, 1),
    ORDERED_PARAM,
    MICA__INT("SPAN", "elements of a plane a work-item makes", 4, 16, 64, 256, 1024, 4096),
    MICA__INT("VW", "elements taken at once", 1, 2, 4, 8, 16),
};
static const mica__variant variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA_U8, MICA_F32, 0, 0, 0, 0, 1024, 16),
    MICA__VARIANT("gpu", MICA__ON_GPU, MICA_U8, MICA_F32, 0, 0, 0, 0, 4, 4),
};
const mica__kernel_desc mica__augment_kernel = {MICA__KERNEL("augment", "batch/augment.cl", params, variants)};

static const mica__kernel_param words_params[] = {
    ORDERED_PARAM,
    MICA__CASE("TARGETS", "0 labels, 1 probabilities", 0, 1),
};
static const mica__variant words_variants[] = {MICA__VARIANT("any", MICA__ON_ANY, 0, 0)};
const mica__kernel_desc mica__words_kernel = {MICA__KERNEL("words", "batch/words.cl", words_params, words_variants)};

static const mica__kernel_param mask_params[] = {
    AUGMENT_PARAM, ORDERED_PARAM, MICA__CASE("CUT", "1: a rectangle is that of the opposite sample", 0, 1),
    MICA__CASE("NUMBERS", "1: floats, 0: classes in bytes", 0, 1), SPAN_PARAM};
static const mica__variant mask_variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, 0, 0, 0, 0, 1024),
    MICA__VARIANT("gpu", MICA__ON_GPU, 0, 0, 0, 0, 4),
};
const mica__kernel_desc mica__mask_kernel = {MICA__KERNEL("mask", "batch/mask.cl", mask_params, mask_variants)};

static const mica__kernel_param ragged_params[] = {
    MICA__DTYPE("X_T", "type of samples", MICA_F32, MICA_U8, MICA_I16, MICA_I32, MICA_I64),
    MICA__DTYPE("Y_T", "type of the batch", MICA_F32, MICA_F16, MICA_BF16, MICA_U8, MICA_I32, MICA_I64),
    MICA__CASE("FLOATING", "1: the batch is floating", 0, 1),
    AUGMENT_PARAM,
    ORDERED_PARAM,
    MICA__CASE("PADDED", "1: samples lie as far apart as the batch's", 0, 1),
    SPAN_PARAM,
};
static const mica__variant ragged_variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, MICA_F32, 1, 0, 0, 0, 1024),
    MICA__VARIANT("gpu", MICA__ON_GPU, MICA_F32, MICA_F32, 1, 0, 0, 0, 4),
};
const mica__kernel_desc mica__ragged_kernel = {
    MICA__KERNEL("ragged", "batch/ragged.cl", ragged_params, ragged_variants)};

bool mica__augment_moves(const mica__augment *a) {
  return a->crop || a->flip || a->angle > 0 || a->zoom > 0 || a->elastic > 0 || a->high || a->wide;
}

bool mica__augment_is_active(const mica__augment *a) {
  return mica__augment_moves(a) || a->cutout || a->brightness > 0 || a->contrast > 0;
}

static int32_t augment_case(const mica__augment *a, bool active) {
  if (a->elastic > 0) return 3;
  return a->angle > 0 || a->zoom > 0 ? 2 : active;
}

/* Adds the keys that every kernel takes as one int8: six of the permutation, two of the seed. */
static void add_keys(mica__launch *launch, const mica__augment *a) {
  const uint32_t *keys = a->permutation.keys;
  mica__launch_int8(launch, (int32_t[8]){(int32_t)keys[0], (int32_t)keys[1], (int32_t)keys[2], (int32_t)keys[3],
                                         (int32_t)keys[4], (int32_t)keys[5], (int32_t)(uint32_t)a->seed,
                                         (int32_t)(uint32_t)(a->seed >> 32)});
}

static void add_permutation(mica__launch *launch, const mica__augment *a) {
  mica__launch_int(launch, (int32_t)a->permutation.n);
  mica__launch_int(launch, (int32_t)a->permutation.bits);
  mica__launch_int(launch, (int32_t)a->first);
}

static void add_position(mica__launch *launch, const mica__augment *a) {
  mica__launch_int(launch, (int32_t)a->position);
  mica__launch_int(launch, (int32_t)a->epoch);
}

/* Adds x0 and x1 of the rectangle as one int, then y0 and y1: two 16-bit numbers per int. */
static void add_rectangle(mica__launch *launch, const mica__augment *a) {
  for (int k = 0; k < 2; k++)
    mica__launch_int(launch, (int32_t)((uint32_t)a->rect[k] | (uint32_t)a->rect[k + 2] << 16));
}

/* Sets a range of work-items, each for `span` elements of one of the rows. On a CPU a work-group is one work-item. */
static void add_range(mica__launch *launch, const mica__variant *variant, int64_t rows, int64_t elements,
                      int64_t span) {
  mica__launch_range1(launch, rows * ((elements + span - 1) / span), variant->classes & MICA__ON_CPU ? 1 : GPU_GROUP);
}

static mica_status choose(mica_queue *queue, const mica__kernel_desc *desc, const mica__variant **variant,
                          int32_t *values) {
  if (!*variant) MICA_TRY(mica__kernel_choose(mica__queue_engine(queue), desc, variant));
  mica__kernel_values(desc, *variant, values);
  return MICA_OK;
}

static void set_mixing(const mica__augment *a, int32_t *values, int mix) {
  mica__kernel_set(&mica__augment_kernel, values, "AUGMENT", augment_case(a, mix == 2 || mica__augment_is_active(a)));
  mica__kernel_set(&mica__augment_kernel, values, "MIX", mix);
}

/* Builds the kernel for the way of mixing that this batch does not use (a rectangle or blending), so that no later
 * step waits for the build. */
static mica_status build_other(mica_queue *queue, const mica__augment *a, const int32_t *values) {
  int32_t other[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  memcpy(other, values, sizeof other);
  set_mixing(a, other, a->cuts ? 1 : 2);
  return mica__kernel_get(mica__queue_engine(queue), &mica__augment_kernel, other, NULL, &kernel);
}

mica_status mica__augment_launch(mica_queue *queue, const mica__variant *variant, const mica__augment *a,
                                 const mica_tensor *x, const mica_tensor *affine, mica_tensor *y,
                                 const mica__words *words) {
  static const mica__words none;
  const mica__kernel_desc *desc = &mica__augment_kernel;
  const mica_shape shape = mica_tensor_shape(y), channels = mica_tensor_shape(affine);
  const bool picture = shape.rank == 4 && channels.dim[0] == shape.dim[1];
  const int64_t N = shape.dim[0], C = picture ? shape.dim[1] : 1, H = picture ? shape.dim[2] : 1,
                W = picture ? shape.dim[3] : mica_tensor_count(y) / N;
  const mica_shape whole = mica_tensor_shape(x);
  mica__kernel *kernel = NULL;
  int32_t values[MICA__MAX_PARAMS];
  if (!words) words = &none;
  MICA_TRY(choose(queue, desc, &variant, values));
  mica__kernel_set(desc, values, "X_T", (int32_t)mica_tensor_dtype(x));
  mica__kernel_set(desc, values, "Y_T", (int32_t)mica_tensor_dtype(y));
  set_mixing(a, values, a->cuts ? 2 : a->blend < 1);
  mica__kernel_set(desc, values, "TARGETS", words->mixed != NULL);
  mica__kernel_set(desc, values, "ORDERED", a->order != NULL);
  if (a->either) MICA_TRY(build_other(queue, a, values));
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, &kernel));
  const mica_shape mixed = words->mixed ? mica_tensor_shape(words->mixed) : MICA_SCALAR;
  const float one = mica_tensor_dtype(x) == MICA_U8 ? 255.0f : 1.0f;
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, x);
  mica__launch_optional(&launch, words->records);
  mica__launch_optional(&launch, words->table);
  mica__launch_optional(&launch, a->order);
  mica__launch_tensor(&launch, affine);
  mica__launch_tensor(&launch, y);
  mica__launch_optional(&launch, words->out);
  mica__launch_optional(&launch, words->mixed);
  mica__launch_int8(&launch, (int32_t[8]){(int32_t)N, (int32_t)C, (int32_t)(picture ? whole.dim[2] : H),
                                          (int32_t)(picture ? whole.dim[3] : W), a->crop, a->flip, a->cutout,
                                          words->mixed ? (int32_t)mixed.dim[1] : 0});
  add_keys(&launch, a);
  mica__launch_float8(&launch, (float[8]){a->angle, a->zoom, a->brightness * one, a->contrast, a->blend, a->elastic});
  add_permutation(&launch, a);
  add_position(&launch, a);
  mica__launch_int(&launch, words->records ? (int32_t)mica_tensor_shape(words->records).dim[1] : 0);
  add_rectangle(&launch, a);
  mica__launch_int(&launch, (int32_t)H);
  mica__launch_int(&launch, (int32_t)W);
  add_range(&launch, variant, N * C, H * W, values[mica__kernel_param_index(desc, "SPAN")]);
  mica__launch_cost(&launch, 2.0 * (double)mica_tensor_count(y),
                    (double)mica_tensor_count(y) * (double)mica_dtype_size(mica_tensor_dtype(x)) +
                        (double)mica_tensor_bytes(y));
  return mica__queue_submit(queue, &launch);
}

mica_status mica__words_launch(mica_queue *queue, const mica__variant *variant, const mica__augment *a,
                               const mica__words *words, int64_t N) {
  const mica__kernel_desc *desc = &mica__words_kernel;
  const int32_t width = (int32_t)mica_tensor_shape(words->records).dim[1];
  mica__kernel *kernel = NULL;
  int32_t values[MICA__MAX_PARAMS];
  MICA_TRY(choose(queue, desc, &variant, values));
  mica__kernel_set(desc, values, "ORDERED", a->order != NULL);
  mica__kernel_set(desc, values, "TARGETS", words->mixed != NULL);
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, words->records);
  mica__launch_tensor(&launch, words->table);
  mica__launch_optional(&launch, a->order);
  mica__launch_tensor(&launch, words->out);
  mica__launch_optional(&launch, words->mixed);
  add_keys(&launch, a);
  mica__launch_int(&launch, (int32_t)N);
  mica__launch_int(&launch, width);
  mica__launch_int(&launch, words->mixed ? (int32_t)mica_tensor_shape(words->mixed).dim[1] : 0);
  add_permutation(&launch, a);
  mica__launch_float(&launch, a->blend);
  mica__launch_range1(&launch, N * width, MICA__RANGE_GROUP);
  mica__launch_cost(&launch, 0, 8.0 * (double)(N * width));
  return mica__queue_submit(queue, &launch);
}

mica_status mica__mask_launch(mica_queue *queue, const mica__variant *variant, const mica__augment *a,
                              const mica_tensor *x, int32_t classes, mica_tensor *y) {
  const mica__kernel_desc *desc = &mica__mask_kernel;
  const mica_shape shape = mica_tensor_shape(y), whole = mica_tensor_shape(x);
  mica__kernel *kernel = NULL;
  int32_t values[MICA__MAX_PARAMS];
  MICA_TRY(choose(queue, desc, &variant, values));
  mica__kernel_set(desc, values, "AUGMENT", augment_case(a, mica__augment_moves(a)));
  mica__kernel_set(desc, values, "ORDERED", a->order != NULL);
  mica__kernel_set(desc, values, "CUT", a->cuts);
  mica__kernel_set(desc, values, "NUMBERS", mica_tensor_dtype(x) == MICA_F32);
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, x);
  mica__launch_optional(&launch, a->order);
  mica__launch_tensor(&launch, y);
  mica__launch_int8(&launch, (int32_t[8]){(int32_t)shape.dim[0], (int32_t)whole.dim[1], (int32_t)whole.dim[2], a->crop,
                                          a->flip, classes > 0 && classes < 255 ? classes : 255, (int32_t)shape.dim[1],
                                          (int32_t)shape.dim[2]});
  add_keys(&launch, a);
  mica__launch_float8(&launch, (float[8]){a->angle, a->zoom, 0, 0, 0, a->elastic});
  add_permutation(&launch, a);
  add_position(&launch, a);
  add_rectangle(&launch, a);
  add_range(&launch, variant, shape.dim[0], shape.dim[1] * shape.dim[2],
            values[mica__kernel_param_index(desc, "SPAN")]);
  mica__launch_cost(&launch, 0, 5.0 * (double)mica_tensor_count(y));
  return mica__queue_submit(queue, &launch);
}

mica_status mica__ragged_launch(mica_queue *queue, const mica__variant *variant, const mica__augment *a,
                                const mica__ragged *ragged, mica_tensor *y) {
  const mica__kernel_desc *desc = &mica__ragged_kernel;
  const mica_shape shape = mica_tensor_shape(y);
  const mica_dtype dtype = mica_tensor_dtype(y);
  const int64_t N = shape.dim[0], T = shape.dim[1], E = mica_tensor_count(y) / (N * T);
  const bool moves = ragged->height > 0 && mica__augment_moves(a);
  mica__kernel *kernel = NULL;
  int32_t values[MICA__MAX_PARAMS];
  MICA_TRY(choose(queue, desc, &variant, values));
  mica__kernel_set(desc, values, "X_T", (int32_t)mica_tensor_dtype(ragged->x));
  mica__kernel_set(desc, values, "Y_T", (int32_t)dtype);
  mica__kernel_set(desc, values, "FLOATING", mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_FLOAT);
  mica__kernel_set(desc, values, "AUGMENT", augment_case(moves ? a : &(mica__augment){0}, moves));
  mica__kernel_set(desc, values, "ORDERED", a->order != NULL);
  mica__kernel_set(desc, values, "PADDED", ragged->starts == NULL);
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, ragged->x);
  mica__launch_optional(&launch, ragged->starts);
  mica__launch_tensor(&launch, ragged->records);
  mica__launch_optional(&launch, a->order);
  mica__launch_tensor(&launch, y);
  mica__launch_int8(&launch,
                    (int32_t[8]){(int32_t)N, (int32_t)T, (int32_t)E, ragged->word,
                                 (int32_t)mica_tensor_shape(ragged->records).dim[1], a->crop, a->flip, ragged->pad});
  add_keys(&launch, a);
  mica__launch_float8(&launch,
                      (float[8]){a->angle, a->zoom, (float)ragged->height, (float)ragged->width, ragged->scale});
  add_permutation(&launch, a);
  add_position(&launch, a);
  add_range(&launch, variant, N, T * E, values[mica__kernel_param_index(desc, "SPAN")]);
  mica__launch_cost(&launch, 0, 2.0 * (double)mica_tensor_bytes(y));
  return mica__queue_submit(queue, &launch);
}
