/* A product of known result that tests a device's matrix unit (cl/matmul/mma/trial.cl), and the results of all such
 * trials in this process. */
#include "base/element.h"
#include "base/error.h"
#include "ops/select/mma.h"
#include "runtime/build_list.h"
#include "runtime/launch.h"
#include "runtime/tensor.h"
#include "runtime/tuning.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const mica__kernel_param params[] = {
    MICA__DTYPE("A_T", "type of a and b", MICA_F32, MICA_F16, MICA_BF16, MICA_I8),
    MICA__MMA_PARAMS(MICA__EMULATED),
};
/* Each variant computes one tile with one warp. */
static const mica__variant variants[] = {
    MICA__MMA_VARIANT("mfma", mica__gpu_has_mfma, MICA_F16, MICA__MMA_MFMA, 1, 1, 1, 64, 64, 2),
    MICA__MMA_VARIANT("wmma", mica__gpu_has_wmma, MICA_F16, MICA__MMA_WMMA, 1, 1, 1, 32, 32, 2),
    MICA__MMA_VARIANT("dpas8", mica__gpu_has_dpas8, MICA_F16, MICA__MMA_DPAS8, 1, 1, 1, 16, 16, 2),
    MICA__MMA_VARIANT("dpas16", mica__gpu_has_dpas16, MICA_F16, MICA__MMA_DPAS16, 1, 1, 1, 16, 32, 2),
    MICA__MMA_EMULATION("emulated_mfma", MICA_F16, MICA__MMA_MFMA, 0, 1, 1, 64, 64, 2),
    MICA__MMA_EMULATION("emulated_wmma", MICA_F16, MICA__MMA_WMMA, 0, 1, 1, 32, 32, 2),
    MICA__MMA_EMULATION("emulated_dpas8", MICA_F16, MICA__MMA_DPAS8, 0, 1, 1, 16, 16, 2),
    MICA__MMA_EMULATION("emulated_dpas16", MICA_F16, MICA__MMA_DPAS16, 0, 1, 1, 16, 32, 2),
};
const mica__kernel_desc mica__mma_trial_kernel = {MICA__KERNEL("mma_trial", "matmul/mma/trial.cl", params, variants)};

/* Two steps, so that both tiles in local memory are read. */
#define STEPS 2
#define STEP_BYTES 64

typedef struct product {
  int64_t rows, columns, k;
  mica_tensor *a, *b, *p;
  void *a_data, *b_data, *p_data;
  double *a_values, *b_values;
} product;

static void product_free(product *t) {
  mica_tensor_destroy(t->a);
  mica_tensor_destroy(t->b);
  mica_tensor_destroy(t->p);
  free(t->a_data);
  free(t->b_data);
  free(t->p_data);
  free(t->a_values);
  free(t->b_values);
}

/* Whole numbers from -3 to 3, in an order that makes the product wrong if a work-item reads the wrong elements. Sums of
 * their products are exact in any type. */
static double small(int64_t row, int64_t k, int64_t by) { return (double)((row * by + k * k * 5 + row * k) % 7 - 3); }

/* In f16, row 5 of a holds multiples of the smallest subnormal number: a unit that flushes them to zero fails the
 * trial. */
#define SUBNORMAL_ROW 5
#define SUBNORMAL 0x1p-24

static mica_status fill(mica_queue *queue, product *t, mica_dtype dtype, mica_dtype sums) {
  mica_engine *engine = mica__queue_engine(queue);
  const int64_t a_count = t->rows * t->k, b_count = t->columns * t->k, p_count = t->rows * t->columns;
  const size_t size = mica_dtype_size(dtype);
  t->a_data = malloc((size_t)a_count * size);
  t->b_data = malloc((size_t)b_count * size);
  t->p_data = malloc((size_t)p_count * mica_dtype_size(sums));
  t->a_values = malloc((size_t)a_count * sizeof(double));
  t->b_values = malloc((size_t)b_count * sizeof(double));
  if (!t->a_data || !t->b_data || !t->p_data || !t->a_values || !t->b_values)
    return mica__fail_nomem("a trial product");
  for (int64_t i = 0; i < a_count; i++) {
    const int64_t row = i / t->k;
    t->a_values[i] = small(row, i % t->k, 3) * (dtype == MICA_F16 && row == SUBNORMAL_ROW ? SUBNORMAL : 1);
    mica__element_set(dtype, t->a_data, i, t->a_values[i]);
  }
  for (int64_t i = 0; i < b_count; i++) {
    t->b_values[i] = small(i / t->k, i % t->k, 2);
    mica__element_set(dtype, t->b_data, i, t->b_values[i]);
  }
  for (int64_t i = 0; i < p_count; i++) mica__element_set(sums, t->p_data, i, 12345);
  MICA_TRY(mica_tensor_create(engine, dtype, MICA_SHAPE(t->rows, t->k), &t->a));
  MICA_TRY(mica_tensor_create(engine, dtype, MICA_SHAPE(t->columns, t->k), &t->b));
  MICA_TRY(mica_tensor_create(engine, sums, MICA_SHAPE(t->rows, t->columns), &t->p));
  MICA_TRY(mica_tensor_upload(queue, t->a, t->a_data, (size_t)a_count * size));
  MICA_TRY(mica_tensor_upload(queue, t->b, t->b_data, (size_t)b_count * size));
  return mica_tensor_upload(queue, t->p, t->p_data, (size_t)p_count * mica_dtype_size(sums));
}

/* Checks that each element is exactly right. If one is not, MICA_E_NUMERIC with a message that has its position. */
static mica_status compare(const product *t, mica_dtype sums) {
  for (int64_t row = 0; row < t->rows; row++)
    for (int64_t column = 0; column < t->columns; column++) {
      double want = 0;
      for (int64_t k = 0; k < t->k; k++) want += t->a_values[row * t->k + k] * t->b_values[column * t->k + k];
      const double got = mica__element_get(sums, t->p_data, row * t->columns + column);
      if (got != want)
        return mica__fail(MICA_E_NUMERIC, "element (%lld, %lld) of a trial product is %g, but must be %g",
                          (long long)row, (long long)column, got, want);
    }
  return MICA_OK;
}

static mica_status trial_kernel(mica_engine *engine, const mica__variant *variant, mica_dtype dtype, int32_t *values,
                                mica__kernel **kernel) {
  const mica__kernel_desc *desc = &mica__mma_trial_kernel;
  mica__kernel_values(desc, variant, values);
  mica__kernel_set(desc, values, "A_T", (int32_t)dtype);
  return mica__kernel_get(engine, desc, values, NULL, kernel);
}

static mica_status run(mica_queue *queue, const mica__variant *variant, mica_dtype dtype, product *t) {
  const mica_dtype sums = dtype == MICA_I8 ? MICA_I32 : MICA_F32;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  MICA_TRY(trial_kernel(mica__queue_engine(queue), variant, dtype, values, &kernel));
  const mica__mma_tile tile = mica__mma_tile_of(&mica__mma_trial_kernel, values);
  t->rows = tile.m, t->columns = tile.n, t->k = STEPS * STEP_BYTES / (int64_t)mica_dtype_size(dtype);
  MICA_TRY(fill(queue, t, dtype, sums));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_size(&launch, STEPS);
  mica__launch_tensor(&launch, t->a);
  mica__launch_tensor(&launch, t->b);
  mica__launch_tensor(&launch, t->p);
  mica__launch_range1(&launch, (int64_t)tile.threads, tile.threads);
  MICA_TRY(mica__queue_submit(queue, &launch));
  MICA_TRY(mica_tensor_download(queue, t->p, t->p_data, mica_tensor_bytes(t->p)));
  return compare(t, sums);
}

mica_status mica__mma_try(mica_engine *engine, const mica__variant *variant, mica_dtype dtype) {
  product t = {0};
  mica_queue *queue = NULL;
  mica_status status = mica_queue_create(engine, &queue);
  if (status == MICA_OK) status = run(queue, variant, dtype, &t);
  product_free(&t);
  mica_queue_destroy(queue);
  return status;
}

/* The results of trials in this process, by device name. Once the list is full, new results are not kept, and their
 * trials run again each time. */
static struct verdict {
  char device[MICA_DEVICE_TEXT];
  const mica__variant *variant;
  mica_dtype dtype;
  bool wrong;
} verdicts[32];
static size_t verdict_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Finds the result of a trial; NULL if the list has no such trial. The caller holds the lock. */
static const struct verdict *find(const mica_device_info *device, const mica__variant *variant, mica_dtype dtype) {
  for (size_t i = 0; i < verdict_count; i++)
    if (verdicts[i].variant == variant && verdicts[i].dtype == dtype && !strcmp(verdicts[i].device, device->name))
      return &verdicts[i];
  return NULL;
}

static const char WRONG[] = "a trial on the device's matrix units gave wrong results";
static const char NOT_BUILT[] = "a trial of the device's matrix units could not be compiled";

/* The name under which an engine avoids a trial that its driver cannot build. */
static const char *name_of(const mica__kernel_desc *desc, const mica__variant *variant, mica_dtype dtype,
                           char name[MICA__TUNING_TEXT]) {
  snprintf(name, MICA__TUNING_TEXT, "trial of %s.%s %s", desc->name, variant->name, mica_dtype_name(dtype));
  return name;
}

/* Returns the variant of the trial product that suits the device; NULL if that variant is for another unit than
 * `unit`, or none suits. NVIDIA's units need no trial and have no variant. */
static const mica__variant *product_of(const mica_device_info *device, int32_t unit) {
  const mica__variant *variant = mica__kernel_variant(&mica__mma_trial_kernel, device);
  return variant && mica__kernel_value(&mica__mma_trial_kernel, variant->values, "MMA_UNIT") == unit ? variant : NULL;
}

const char *mica__mma_disproved(const mica_device_info *device, mica_engine *engine, int32_t unit, mica_dtype dtype) {
  const mica__variant *variant = product_of(device, unit);
  return variant ? mica__mma_failed(device, engine, &mica__mma_trial_kernel, variant, dtype) : NULL;
}

const char *mica__mma_failed(const mica_device_info *device, mica_engine *engine, const mica__kernel_desc *desc,
                             const mica__variant *variant, mica_dtype dtype) {
  char name[MICA__TUNING_TEXT];
  pthread_mutex_lock(&lock);
  const struct verdict *verdict = find(device, variant, dtype);
  const bool wrong = verdict && verdict->wrong;
  pthread_mutex_unlock(&lock);
  if (wrong) return WRONG;
  return engine && mica__tuning_is_bad(engine, name_of(desc, variant, dtype, name)) ? NOT_BUILT : NULL;
}

static void keep(const mica_device_info *device, const mica__variant *variant, mica_dtype dtype, bool wrong) {
  pthread_mutex_lock(&lock);
  if (!find(device, variant, dtype) && verdict_count < sizeof verdicts / sizeof *verdicts) {
    struct verdict *made = &verdicts[verdict_count++];
    *made = (struct verdict){.variant = variant, .dtype = dtype, .wrong = wrong};
    memcpy(made->device, device->name, sizeof made->device);
  }
  pthread_mutex_unlock(&lock);
}

static bool is_right(const mica_device_info *device, const mica__variant *variant, mica_dtype dtype) {
  pthread_mutex_lock(&lock);
  const struct verdict *verdict = find(device, variant, dtype);
  const bool right = verdict && !verdict->wrong;
  pthread_mutex_unlock(&lock);
  return right;
}

/* No lock is held during a trial, because a kernel's trial may start the trial of the matrix unit that it uses. If
 * threads begin at the same time, each runs the trial. */
mica_status mica__mma_prove_by(mica_engine *engine, const mica__kernel_desc *desc, const mica__variant *variant,
                               mica_dtype dtype, mica__mma_trial *trial) {
  const mica_device_info *device = mica_engine_device(engine);
  char name[MICA__TUNING_TEXT];
  const char *reason = mica__mma_failed(device, engine, desc, variant, dtype);
  if (!reason) {
    if (is_right(device, variant, dtype)) return MICA_OK;
    const mica_status status = trial(engine, variant, dtype);
    if (status == MICA_OK || status == MICA_E_NUMERIC) keep(device, variant, dtype, status != MICA_OK);
    if (status == MICA_E_BUILD)
      MICA_TRY(mica__tuning_avoid(engine, name_of(desc, variant, dtype, name), mica_error_message()));
    if (status != MICA_E_NUMERIC && status != MICA_E_BUILD) return status;
    reason = mica_error_message();
  }
  return mica__fail(MICA_E_UNSUPPORTED, "variant \"%s\" is not used for %s: %s", variant->name, mica_dtype_name(dtype),
                    reason);
}

mica_status mica__mma_prove(mica_engine *engine, int32_t unit, mica_dtype dtype) {
  const mica__variant *variant = product_of(mica_engine_device(engine), unit);
  if (!variant) return MICA_OK;
  /* A dry run builds no kernels: it only notes the trial's kernel. The trial runs when launches are recorded. */
  if (mica__build_list_open()) {
    int32_t values[MICA__MAX_PARAMS];
    mica__kernel *noted = NULL;
    return trial_kernel(engine, variant, dtype, values, &noted);
  }
  return mica__mma_prove_by(engine, &mica__mma_trial_kernel, variant, dtype, mica__mma_try);
}
