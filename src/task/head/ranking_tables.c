/* Copies of the network's tables on the host, also of a quantised run's. */
#include "base/text.h"
#include "task/head/ranking.h"

#include <mica/session.h>
#include <stdlib.h>

/* Downloads a parameter; *data stays NULL if the network has none of this name. */
static mica_status take(mica_run *run, const char *table, const char *what, void **data, mica_tensor **tensor) {
  mica__text name = {0};
  mica__text_addf(&name, "%s.%s", table, what);
  mica_status status = mica__text_status(&name);
  *tensor = status == MICA_OK ? mica_session_parameter(mica_trainer_test_session(run->trainer), name.data) : NULL;
  mica__text_free(&name);
  if (!*tensor) return status;
  *data = malloc(mica_tensor_bytes(*tensor) + 1);
  if (!*data) return mica__fail_nomem("a table");
  return mica_tensor_download(mica_engine_queue(run->engine), *tensor, *data, mica_tensor_bytes(*tensor));
}

/* Integer i of a table: a byte, or four bits, the lower ones first. */
static int integer_at(const uint8_t *q, size_t i, bool packed) {
  const int bits = packed ? q[i / 2] >> (i % 2 ? 4 : 0) & 15 : q[i], half = packed ? 8 : 128;
  return bits >= half ? bits - 2 * half : bits;
}

/* Multiplies integers by the steps of their rows, or of equal pieces of a row. */
static mica_status dequantize(const mica_tensor *integers, const uint8_t *q, const mica_tensor *scale,
                              const float *steps, float **values, mica_shape *shape) {
  const mica_shape of = mica_tensor_shape(integers), by = mica_tensor_shape(scale);
  const bool packed = mica_tensor_dtype(integers) == MICA_U8;
  const size_t rows = (size_t)of.dim[0], width = (size_t)of.dim[1] * (packed ? 2 : 1);
  const size_t pieces = by.rank == 2 ? (size_t)by.dim[1] : 1;
  *values = malloc(rows * width * sizeof **values + 1);
  if (!*values) return mica__fail_nomem("a table");
  for (size_t i = 0; i < rows * width; i++) {
    const size_t piece = i % width / (width / pieces);
    (*values)[i] = (float)integer_at(q, i, packed) * steps[i / width * pieces + piece];
  }
  *shape = MICA_SHAPE((int64_t)rows, (int64_t)width);
  return MICA_OK;
}

mica_status mica__recommend_table(mica_run *run, const char *table, float **values, mica_shape *shape) {
  mica_tensor *weight = NULL, *integers = NULL, *scale = NULL;
  void *data = NULL, *q = NULL, *steps = NULL;
  *values = NULL;
  mica_status status = take(run, table, "weight", &data, &weight);
  if (weight) {
    *values = data;
    *shape = mica_tensor_shape(weight);
    return status;
  }
  if (status == MICA_OK) status = take(run, table, "weight_q", &q, &integers);
  if (status == MICA_OK) status = take(run, table, "weight_scale", &steps, &scale);
  if (status == MICA_OK && (!integers || !scale))
    status = mica__fail(MICA_E_STATE, "the network has no table %s.weight", table);
  if (status == MICA_OK) status = dequantize(integers, q, scale, steps, values, shape);
  free(q);
  free(steps);
  return status;
}
