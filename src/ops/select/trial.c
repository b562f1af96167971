/* A tuner's trial of a choice: makes the operands, fills the result with a value that no launch writes (poison), and
 * compares the result with the reference. */
#include "base/element.h"
#include "base/error.h"
#include "ops/common/tolerance.h"
#include "ops/select/tunable.h"

#include <inttypes.h>
#include <math.h>
#include <mica/ops.h>
#include <stdlib.h>

/* The most elements of the result that are compared. For an implementation with a bound of its own
 * (mica__impl.magnitude), which takes long to compute, at most SAMPLES_OF_BOUND of these are. */
#define SAMPLES 8192
#define SAMPLES_OF_BOUND 256

/* Returns the next number of splitmix64, uniform from -1 to 1. */
static double next_random(uint64_t *state) {
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return (double)(int64_t)(z ^ z >> 31) * 0x1p-63;
}

mica_status mica__trial_operand_create(mica__trial *trial, mica_dtype dtype, mica_shape shape,
                                       mica__trial_operand *operand) {
  MICA_TRY(mica_tensor_create(trial->engine, dtype, shape, &operand->tensor));
  size_t bytes = mica_tensor_bytes(operand->tensor);
  double scale = mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_FLOAT ? 1 : 100;
  operand->data = malloc(bytes + 1);
  if (!operand->data) return mica__fail_nomem("an operand to tune with");
  for (int64_t i = 0; i < mica_tensor_count(operand->tensor); i++)
    mica__element_set(dtype, operand->data, i, scale * next_random(&trial->random));
  return mica_tensor_upload(mica_engine_queue(trial->engine), operand->tensor, operand->data, bytes);
}

void mica__trial_clear(mica__trial *trial) {
  mica__trial_operand *const both[] = {&trial->a, &trial->b};
  for (int i = 0; i < 2; i++) {
    mica_tensor_destroy(both[i]->tensor);
    free(both[i]->data);
  }
  mica_tensor_destroy(trial->result);
  free(trial->samples);
}

mica_status mica__trial_poison(mica__trial *trial) {
  bool floating = mica_dtype_kind_of(mica_tensor_dtype(trial->result)) == MICA_DTYPE_KIND_FLOAT;
  return mica_op_fill(mica_engine_queue(trial->engine), floating ? (double)NAN : 123456789, trial->result);
}

/* Chooses the elements to compare: all elements of a small result; the first, the last and random elements of a large
 * one. */
static mica_status make_samples(mica__trial *trial) {
  int64_t total = mica_tensor_count(trial->result);
  bool all = total <= SAMPLES;
  trial->sample_count = all ? (size_t)total : SAMPLES;
  trial->samples = calloc(trial->sample_count + 1, sizeof *trial->samples);
  if (!trial->samples) return mica__fail_nomem("a reference to tune with");
  for (size_t i = 0; i < trial->sample_count; i++) {
    mica__trial_sample *s = &trial->samples[i];
    int64_t any = (int64_t)(fabs(next_random(&trial->random)) * (double)total);
    s->at = all ? (int64_t)i : i == 0 ? 0 : i == 1 || any >= total ? total - 1 : any;
    s->want = trial->reference(trial, s->at, &s->magnitude);
  }
  return MICA_OK;
}

static double *as_doubles(const mica__trial_operand *operand) {
  int64_t count = mica_tensor_count(operand->tensor);
  double *values = malloc(((size_t)count + 1) * sizeof *values);
  for (int64_t i = 0; values && i < count; i++)
    values[i] = mica__element_get(mica_tensor_dtype(operand->tensor), operand->data, i);
  return values;
}

/* Computes the implementation's own magnitudes for *count of the samples, evenly spaced; the caller frees *own,
 * after a failure too. */
static mica_status own_magnitudes(const mica__trial *trial, const mica__choice *choice, double **own, size_t *count) {
  double *a = as_doubles(&trial->a), *b = as_doubles(&trial->b);
  size_t step = trial->sample_count / SAMPLES_OF_BOUND + 1;
  int64_t at[SAMPLES_OF_BOUND];
  *count = 0;
  for (size_t i = 0; i < trial->sample_count; i += step) at[(*count)++] = trial->samples[i].at;
  *own = calloc(*count + 1, sizeof **own);
  if (a && b && *own)
    choice->impl->magnitude(trial->problem, choice->base ? &choice->variant : NULL, a, b, at, (int64_t)*count, *own);
  free(a);
  free(b);
  return a && b && *own ? MICA_OK : mica__fail_nomem("a bound to tune with");
}

static mica_status compare(const mica__trial *trial, const mica__choice *choice, const unsigned char *data) {
  mica_dtype dtype = mica_tensor_dtype(trial->result);
  double *own = NULL;
  size_t count = trial->sample_count;
  mica_status status = choice->impl->magnitude ? own_magnitudes(trial, choice, &own, &count) : MICA_OK;
  size_t step = own ? trial->sample_count / SAMPLES_OF_BOUND + 1 : 1;
  for (size_t i = 0; status == MICA_OK && i < count; i++) {
    const mica__trial_sample *s = &trial->samples[i * step];
    double got = mica__element_get(dtype, data, s->at);
    double bound = mica__tolerance_sum(trial->acc, dtype, trial->depth, own ? own[i] : s->magnitude, s->want);
    if (!(fabs(got - s->want) <= bound))
      status = mica__fail(MICA_E_NUMERIC, "element %" PRId64 " is %.9g, but must be %.9g within %.3g", s->at, got,
                          s->want, bound);
  }
  free(own);
  return status;
}

mica_status mica__trial_verify(mica__trial *trial, const mica__choice *choice) {
  size_t bytes = mica_tensor_bytes(trial->result);
  if (!trial->samples) MICA_TRY(make_samples(trial));
  unsigned char *data = malloc(bytes + 1);
  if (!data) return mica__fail_nomem("a result");
  mica_status status = mica_tensor_download(mica_engine_queue(trial->engine), trial->result, data, bytes);
  if (status == MICA_OK) status = compare(trial, choice, data);
  for (int64_t i = 0; status == MICA_OK && i < mica_tensor_count(trial->result); i++)
    if (isnan(mica__element_get(mica_tensor_dtype(trial->result), data, i)))
      status = mica__fail(MICA_E_NUMERIC, "element %" PRId64 " was not written, or is NaN", i);
  free(data);
  return status;
}
