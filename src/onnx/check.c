/* Compares a model's outputs with expected ones. */
#include "base/element.h"
#include "base/error.h"

#include <math.h>
#include <mica/onnx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FILES 256
#define PATH 4096

typedef struct loaded {
  mica_dtype dtype;
  mica_shape shape;
  void *data;
} loaded;

/* Reads the tensor in FOLDER/STEM_INDEX.pb, such as input_3.pb. If there is no such file, *there is false and the
 * result MICA_OK. */
static mica_status load(const char *folder, const char *stem, size_t index, loaded *out, bool *there) {
  char path[PATH];
  int n = snprintf(path, sizeof path, "%s/%s_%zu.pb", folder, stem, index);
  *there = false;
  if (n < 0 || (size_t)n >= sizeof path) return mica__fail(MICA_E_INVALID, "the path '%.80s...' is too long", folder);
  mica__attempt_begin();
  mica_status status = mica_onnx_tensor_read(path, &out->dtype, &out->shape, &out->data);
  *there = status == MICA_OK;
  if (status == MICA_E_NOT_FOUND) status = MICA_OK;
  if (status != MICA_OK) return mica__attempt_pass(status);
  mica__attempt_end();
  return MICA_OK;
}

/* The error allowed in results.
 *
 *   relative, absolute   |got - want| <= absolute + relative |want|
 *   depth                the number of operators in a chain whose rounding is also allowed for; 0: no allowance
 *   unit                 if true, `relative` is at least one unit in the last place */
typedef struct tolerance {
  double relative, absolute;
  size_t depth;
  bool unit;
} tolerance;

static bool agrees(double got, double want, double relative, double absolute) {
  if (isnan(want)) return isnan(got);
  if (isinf(want) || isinf(got)) return got == want;
  return fabs(got - want) <= absolute + relative * fabs(want);
}

/* Returns the absolute error to allow for rounding in a chain of `depth` operators. Rounding errors add up like the
 * steps of a random walk, so the result is 2 sqrt(depth) times the roundoff of the dtype, times the largest finite
 * element of `want`. */
static double walk_of(const loaded *want, int64_t count, size_t depth) {
  double most = 0;
  for (int64_t i = 0; i < count; i++) {
    double value = fabs(mica__element_get(want->dtype, want->data, i));
    if (value > most && isfinite(value)) most = value;
  }
  return 2 * mica__element_roundoff(want->dtype) * sqrt((double)depth) * most;
}

static mica_status compare_elements(const char *name, const loaded *want, const void *got, const tolerance *t) {
  int64_t count = 0, wrong = 0, first = 0;
  MICA_TRY(mica_shape_count(want->shape, &count));
  const double absolute = t->absolute + walk_of(want, count, t->depth), unit = 2 * mica__element_roundoff(want->dtype);
  const double relative = t->unit ? fmax(t->relative, unit) : t->relative;
  for (int64_t i = 0; i < count; i++) {
    double y = mica__element_get(want->dtype, got, i), w = mica__element_get(want->dtype, want->data, i);
    if (agrees(y, w, relative, absolute)) continue;
    if (!wrong++) first = i;
  }
  if (!wrong) return MICA_OK;
  return mica__fail(MICA_E_NUMERIC,
                    "output '%s': element %lld is %.9g, but should be %.9g; %lld of %lld elements are wrong", name,
                    (long long)first, mica__element_get(want->dtype, got, first),
                    mica__element_get(want->dtype, want->data, first), (long long)wrong, (long long)count);
}

static mica_status compare(const char *name, const loaded *want, const mica_tensor *got, mica_queue *queue,
                           const tolerance *t) {
  char is[MICA_SHAPE_TEXT], should[MICA_SHAPE_TEXT];
  if (mica_tensor_dtype(got) != want->dtype)
    return mica__fail(MICA_E_DTYPE, "output '%s' is %s, but should be %s", name,
                      mica_dtype_name(mica_tensor_dtype(got)), mica_dtype_name(want->dtype));
  if (!mica_shape_equal(mica_tensor_shape(got), want->shape))
    return mica__fail(MICA_E_SHAPE, "output '%s' has the shape %s, but should have %s", name,
                      mica_shape_format(mica_tensor_shape(got), is), mica_shape_format(want->shape, should));
  size_t bytes = mica_tensor_bytes(got);
  void *data = malloc(bytes + 1);
  if (!data) return mica__fail_nomem("a check");
  mica_status status = mica_tensor_download(queue, got, data, bytes);
  if (status == MICA_OK) status = compare_elements(name, want, data, t);
  free(data);
  return status;
}

static mica_status compare_outputs(mica_onnx_runner *runner, mica_queue *queue, const mica_onnx *model,
                                   const char *folder, const tolerance *t) {
  size_t compared = 0;
  for (size_t i = 0; i < mica_onnx_output_count(model); i++) {
    loaded want = {0};
    bool there = false;
    MICA_TRY(load(folder, "output", i, &want, &there));
    if (!there) continue;
    mica_status status = compare(mica_onnx_output_port(model, i).name, &want, mica_onnx_output(runner, i), queue, t);
    free(want.data);
    MICA_TRY(status);
    compared++;
  }
  return compared ? MICA_OK : mica__fail(MICA_E_NOT_FOUND, "%s holds no output_0.pb to compare with", folder);
}

mica_status mica_onnx_check(mica_onnx_runner *runner, mica_queue *queue, const char *folder, double relative,
                            double absolute) {
  if (!runner || !queue || !folder)
    return mica__fail(MICA_E_INVALID, "mica_onnx_check: runner, queue or folder is NULL");
  const mica_onnx *model = mica_onnx_runner_model(runner);
  size_t inputs = mica_onnx_input_count(model), count = 0;
  tolerance t = {relative, absolute, 0, false};
  if (relative == 0 && absolute == 0) {
    size_t depth = mica_onnx_describe(model).depth;
    t = (tolerance){1e-3, 1e-7, depth > 1 ? depth : 0, true}; /* a single operator is not a chain */
  }
  if (inputs > MOST_FILES)
    return mica__fail(MICA_E_UNSUPPORTED, "the model has %zu inputs, but a check can have at most %d", inputs,
                      MOST_FILES);
  mica_onnx_feed feeds[MOST_FILES];
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < inputs; i++) {
    loaded input = {0};
    bool there = false;
    status = load(folder, "input", i, &input, &there);
    if (status != MICA_OK || !there) continue;
    feeds[count++] = (mica_onnx_feed){
        .name = mica_onnx_input(model, i).name, .dtype = input.dtype, .shape = input.shape, .data = input.data};
  }
  if (status == MICA_OK) status = mica_onnx_run(runner, queue, feeds, count);
  if (status == MICA_OK) status = compare_outputs(runner, queue, model, folder, &t);
  for (size_t i = 0; i < count; i++) free((void *)feeds[i].data);
  return status;
}
